-- What all filters share. CONFIG stands before this text. Each filter has a Lua state of its own in each worker thread.

local bit = require("bit")

-- Nearly all that a filter does is calls into Envoy, which the compiler cannot compile: trying costs more than it saves.
jit.off()

local OUR = "corrigible" -- in dynamic metadata

-- The address of who calls, without a port.
local function peer_of(handle)
  local address = handle:streamInfo():downstreamDirectRemoteAddress()
  return address:match("^%[?(.-)%]?:%d+$") or address
end

-- Numbers of texts that were asked for lately: callers come again.
local hashes, hash_count = {}, 0

local function hashed(text)
  local known = hashes[text]
  if known then
    return known
  end
  local hash = 5381
  for index = 1, #text do
    hash = bit.bxor(bit.tobit(hash * 33), text:byte(index))
  end
  hash = hash % 1048576
  if hash_count >= 1024 or #text > 1024 then
    hashes, hash_count = {}, 0
  end
  hashes[text], hash_count = hash, hash_count + 1
  return hash
end

-- A number for a caller. Who is one caller to a corrector (its credentials, and its own name or else its address) always
-- gets the same number, so what a corrector remembers of it stays in one place.
local function caller_number(peer, headers)
  local who = peer
  for index = 0, headers:getNumValues("prefer") - 1 do
    who = headers:getAtIndex("prefer", index):match('[Cc]aller%s*=%s*"?([^";]+)') or who
  end
  who = headers:get("recovery-feedback-caller") or who
  for _, name in ipairs({ "authorization", "x-api-key" }) do
    local value = headers:get(name)
    if value and not value:find(",", 1, true) then -- with a comma, it may be a signature: another one in each request
      who = who .. "\n" .. value
    end
  end
  return hashed(who)
end

local function cluster_of(number)
  return "corrigible-" .. number % CONFIG.correctors
end

-- A head as lines of name:value.
local function head_text(headers)
  local lines, count = {}, 0
  for name, value in pairs(headers) do
    lines[count + 1], lines[count + 2], lines[count + 3], lines[count + 4] = name, ":", value, "\n"
    count = count + 4
  end
  return table.concat(lines)
end

-- The headers of a question to a corrector.
local function question(path, peer, more)
  local headers = {
    [":method"] = "POST",
    [":path"] = path,
    [":authority"] = "corrigible",
    ["corrigible-peer"] = peer,
  }
  for name, value in pairs(more or {}) do
    headers[name] = value
  end
  return headers
end

-- Ask a corrector. An answer that is not 200 or 204 is none, and why is said instead.
local function ask(handle, cluster, headers, body)
  local answer, content = handle:httpCall(cluster, headers, body, { timeout_ms = CONFIG.timeout_ms, send_xff = false })
  local status = answer[":status"]
  if status == "503" and content and content:find("overflow", 1, true) then -- of the cluster's circuit breaker
    return nil, "shed: too many refusals at once"
  elseif status ~= "200" and status ~= "204" then
    return nil, "no corrector answered in time"
  end
  return answer, content or ""
end

-- Callers who may have a loop that a success ends: gauges, since all worker threads must see them. Each has the time in
-- milliseconds until which that may be: one for whoever has these credentials, which costs little to look at, and one for
-- the caller. Another gauge for each place has the time that its caller's had when a success there was told in vain: it is
-- told again only after another refusal.
local LOOP_MILLISECONDS = 660000
local LOOPS = "corrigible_loops"
local SUCCESS_OPTIONS = { timeout_ms = 100, send_xff = false }

local function of_credentials(handle, headers)
  local value = headers:get("authorization") or headers:get("x-api-key")
  local number = value and not value:find(",", 1, true) and hashed(value) or 0
  return handle:stats():gauge(LOOPS .. "." .. number % 4096)
end

local function of_caller(handle, number)
  return handle:stats():gauge(LOOPS .. "_of." .. number % 4096)
end

local function of_place(handle, number, headers)
  local place = number .. headers:get(":method") .. headers:get(":path"):match("^[^?]*")
  return handle:stats():gauge(LOOPS .. "_told." .. hashed(place) % 4096)
end

local function note_loop(handle, number)
  local until_then = handle:timestamp() + LOOP_MILLISECONDS
  of_credentials(handle, handle:requestHeaders()):set(until_then)
  of_caller(handle, number):set(until_then)
end

local function may_have_loop(handle, headers)
  local until_then = of_credentials(handle, headers):value()
  if until_then == 0 then
    return false
  end
  local now = handle:timestamp()
  if until_then < now or not headers:get(":path") then
    return false
  end
  local number = caller_number(peer_of(handle), headers)
  until_then = of_caller(handle, number):value()
  return until_then >= now and of_place(handle, number, headers):value() ~= until_then
end

-- Tell the corrector of a caller with a loop that something went well. The answer waits for it, as it does for callers
-- with a loop only, and not for long: the corrector says whether there is one left.
local function tell_success(handle, request)
  local peer = peer_of(handle)
  local number = caller_number(peer, request)
  local headers, until_then = question("/v1/success", peer), of_caller(handle, number):value()
  local answer = handle:httpCall(cluster_of(number), headers, head_text(request), SUCCESS_OPTIONS)
  if answer[":status"] ~= "204" then
    return
  end
  if answer["corrigible-loops"] then
    of_place(handle, number, handle:requestHeaders()):set(until_then)
  else
    of_caller(handle, number):set(0)
  end
end

local function set(handle, key, value)
  handle:streamInfo():dynamicMetadata():set(OUR, key, value)
end

-- What is kept of a request until its answer comes: `body`, or `partial` or `over`, and when it `started`. The metadata
-- has only its number, since it is text, and to read it copies all of it. What is kept lives as long as the handle of its
-- request does, which is as long as the stream.
local of_handle = setmetatable({}, { __mode = "k" })
local of_number = setmetatable({}, { __mode = "v" })
local last_number = 0

local function keep(handle)
  local kept = {}
  last_number = last_number + 1
  of_handle[handle], of_number[last_number] = kept, kept
  set(handle, "number", last_number)
  return kept
end

-- What was kept of the request of an answer, and the metadata.
local function kept_of(handle)
  local ours = handle:streamInfo():dynamicMetadata():get(OUR) or {}
  return of_number[ours.number] or {}, ours
end

local OVER = "the request is over the limit"

-- What a message has at hand of a request's body; else why it has none.
local function request_body(kept, request)
  if kept.over then
    return nil, OVER
  end
  if kept.body then
    return kept.body
  end
  local length = request:get("content-length")
  if kept.partial or (length and length ~= "0") or request:get("transfer-encoding") then
    return nil, "the answer came before the request had ended"
  end
  return ""
end

-- Until when a request that came may be of a caller with a loop: `loop` in the metadata says which are.
local loops_until = 0

local function note_request_of_loop(handle)
  loops_until = handle:timestamp() + LOOP_MILLISECONDS
  set(handle, "loop", "1")
end

-- Whether an answer is to a request of a caller who may have a loop. Without any it costs nothing.
local function is_of_loop(handle)
  if loops_until == 0 or loops_until < handle:timestamp() then
    return false
  end
  local ours = handle:streamInfo():dynamicMetadata():get(OUR)
  return ours ~= nil and ours.loop ~= nil
end

-- Put sections together: their lengths, and all of them.
local function sections(...)
  local parts, lengths = { ... }, {}
  for index, part in ipairs(parts) do
    lengths[index] = #part
  end
  return table.concat(lengths, " "), table.concat(parts)
end

local MOST_ADDED = 65536 -- bytes: feedback has at most 4 KiB, and may stand at a few places

-- Take the edits and the body out of a corrector's answer; nil if it is not readable.
local function read_answer(answer, content)
  local edits, body = (answer["corrigible-sections"] or ""):match("^(%d+) (%d+)$")
  edits, body = tonumber(edits), tonumber(body)
  if not edits or edits + body ~= #content or #content > CONFIG.limit + MOST_ADDED then
    return nil
  end
  return content:sub(1, edits), content:sub(edits + 1)
end

-- Edit a head by lines of -name, =name:value and +name:value. Headers of `left` stay as they are.
local function edit(headers, lines, left)
  for line in lines:gmatch("[^\n]+") do
    local mark, name, value = line:match("^([=+-])([^:]+):?(.*)$")
    if not left or name:lower() ~= left then
      if mark == "-" then
        headers:remove(name)
      elseif mark == "=" then
        headers:replace(name, value)
      else
        headers:add(name, value)
      end
    end
  end
end

-- Ask the corrector of a caller about a refusal, and note what it says of it. Returns the edits of the head and the new
-- body; nil where the answer stays as it is.
local function correction(handle, peer, number, more, message)
  local answer, content = ask(handle, cluster_of(number), question("/v1/refusal", peer, more), message)
  if not answer then
    set(handle, "reason", content)
    return nil
  end
  if answer["corrigible-entry"] then
    set(handle, "entry", answer["corrigible-entry"])
  end
  if answer[":status"] ~= "200" then
    return nil
  end
  local edits, body = read_answer(answer, content)
  if not edits then
    set(handle, "reason", "the corrector's answer is not readable")
  elseif answer["corrigible-loops"] then
    note_loop(handle, number)
  end
  return edits, body
end

-- Sends a refused exchange to a corrector, and edits the answer as it says. Whatever goes wrong, the answer passes as it is.

local LOCAL = "x-corrigible-own" -- on answers that Envoy makes itself

local function is_read(media)
  return media == ""
    or media:find("^text/") ~= nil
    or media:find("json", 1, true) ~= nil
    or media:find("xml", 1, true) ~= nil
    or media:find("yaml", 1, true) ~= nil
    or media:find("^application/vnd%.") ~= nil
    or CONFIG.media_types[media] ~= nil
end

-- Whether the caller wants nothing added, as far as that is plain: else the corrector reads it.
local function wants_none(request)
  local is_none = CONFIG.is_none
  for index = 0, request:getNumValues("prefer") - 1 do
    local value = request:getAtIndex("prefer", index):lower()
    if value:find("recovery-feedback", 1, true) then
      if not value:find('^%s*recovery%-feedback%s*=%s*"?none"?%s*$') then
        return false
      end
      is_none = true
    end
  end
  return is_none
end

-- Whether an answer of this status may be a refusal, by what the packs say.
local function may_refuse(request)
  local method, path = request:get(":method"), request:get(":path"):match("^[^?]*")
  for _, operation in ipairs(CONFIG.refusing) do
    if (operation.method == "*" or method == operation.method) and path:find(operation.path) then
      return true
    end
  end
  return false
end

local function wants_body(handle, headers, request, is_refused)
  local media = (headers:get("content-type") or ""):match("^[^;]*"):gsub("%s", ""):lower()
  local length = tonumber(headers:get("content-length") or "")
  if request:get(":method") == "HEAD" or not is_read(media) or media == "text/event-stream" then
    return false
  end
  if length and length > CONFIG.limit then
    return false
  end
  -- A success of unknown length is not held back: one beyond Envoy's buffer would be lost.
  return is_refused or (length ~= nil and length > 0)
end

local function drop_digests(trailers)
  for _, name in ipairs(CONFIG.digests) do
    trailers:remove(name)
  end
end

function envoy_on_response(handle)
  local headers, request = handle:headers(), handle:requestHeaders()
  if headers:get(LOCAL) then
    headers:remove(LOCAL)
    return
  end
  if not request or not request:get(":path") then
    return
  end
  local status = headers:get(":status")
  local is_refused = status >= "400"
  if CONFIG.origin and status >= "300" and status < "400" and status ~= "304" then
    rewrite(headers, "location", relative)
  end
  local kept, ours = kept_of(handle)
  if not is_refused and not may_refuse(request) then
    if ours.loop and status < "400" then
      tell_success(handle, request)
    end
    return
  end
  if wants_none(request) and not ours.target or not wants_body(handle, headers, request, is_refused) then
    return
  end
  if kept.over then
    set(handle, "reason", OVER)
    return
  end
  local target = ours.target
  if is_refused and not headers:get("content-length") then
    set(handle, "held", status) -- for the page in its place, should there be more of it than can be held back
  end
  set(handle, "holding", "1") -- for the page in its place, should it break off: this filter does not see that one
  local content = handle:body(true)
  -- Some servers refuse by the head alone, and the rest of the request came meanwhile.
  kept = kept_of(handle)
  local body, why = request_body(kept, handle:requestHeaders())
  if not body then
    set(handle, "reason", why)
    return
  end
  local text = content:length() > 0 and content:getBytes(0, content:length()) or ""
  if #text > CONFIG.limit then
    set(handle, "reason", "the answer is over the limit")
    return
  end
  headers, request = handle:headers(), handle:requestHeaders() -- those from before the body are out of scope
  local peer = peer_of(handle)
  local number = caller_number(peer, request)
  local lengths, message = sections(head_text(request), handle:base64Escape(body), head_text(headers), text, "")
  local more = { ["corrigible-sections"] = lengths, ["corrigible-target"] = target }
  local edits, new = correction(handle, peer, number, more, message)
  if not edits then
    return
  end
  handle:body(true):setBytes(new) -- which sets the length, too
  local trailers = handle:trailers()
  if trailers then
    drop_digests(trailers)
  end
  edit(handle:headers(), edits, "content-length")
  if trailers then -- the body stays chunked: it cannot have a length, too
    handle:headers():remove("content-length")
  end
end

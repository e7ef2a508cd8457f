-- Keeps a copy of a request's body while it flows on, for the case that it is refused. Nothing waits for it.

-- Whether this is all of a request, though its stream may not have ended: an answer may come before the end does.
local function is_whole(size, length, first)
  if length then
    return size == length
  end
  if CONFIG.is_grpc and #first >= 5 then -- a flag, four bytes of length, a message
    local a, b, c, d = first:byte(2, 5)
    return size == 5 + a * 16777216 + b * 65536 + c * 256 + d
  end
  return false
end

local function joined(parts)
  return parts[2] and table.concat(parts) or parts[1]
end

local WATCHES = CONFIG.watches

function envoy_on_request(handle)
  local headers = handle:headers()
  if WATCHES and may_have_loop(handle, headers) then
    note_request_of_loop(handle)
  end
  local kept, length
  if CONFIG.is_grpc then
    if headers:get("grpc-timeout") then -- how long the caller still waits has to be known
      kept = keep(handle)
      kept.started = handle:timestamp()
    end
  else
    length = headers:get("content-length")
    length = length and tonumber(length)
    if length and length > CONFIG.limit then
      keep(handle).over = true
      return
    end
  end
  local parts, count, size = {}, 0, 0
  for chunk in handle:bodyChunks() do
    local added = chunk:length()
    if added > 0 then
      kept = kept or keep(handle)
      if kept.body then -- a stream of several messages: what is kept is of one only
        kept.body = ""
        return
      end
      size = size + added
      if size > CONFIG.limit then
        kept.over = true
        return
      end
      kept.partial = true -- until it has ended
      count = count + 1
      parts[count] = chunk:getBytes(0, added)
      if is_whole(size, length, parts[1]) then
        kept.body = joined(parts)
        if length then -- more cannot come
          return
        end
      end
    end
  end
  if size > 0 and not kept.body then
    kept.body = joined(parts)
  end
end

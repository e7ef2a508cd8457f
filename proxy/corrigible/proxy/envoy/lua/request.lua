-- Keeps a copy of a request's body while it flows on, for the case that it is refused. Nothing waits for it.

-- Whether this is all of a request, though its stream may not have ended: an answer may come before the end does.
local function is_whole(size, length, first)
  if length then
    return size == tonumber(length)
  end
  if CONFIG.is_grpc and #first >= 5 then -- a flag, four bytes of length, a message
    local a, b, c, d = first:byte(2, 5)
    return size == 5 + a * 16777216 + b * 65536 + c * 256 + d
  end
  return false
end

local function keep(handle, parts)
  -- In base64: metadata is text, and a NUL would end it.
  set(handle, "body", handle:base64Escape(parts[2] and table.concat(parts) or parts[1]))
end

function envoy_on_request(handle)
  local headers = handle:headers()
  if may_have_loop(handle, headers) then
    set(handle, "loop", "1")
  end
  local length = headers:get("content-length")
  if length and tonumber(length) > CONFIG.limit then
    set(handle, "over", true)
    return
  end
  if headers:get("grpc-timeout") then -- how long the caller still waits has to be known
    set(handle, "started", handle:timestamp())
  end
  local parts, count, size, is_kept = {}, 0, 0, false
  for chunk in handle:bodyChunks() do
    local added = chunk:length()
    if added > 0 then
      if is_kept then -- a stream of several messages: what is kept is of one only
        set(handle, "body", "")
        return
      end
      size = size + added
      if size > CONFIG.limit then
        set(handle, "over", true)
        return
      end
      if count == 0 and not length then
        set(handle, "partial", true) -- until it has ended
      end
      count = count + 1
      parts[count] = chunk:getBytes(0, added)
      if is_whole(size, length, parts[1]) then
        keep(handle, parts)
        is_kept = true
      end
    end
  end
  if size > 0 and not is_kept then
    keep(handle, parts)
  end
end

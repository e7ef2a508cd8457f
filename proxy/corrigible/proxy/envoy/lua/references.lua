-- Makes references to the API's own address relative, so that a caller who follows them stays with the proxy.

-- scheme://authority in lower case, without the port that the scheme has anyway
local function origin_of(url)
  local scheme, authority, rest = url:match("^(%a+)://([^/?#%s<>\\@]+)(.*)$")
  scheme = scheme and scheme:lower()
  if scheme ~= "http" and scheme ~= "https" or rest ~= "" and not rest:find("^[/?#][^%s<>]*$") then
    return nil
  end
  return scheme .. "://" .. authority:lower():gsub(scheme == "http" and ":80$" or ":443$", ""), rest
end

local function relative(reference)
  local origin, rest = origin_of(reference)
  -- //x would name another host.
  if origin ~= CONFIG.origin or rest:find("^//") or rest:find("^/\\") then
    return reference
  end
  return rest:sub(1, 1) == "/" and rest or "/" .. rest
end

local function rewrite(headers, name, change)
  local count = headers:getNumValues(name)
  local values, is_changed = {}, false
  for index = 0, count - 1 do
    local value = headers:getAtIndex(name, index)
    values[index + 1] = change(value)
    is_changed = is_changed or values[index + 1] ~= value
  end
  if is_changed and count == 1 then
    headers:replace(name, values[1])
  elseif is_changed then
    headers:remove(name)
    for _, value in ipairs(values) do
      headers:add(name, value)
    end
  end
end


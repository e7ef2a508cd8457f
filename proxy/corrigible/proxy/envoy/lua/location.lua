-- Makes references to the API's own address relative in every answer (--rewrite-location all).

function envoy_on_response(handle)
  local headers = handle:headers()
  rewrite(headers, "location", relative)
  rewrite(headers, "content-location", relative)
  rewrite(headers, "link", function(value)
    return (value:gsub("<([^<>]*)>", function(target)
      return "<" .. relative(target) .. ">"
    end))
  end)
end

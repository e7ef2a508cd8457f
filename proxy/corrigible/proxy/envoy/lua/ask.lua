-- For the few requests that a corrector is asked about before they go on: feedback that a Link points to, and ?mode=.

local DOCUMENTS = "/.well-known/recovery-feedback/"

local function serve_document(handle, peer, headers)
  local head, first = head_text(headers), caller_number(peer, headers)
  for index = 0, CONFIG.correctors - 1 do
    local answer, content = ask(handle, cluster_of(first + index), question("/v1/document", peer), head)
    if answer and answer[":status"] == "200" then
      local fields = { [":status"] = "200" }
      for _, name in ipairs({ "content-type", "cache-control", "x-content-type-options" }) do
        fields[name] = answer[name]
      end
      handle:respond(fields, content)
      return
    end
  end
end

function envoy_on_request(handle)
  local headers = handle:headers()
  local path = headers:get(":path")
  if not path then
    return
  end
  if path:sub(1, #DOCUMENTS) == DOCUMENTS then
    serve_document(handle, peer_of(handle), headers)
    return
  end
  if not CONFIG.asks_for_target or not path:find("[?&]mode=") then
    return
  end
  local peer = peer_of(handle)
  local cluster = cluster_of(caller_number(peer, headers))
  local answer, target = ask(handle, cluster, question("/v1/target", peer), head_text(headers))
  if answer and target ~= "" and target ~= path then
    set(handle, "target", path)
    handle:headers():replace(":path", target)
  end
end

-- Sends a refused call to a corrector, and puts the details that it returns into the status. Messages flow on meanwhile.

function envoy_on_response(handle)
  local headers = handle:headers()
  local ending = headers
  if not headers:get("grpc-status") then
    ending = handle:trailers() -- waits for them, while messages pass
    if not ending then
      return
    end
  end
  local status = ending:get("grpc-status")
  local is_success = status == "0"
  if not status or (is_success and not is_of_loop(handle)) then
    return
  end
  local request = handle:requestHeaders()
  if not request or not request:get(":path") then
    return
  end
  if is_success then
    tell_success(handle, request)
    return
  end
  local mode = (request:get("recovery-feedback") or ""):match("^[^;]*"):lower():gsub("%s", "")
  if mode == "none" or (CONFIG.is_none and mode == "") then
    return
  end
  local peer, kept = peer_of(handle), kept_of(handle)
  local number = caller_number(peer, request)
  local body = handle:base64Escape(request_body(kept, request) or "")
  local lengths, message = sections(head_text(request), body, "", "", head_text(ending))
  local more = { ["corrigible-sections"] = lengths }
  if kept.started then
    more["corrigible-started"] = string.format("%d", kept.started)
  end
  local edits = correction(handle, peer, number, more, message)
  if not edits then
    return
  end
  -- What was read before the question is out of scope now.
  if handle:headers():get("grpc-status") then
    edit(handle:headers(), edits)
  else
    edit(handle:trailers(), edits)
  end
end

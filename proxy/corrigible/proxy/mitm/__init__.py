"""The mitmproxy front end. Only this package imports mitmproxy, `recording.flow_file` apart."""

"""Our proxies beside Envoy, mitmdump and Prism, as ratios inside one interleaved run. Times, never a test."""

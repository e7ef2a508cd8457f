"""What the suite itself puts behind a proxy: upstreams that do as a check tells them."""

"""etcd: its methods, and a server to try things on."""

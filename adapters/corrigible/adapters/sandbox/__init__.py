"""Local servers of third parties on 127.0.0.1: installed once into a cache, stopped with all their children."""

"""Local servers of other people, run on 127.0.0.1: installed once into a cache, stopped without orphans."""

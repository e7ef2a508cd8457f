"""Python functions that rules call by name: for what is a program rather than an expression."""

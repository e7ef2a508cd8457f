"""The work of `corrigible pack` on a pack, beyond reading it."""

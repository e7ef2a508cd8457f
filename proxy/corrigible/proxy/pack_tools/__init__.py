"""What `corrigible pack` does with a pack, beyond reading it."""

"""Level 0 over HTTP: a proxy that has nothing to add changes nothing, and no call stops another."""

"""The verbs of `corrigible map`: each module has `add(verbs)` and `run(arguments)`."""

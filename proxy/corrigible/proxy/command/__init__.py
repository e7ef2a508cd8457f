"""The subcommands of `corrigible`: each module has `add(subparsers)` and `run(arguments)`."""

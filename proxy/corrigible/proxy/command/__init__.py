"""The subcommands of `corrigible`: each module has `add(subparsers)` and `run(arguments)`."""

from corrigible.schema.extra import require

require("corrigible", "proxy")

"""What is specific to one API: formats, operations, sandboxes, tasks."""

from corrigible.schema.extra import require

require("corrigible.adapters", "proxy")

"""The access log: one JSON line for each exchange."""

from corrigible.schema.extra import require

require("corrigible.proxy", "proxy")

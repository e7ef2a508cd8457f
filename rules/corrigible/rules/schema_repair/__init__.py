"""Suggestions for requests that break their API's description."""

from corrigible.schema.extra import require

require("corrigible.rules", "proxy")

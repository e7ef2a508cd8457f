"""From a compiled rule and a violation to a suggestion."""

from corrigible.schema.extra import require

require("corrigible.rules", "proxy")

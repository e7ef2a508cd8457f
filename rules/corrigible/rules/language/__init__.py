"""The language of rules: what an author may write, and how it is compiled."""

from corrigible.schema.extra import require

require("corrigible.rules", "proxy")

"""Packs as folders: read, made, shown as a page, and their cases."""

from corrigible.schema.extra import require

require("corrigible.rules", "proxy")

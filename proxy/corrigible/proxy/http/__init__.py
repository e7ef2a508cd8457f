"""HTTP messages as the engine needs them, and as they go back."""

from corrigible.schema.extra import require

require("corrigible.proxy", "proxy")

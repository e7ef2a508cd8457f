"""The engine: from a refused exchange to the feedback for it. No I/O."""

from corrigible.schema.extra import require

require("corrigible.proxy", "proxy")

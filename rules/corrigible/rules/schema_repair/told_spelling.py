"""x"""

from typing import Final

SPELLING: Final = "spelling"
"""The keyword of a value in another spelling than the description's, which is the `const` of the schema."""

"""The counts that the paper on "structure snowballing" prints: Qwen3-8B, free text against constrained reflection.

Its code and logs: https://github.com/hongxuzhou/agentic_llm_structured_self_critique
"""

from __future__ import annotations

from typing import Final

from corrigible.conformance.lift.stats.observation import Paired

TABLE: Final = Paired(both=27, first_only=11, second_only=23, neither=39)
"""Table 2. First: constrained; second: the baseline in free text."""
P: Final = 0.059
"""Section 5.1, McNemar."""
FIRST_DIAGNOSES: Final = {"FORMATTING_MISMATCH": 96, "RETRIEVAL_FOCUS": 4}
"""Table 3."""
DEATH_LOOPS: Final = 58
"""Section 5.3: of FORMATTING_MISMATCH."""
TOKENS: Final = {"TT": 2850.0, "TF": 4005.5}
"""Section 5.2: mean thinking tokens. Those of FT and FF stand in a figure only."""
POOLS: Final = (55, 45)
"""Section 4.2: questions of pools A and B. A baseline that solved all of pool A would have 55 right, table 2 has 50."""

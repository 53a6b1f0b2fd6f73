"""The 58 instructions of IFBench (Pyatkin et al., arXiv 2507.02833), with the verdicts of its own checker."""

from __future__ import annotations

from typing import Final

from calipers.verifiers.ifeval.ifbench import counts, forms, tasks, words
from calipers.verifiers.ifeval.rule import Rule

RULES: Final[dict[str, Rule]] = counts.RULES | words.RULES | forms.RULES | tasks.RULES

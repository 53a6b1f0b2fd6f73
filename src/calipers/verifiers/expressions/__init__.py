"""Mathematical answers: read the final answer from a text and compare it with the expected answer.

Pure, bounded in time, and without other packages. ``calipers.verifiers.maths`` reads the answers of trajectories.
"""

from __future__ import annotations

from calipers.verifiers.expressions.answers import Comparison, compare_answers

__all__ = ["Comparison", "compare_answers"]

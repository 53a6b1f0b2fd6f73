"""Mathematical answers: read from a text, and compared with the expected answer. Pure, bounded, without a package.

Not responsible for trajectories (``calipers.verifiers.maths``).
"""

from __future__ import annotations

from calipers.verifiers.expressions.answers import Compared, compared

__all__ = ["Compared", "compared"]

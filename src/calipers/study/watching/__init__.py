"""Evaluation during training: a hidden audit judge, the truth, held-out prompts, and rules that end a run.

For your own runs with TRL and verl, and for ``calipers study train``. Importing this package imports nothing heavy.
"""

from calipers.study.watching.rows import WatchedGroup
from calipers.study.watching.rules import ALARMS, BrokenRule, StopRules
from calipers.study.watching.watch import Watch

__all__ = ["ALARMS", "BrokenRule", "StopRules", "Watch", "WatchedGroup"]

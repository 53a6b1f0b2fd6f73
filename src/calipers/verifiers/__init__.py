r"""Verifiers: checks of one trajectory by code. Each returns a ``Verdict``: met, not met, or None with a reason.

::

    from calipers.verifiers import Numeric, Regex, all_of

    check = all_of(Numeric(42), Regex(r"\bbecause\b"))
    check(trajectory).met        # True, False, or None if the check cannot decide

Each name is imported at its first use, so that ``import calipers.verifiers`` stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from calipers.verifiers.answer import Exact, JsonSchema, Numeric, Regex, WordCount, final_answer, has_answer
    from calipers.verifiers.code import Call, CodeTests, Run, cases_from_asserts
    from calipers.verifiers.combine import all_of, any_of, not_
    from calipers.verifiers.configuration import verifier_from
    from calipers.verifiers.constraints import Constraints, read_constraints
    from calipers.verifiers.maths import MathsEquivalence
    from calipers.verifiers.rules import RuleFunction, check_rules
    from calipers.verifiers.sandbox import Limits, Sandbox
    from calipers.verifiers.tools import ToolCalled, ToolOutcome

__all__ = [
    "Call",
    "CodeTests",
    "Constraints",
    "Exact",
    "JsonSchema",
    "Limits",
    "MathsEquivalence",
    "Numeric",
    "Regex",
    "RuleFunction",
    "Run",
    "Sandbox",
    "ToolCalled",
    "ToolOutcome",
    "WordCount",
    "all_of",
    "any_of",
    "cases_from_asserts",
    "check_rules",
    "final_answer",
    "has_answer",
    "not_",
    "read_constraints",
    "verifier_from",
]

_HOMES = {
    "answer": ("Exact", "JsonSchema", "Numeric", "Regex", "WordCount", "final_answer", "has_answer"),
    "code": ("Call", "CodeTests", "Run", "cases_from_asserts"),
    "combine": ("all_of", "any_of", "not_"),
    "configuration": ("verifier_from",),
    "constraints": ("Constraints", "read_constraints"),
    "maths": ("MathsEquivalence",),
    "rules": ("RuleFunction", "check_rules"),
    "sandbox": ("Limits", "Sandbox"),
    "tools": ("ToolCalled", "ToolOutcome"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name of ``calipers.verifiers`` from its module at the first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'calipers.verifiers' has no attribute {name!r}")
    value = getattr(import_module(f"calipers.verifiers.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__

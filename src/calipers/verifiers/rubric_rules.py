"""Rubric criteria that a rule decides: run their verifiers before the judge is asked, outside the event loop.

``calipers.rubric`` defines rubrics. ``rubric.formulas`` selects the criteria for the judge and computes scores.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.interfaces import Verifier
from calipers.rubric import Grading
from calipers.types import Criterion, RenderedGroup, Rubric, TrajectoryGroup, Verdict
from calipers.verifiers.configuration import verifier_from

_LEAST: Final = ("min", "min_words", "min_count", "at_least")
_MOST: Final = ("max", "max_words", "max_count", "at_most")


def criterion_verifier(criterion: Criterion) -> Verifier | None:
    """Return the verifier, a check in code, that decides ``criterion``, or None if a judge decides it.

    ``rule`` is ``{name: {argument: value}}`` as in ``verifier_from``, or one of the two functions in RuscaRL's data:
    ``{"function": ..., "parameters": {...}}``. Equal rules share a verifier. Raises ConfigError that names the
    criterion.
    """
    if not criterion.rule:
        return None
    try:
        return _built(json.dumps(criterion.rule, sort_keys=True))
    except (ConfigError, InputError, TypeError) as error:
        raise ConfigError(f"criterion {criterion.id!r}: rule: {error}") from None


def require_rules(rubric: Rubric) -> None:
    """Raise ConfigError, naming the criterion, if a rule of the rubric cannot be run as a verifier."""
    for criterion in rubric.criteria:
        criterion_verifier(criterion)


async def with_rule_verdicts(group: TrajectoryGroup, view: RenderedGroup, grading: Grading | None) -> RenderedGroup:
    """Return ``view`` with the verdicts of the rubric's rules, run as verifiers, once for identical trajectories.

    A rule that raises, exceeds a limit or finds no answer gives a Verdict of None with a reason.
    """
    if grading is None:
        return view
    asked: dict[int, list[tuple[int, str]]] = {}
    verifiers: dict[int, Verifier] = {}  # by id(), because not every verifier is hashable
    for item, rubric in enumerate(view.rubrics):
        for criterion in rubric.criteria if rubric is not None else ():
            if (verifier := criterion_verifier(criterion)) is not None:
                verifiers[id(verifier)] = verifier
                asked.setdefault(id(verifier), []).append((item, criterion.id))
    if not asked:
        return view
    shown = [group.trajectories[candidate.members[0]] for candidate in view.candidates]

    def check() -> tuple[Mapping[str, Verdict], ...]:
        from calipers.verifiers.rules import check_group  # noqa: PLC0415 - it loads the sandbox

        verdicts: list[dict[str, Verdict]] = [{} for _ in shown]
        for key, criteria in asked.items():
            items = tuple(dict.fromkeys(item for item, _ in criteria))
            part = replace(group, trajectories=tuple(shown[item] for item in items))
            checked = dict(zip(items, check_group(part, rules=[verifiers[key]]), strict=True))
            for item, criterion in criteria:
                verdict = checked[item].rules[0]
                reason = verdict.reason or ("" if verdict.met is not None else "the rule has no verdict")
                verdicts[item][criterion] = Verdict(verdict.met, reason, item, criterion)
        return tuple(verdicts)

    return replace(view, rule_verdicts=await asyncio.to_thread(check))


@lru_cache(maxsize=1024)
def _built(text: str) -> Verifier:
    rule: Mapping[str, Any] = json.loads(text)
    if "function" not in rule:
        return verifier_from(rule)
    stated = rule.get("parameters") or {}
    # If the data are a table, the row has a NaN in each column that only other rows use.
    parameters = {name: value for name, value in stated.items() if not (isinstance(value, float) and math.isnan(value))}
    if rule["function"] == "word_count_range":
        return verifier_from({"word_count": _range(parameters)})
    if set(parameters) != {"answer"}:
        raise ConfigError(f"math_verify: parameters must be the answer alone, not {', '.join(parameters) or 'nothing'}")
    return verifier_from({"maths": {"expected": str(parameters["answer"])}})


def _range(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bounds of RuscaRL's ``word_count_range`` as arguments of ``WordCount``. ``"3"`` and 3.0 become 3."""
    bounds: dict[str, Any] = {}
    for key, bound in parameters.items():
        text = str(bound).removesuffix(".0")
        name = "at_least" if key in _LEAST else "at_most" if key in _MOST else None
        if name is None or name in bounds:
            raise ConfigError(f"word_count_range: {key!r} is unknown or repeats a bound; write min and max")
        bounds[name] = int(text) if text.isdecimal() else bound
    return bounds

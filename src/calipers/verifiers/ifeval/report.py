"""IFEval's four accuracies, and how each kind of instruction fared.

No verdict counts as not followed, as the paper counts, and is told beside; the *literal* reading gives such a check the
verdict of ``mode="fixed"`` instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from calipers.types import Verdict
from calipers.verifiers.ifeval.instructions import instruction
from calipers.verifiers.ifeval.rows import Prompt, Response


@dataclass(frozen=True, slots=True)
class Checked:
    """One instruction of one response. ``line`` is the response's, ``index`` the instruction's place in its prompt."""

    line: int
    key: Any
    index: int
    instruction_id: str
    strict: Verdict
    loose: Verdict
    literal_strict: bool
    literal_loose: bool


@dataclass(frozen=True, slots=True)
class Accuracies:
    """Shares from 0 to 1: of responses that follow all their instructions, and of instructions followed."""

    prompt_strict: float
    inst_strict: float
    prompt_loose: float
    inst_loose: float


@dataclass(frozen=True, slots=True)
class OfType:
    """How often one kind of instruction was asked, and the shares followed."""

    count: int
    strict: float
    loose: float


@dataclass(frozen=True, slots=True)
class Report:
    """``no_verdict`` are the checks without one; ``literal`` differs from ``accuracies`` only by them."""

    prompts: int
    instructions: int
    accuracies: Accuracies
    literal: Accuracies
    by_type: dict[str, OfType]
    no_verdict: tuple[Checked, ...]

    def to_dict(self) -> dict[str, Any]:
        """As ``calipers ifeval --json`` prints it: the accuracies at the top."""
        return {
            **asdict(self.accuracies),
            "literal": asdict(self.literal),
            "prompts": self.prompts,
            "instructions": self.instructions,
            "by_type": {name: asdict(of_type) for name, of_type in self.by_type.items()},
            "no_verdict": [_without_verdict(check) for check in self.no_verdict],
        }


def check_response(prompt: Prompt, response: Response) -> tuple[Checked, ...]:
    """Every instruction of a prompt, checked strictly and loosely."""
    checked = []
    for index, (asked, kwargs) in enumerate(zip(prompt.instructions, prompt.kwargs, strict=True)):
        strict, loose = asked.strict(response.text), asked.loose(response.text)
        literal = asked if None not in (strict.met, loose.met) else instruction(asked.id, kwargs, mode="fixed")
        checked.append(
            Checked(
                response.line,
                prompt.key,
                index,
                asked.id,
                strict,
                loose,
                literal.strict(response.text).met is True if strict.met is None else strict.met,
                literal.loose(response.text).met is True if loose.met is None else loose.met,
            )
        )
    return tuple(checked)


def report(responses: Sequence[Sequence[Checked]]) -> Report:
    """The report over responses, each given by its checks. Raises ValueError where there are none."""
    if not responses:
        raise ValueError("there is no response to report on")
    checks = [check for response in responses for check in response]
    kinds: dict[str, list[Checked]] = defaultdict(list)
    for check in checks:
        kinds[check.instruction_id].append(check)
    return Report(
        prompts=len(responses),
        instructions=len(checks),
        accuracies=_accuracies(responses, "verdict"),
        literal=_accuracies(responses, "literal"),
        by_type={
            name: OfType(
                count=len(kind),
                strict=_share(check.strict.met is True for check in kind),
                loose=_share(check.loose.met is True for check in kind),
            )
            for name, kind in sorted(kinds.items())
        },
        no_verdict=tuple(check for check in checks if None in (check.strict.met, check.loose.met)),
    )


def _accuracies(responses: Sequence[Sequence[Checked]], reading: Literal["verdict", "literal"]) -> Accuracies:
    if reading == "literal":
        followed = [[(check.literal_strict, check.literal_loose) for check in checks] for checks in responses]
    else:
        followed = [[(check.strict.met is True, check.loose.met is True) for check in checks] for checks in responses]
    flat = [both for checks in followed for both in checks]
    return Accuracies(
        prompt_strict=_share(all(strict for strict, _ in checks) for checks in followed),
        inst_strict=_share(strict for strict, _ in flat),
        prompt_loose=_share(all(loose for _, loose in checks) for checks in followed),
        inst_loose=_share(loose for _, loose in flat),
    )


def _share(followed: Iterable[bool]) -> float:
    outcomes = list(followed)
    return sum(outcomes) / len(outcomes)


def _without_verdict(check: Checked) -> dict[str, Any]:
    return {
        "line": check.line,
        "key": check.key,
        "index": check.index,
        "instruction_id": check.instruction_id,
        "reason": check.strict.reason if check.strict.met is None else check.loose.reason,
        "literal_strict": check.literal_strict,
        "literal_loose": check.literal_loose,
    }

"""IFEval's four accuracies, how each kind of instruction fared, and the official evaluator's two files of results.

A check without a verdict counts as not followed, as in the paper, and is reported; the *literal* reading gives such a
check the verdict of ``mode="fixed"`` instead.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.verifiers.ifeval.instructions import instruction
from calipers.verifiers.ifeval.rows import Prompt, Response

Reading: TypeAlias = Literal["strict", "loose"]
READINGS: Final[tuple[Reading, ...]] = ("strict", "loose")


@dataclass(frozen=True, slots=True)
class Checked:
    """One instruction of one response: of the response in ``line``, and at position ``index`` of the prompt."""

    line: int
    key: Any
    index: int
    instruction_id: str
    strict: Verdict
    loose: Verdict
    literal_strict: bool
    literal_loose: bool


Judged: TypeAlias = tuple[Prompt, Response, Sequence[Checked]]


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
    """``no_verdict`` are the checks without a verdict; ``literal`` differs from ``accuracies`` only by them."""

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
        literal_strict = literal.strict(response.text).met is True if strict.met is None else strict.met
        literal_loose = literal.loose(response.text).met is True if loose.met is None else loose.met
        checked.append(
            Checked(response.line, prompt.key, index, asked.id, strict, loose, literal_strict, literal_loose)
        )
    return tuple(checked)


def report(responses: Sequence[Sequence[Checked]]) -> Report:
    """The report over responses, each given by its checks. Raises ValueError if there are none."""
    if not responses:
        raise ValueError("there is no response to report on")
    checks = [check for response in responses for check in response]
    kinds: dict[str, list[Checked]] = defaultdict(list)
    for check in checks:
        kinds[check.instruction_id].append(check)
    verdicts = [[(check.strict.met is True, check.loose.met is True) for check in one] for one in responses]
    return Report(
        prompts=len(responses),
        instructions=len(checks),
        accuracies=_accuracies(verdicts),
        literal=_accuracies([[(check.literal_strict, check.literal_loose) for check in one] for one in responses]),
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


def file_of(folder: Path, reading: Reading) -> Path:
    """Where the results of a reading go, by the official evaluator's name."""
    return folder / f"eval_results_{reading}.jsonl"


def row_of(judged: Judged, reading: Reading) -> dict[str, Any]:
    """A line of such a file, the official keys in their order.

    A check without a verdict is not followed, as in the accuracies; ``no_verdict`` then has its position.
    """
    prompt, response, checks = judged
    mets = [(check.strict if reading == "strict" else check.loose).met for check in checks]
    row: dict[str, Any] = {
        "follow_all_instructions": all(mets),
        "follow_instruction_list": [met is True for met in mets],
        "instruction_id_list": [check.instruction_id for check in checks],
        "prompt": prompt.text,
        "response": response.text,
        "key": prompt.key,
    }
    return row | ({"no_verdict": [place for place, met in enumerate(mets) if met is None]} if None in mets else {})


def write(responses: Iterable[Judged], folder: Path) -> None:
    """Write both files, a line per response. Raises ConfigError if they cannot be written."""
    judged = list(responses)
    try:
        for reading in READINGS:
            lines = [json.dumps(row_of(one, reading)) + "\n" for one in judged]
            file_of(folder, reading).write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--output-dir {folder}: cannot be written: {error.strerror or error}") from error


def _accuracies(followed: Sequence[Sequence[tuple[bool, bool]]]) -> Accuracies:
    """Of each response's instructions, whether each is followed strictly and loosely."""
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

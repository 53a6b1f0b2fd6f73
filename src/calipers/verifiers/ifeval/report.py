"""IFEval's four accuracies, the results for each kind of instruction, and the official evaluator's two result files.

A check without a verdict counts as not followed, as in the paper, and is listed in the report. For the *literal*
accuracies, the verdict of ``mode="fixed"`` replaces the missing verdict.
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
class InstructionCheck:
    """The check of one IFEval instruction in one response.

    ``line`` is the line of the response in its file, and ``index`` the position of the instruction in the prompt.
    """

    line: int
    key: Any
    index: int
    instruction_id: str
    strict: Verdict
    loose: Verdict
    literal_strict: bool
    literal_loose: bool


Judged: TypeAlias = tuple[Prompt, Response, Sequence[InstructionCheck]]


@dataclass(frozen=True, slots=True)
class Accuracies:
    """IFEval's accuracies (0-1): the share of responses that follow all instructions, and the share of followed
    instructions.
    """

    prompt_strict: float
    inst_strict: float
    prompt_loose: float
    inst_loose: float


@dataclass(frozen=True, slots=True)
class TypeResults:
    """How often one kind of instruction was checked, and the shares (0-1) of responses that follow it."""

    count: int
    strict: float
    loose: float


@dataclass(frozen=True, slots=True)
class Report:
    """IFEval's report. ``literal`` differs from ``accuracies`` only because of the checks in ``no_verdict``."""

    prompts: int
    instructions: int
    accuracies: Accuracies
    literal: Accuracies
    by_type: dict[str, TypeResults]
    no_verdict: tuple[InstructionCheck, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as ``calipers ifeval --json`` prints it, with the accuracies at the top level."""
        return {
            **asdict(self.accuracies),
            "literal": asdict(self.literal),
            "prompts": self.prompts,
            "instructions": self.instructions,
            "by_type": {name: asdict(of_type) for name, of_type in self.by_type.items()},
            "no_verdict": [_without_verdict(check) for check in self.no_verdict],
        }


def check_response(prompt: Prompt, response: Response) -> tuple[InstructionCheck, ...]:
    """Check a response against every IFEval instruction of its prompt, strictly and loosely."""
    checked = []
    for index, (asked, kwargs) in enumerate(zip(prompt.instructions, prompt.kwargs, strict=True)):
        strict, loose = asked.strict(response.text), asked.loose(response.text)
        literal = asked if None not in (strict.met, loose.met) else instruction(asked.id, kwargs, mode="fixed")
        literal_strict = literal.strict(response.text).met is True if strict.met is None else strict.met
        literal_loose = literal.loose(response.text).met is True if loose.met is None else loose.met
        checked.append(
            InstructionCheck(response.line, prompt.key, index, asked.id, strict, loose, literal_strict, literal_loose)
        )
    return tuple(checked)


def report(responses: Sequence[Sequence[InstructionCheck]]) -> Report:
    """Return IFEval's report over responses, each given by its checks. Raises ValueError if there are none."""
    if not responses:
        raise ValueError("there is no response to report on")
    checks = [check for response in responses for check in response]
    kinds: dict[str, list[InstructionCheck]] = defaultdict(list)
    for check in checks:
        kinds[check.instruction_id].append(check)
    verdicts = [[(check.strict.met is True, check.loose.met is True) for check in one] for one in responses]
    return Report(
        prompts=len(responses),
        instructions=len(checks),
        accuracies=_accuracies(verdicts),
        literal=_accuracies([[(check.literal_strict, check.literal_loose) for check in one] for one in responses]),
        by_type={
            name: TypeResults(
                count=len(kind),
                strict=_share(check.strict.met is True for check in kind),
                loose=_share(check.loose.met is True for check in kind),
            )
            for name, kind in sorted(kinds.items())
        },
        no_verdict=tuple(check for check in checks if None in (check.strict.met, check.loose.met)),
    )


def results_path(folder: Path, reading: Reading) -> Path:
    """Return the path of IFEval's results file for strict or loose checks, as the official evaluator names it."""
    return folder / f"eval_results_{reading}.jsonl"


def results_row(judged: Judged, reading: Reading) -> dict[str, Any]:
    """Return the line of an IFEval results file for one response, with the official keys in their order.

    A check without a verdict counts as not followed, as in the accuracies. ``no_verdict`` then lists its position.
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


def write_results(responses: Iterable[Judged], folder: Path) -> None:
    """Write IFEval's two results files, a line for each response. Raises ConfigError if that fails."""
    judged = list(responses)
    try:
        for reading in READINGS:
            lines = [json.dumps(results_row(one, reading)) + "\n" for one in judged]
            results_path(folder, reading).write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--output-dir {folder}: cannot be written: {error.strerror or error}") from error


def _accuracies(followed: Sequence[Sequence[tuple[bool, bool]]]) -> Accuracies:
    """Return IFEval's accuracies. ``followed`` has a pair (strict, loose) for each instruction of each response."""
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


def _without_verdict(check: InstructionCheck) -> dict[str, Any]:
    return {
        "line": check.line,
        "key": check.key,
        "index": check.index,
        "instruction_id": check.instruction_id,
        "reason": check.strict.reason if check.strict.met is None else check.loose.reason,
        "literal_strict": check.literal_strict,
        "literal_loose": check.literal_loose,
    }

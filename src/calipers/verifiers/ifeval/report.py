"""IFEval's four accuracies, the results for each kind of instruction, and the official evaluator's two result files.

A check without a verdict counts as not followed, and the report says how many there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.verifiers.ifeval.rows import Prompt, Response

Reading: TypeAlias = Literal["strict", "loose"]
READINGS: Final[tuple[Reading, ...]] = ("strict", "loose")


@dataclass(frozen=True, slots=True)
class Checked:
    """A response with the strict and the loose verdict on each instruction of its prompt."""

    prompt: Prompt
    response: Response
    strict: tuple[Verdict, ...]
    loose: tuple[Verdict, ...]

    def followed(self, reading: Reading) -> list[bool]:
        """Return which instructions the response follows."""
        return [verdict.met is True for verdict in (self.strict if reading == "strict" else self.loose)]


@dataclass(frozen=True, slots=True)
class TypeResults:
    """How often one kind of instruction was checked, and the shares (0-1) of responses that follow it."""

    count: int
    strict: float
    loose: float


@dataclass(frozen=True, slots=True)
class Report:
    """IFEval's accuracies (0-1): the share of responses that follow all instructions, and the share of followed
    instructions; and the results by kind of instruction.
    """

    prompt_strict: float
    inst_strict: float
    prompt_loose: float
    inst_loose: float
    prompts: int
    instructions: int
    no_verdict: int
    by_type: dict[str, TypeResults]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as ``calipers ifeval --json`` prints it."""
        return asdict(self)


def check_response(prompt: Prompt, response: Response) -> Checked:
    """Check a response against every IFEval instruction of its prompt, strictly and loosely."""
    strict = tuple(one.strict(response.text) for one in prompt.instructions)
    loose = tuple(one.loose(response.text) for one in prompt.instructions)
    return Checked(prompt, response, strict, loose)


def report(responses: Sequence[Checked]) -> Report:
    """Return IFEval's report over responses. Raises ValueError if there are none."""
    if not responses:
        raise ValueError("there is no response to report on")
    strict, loose = ([one.followed(reading) for one in responses] for reading in READINGS)
    flat = [
        (asked.id, *both)
        for one, *followed in zip(responses, strict, loose, strict=True)
        for asked, *both in zip(one.prompt.instructions, *followed, strict=True)
    ]
    by_type = {name: [one for one in flat if one[0] == name] for name in sorted({one[0] for one in flat})}
    return Report(
        prompt_strict=_share(map(all, strict)),
        inst_strict=_share(one[1] for one in flat),
        prompt_loose=_share(map(all, loose)),
        inst_loose=_share(one[2] for one in flat),
        prompts=len(responses),
        instructions=len(flat),
        no_verdict=sum(verdict.met is None for one in responses for verdict in one.strict),
        by_type={
            name: TypeResults(len(kind), _share(one[1] for one in kind), _share(one[2] for one in kind))
            for name, kind in by_type.items()
        },
    )


def results_path(folder: Path, reading: Reading) -> Path:
    """Return the path of IFEval's results file for strict or loose checks, as the official evaluator names it."""
    return folder / f"eval_results_{reading}.jsonl"


def write_results(responses: Sequence[Checked], folder: Path) -> None:
    """Write IFEval's two results files, a line for each response with the official keys. Raises ConfigError."""
    try:
        for reading in READINGS:
            rows = (
                {
                    "follow_all_instructions": all(one.followed(reading)),
                    "follow_instruction_list": one.followed(reading),
                    "instruction_id_list": [asked.id for asked in one.prompt.instructions],
                    "prompt": one.prompt.text,
                    "response": one.response.text,
                    "key": one.prompt.key,
                }
                for one in responses
            )
            lines = [json.dumps(row) + "\n" for row in rows]
            results_path(folder, reading).write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--output-dir {folder}: cannot be written: {error.strerror or error}") from error


def _share(followed: Iterable[bool]) -> float:
    outcomes = list(followed)
    return sum(outcomes) / len(outcomes)

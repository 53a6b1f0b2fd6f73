"""IFEval's files: prompts with their instructions, responses, their pairing, the four accuracies and the result files.

A check without a verdict counts as not followed, and the report says how many there are.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.types import Verdict
from calipers.verifiers.ifeval.instructions import Instruction, build_instructions


@dataclass(frozen=True, slots=True)
class Prompt:
    """A row of IFEval's prompts. ``line`` counts from 1."""

    line: int
    key: Any
    text: str | None
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Response:
    """A row of responses to IFEval's prompts. ``key`` and ``prompt`` are None if the row lacks them."""

    line: int
    text: str
    key: Any = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Pairing:
    """IFEval responses paired with the prompts that they answer, in the order of the responses.

    ``errors`` are messages about responses without a prompt, by line.
    """

    pairs: tuple[tuple[Prompt, Response], ...]
    errors: tuple[tuple[int, str], ...]
    warnings: tuple[str, ...]
    unanswered: tuple[Prompt, ...]


def read_prompt(row: Mapping[str, Any], line: int) -> Prompt:
    """Read an IFEval prompt from a row's ``key``, ``prompt``, ``instruction_id_list`` and ``kwargs``.

    An instruction is identified by its position in the row and not by its id, because 17 of IFEval's prompts use an id
    twice. Raises InputError naming the field.
    """
    ids, kwargs, text = _list(row, "instruction_id_list"), _list(row, "kwargs"), _prompt_text(row)
    if not ids or len(ids) != len(kwargs):
        raise InputError(f"kwargs: {len(kwargs)} given for {len(ids)} instructions; give one for each instruction")
    return Prompt(line, row.get("key"), text, build_instructions(ids, kwargs, prompt=text))


def read_response(row: Mapping[str, Any], line: int) -> Response:
    """Read a response from an IFEval row. Raises InputError naming the field."""
    text = row.get("response")
    if not isinstance(text, str):
        raise InputError(f"response: {'is missing' if text is None else 'must be text'}")
    return Response(line, text, row.get("key"), _prompt_text(row))


def pair(prompts: Sequence[Prompt], responses: Sequence[Response]) -> Pairing:
    """Pair each IFEval response with the prompt that it answers: by key if every response has a key, else by the
    prompt's text.

    A prompt may have several responses. Prompts with the same text are answered in turn. A response whose text matches
    no prompt is paired by its line number, if no other response has that prompt and one of two conditions is true: more
    than half of the responses match by text, or no response has a text and there are as many responses as prompts.
    (IFEval's own two files differ in one prompt.)
    """
    named = bool(responses) and all(response.key is not None for response in responses)
    known: dict[str, list[Prompt]] = defaultdict(list)
    for prompt in prompts:
        known[(str(prompt.key) if named else str(prompt.text)).strip()].append(prompt)
    paired: dict[int, Prompt] = {}
    asked: dict[str, int] = defaultdict(int)
    for place, response in enumerate(responses):
        name = str(response.key if named else response.prompt).strip()
        if (named or response.prompt is not None) and (same := known.get(name)):
            paired[place] = same[asked[name] % len(same)]
            asked[name] += 1
    warnings: list[str] = []
    silent = len(prompts) == len(responses) and all(response.prompt is None for response in responses)
    if not named and (silent or 2 * len(paired) > len(responses)):
        taken = {prompt.line for prompt in paired.values()}
        free = {prompt.line: prompt for prompt in prompts if prompt.line not in taken}
        for place, response in enumerate(responses):
            if place not in paired and response.line in free:
                paired[place] = free[response.line]
                warnings.append(
                    f"line {response.line}: its prompt is not in the data; it is taken to answer line {response.line} "
                    f"there (key {free[response.line].key})"
                )
        if silent:
            warnings = ["the responses have no prompt and no key: each is taken to answer the prompt of its own line"]
    what = "key" if named else "prompt"
    wrong = [response.line for place, response in enumerate(responses) if place not in paired]
    answered = {prompt.line for prompt in paired.values()}
    return Pairing(
        tuple((paired[place], responses[place]) for place in sorted(paired)),
        tuple((line, f"{what}: there is no such {what} in the data") for line in wrong),
        tuple(warnings),
        tuple(prompt for prompt in prompts if prompt.line not in answered),
    )


def _list(row: Mapping[str, Any], name: str) -> list[Any]:
    value = row.get(name)
    if not isinstance(value, list):
        raise InputError(f"{name}: {'is missing' if value is None else 'must be a list'}")
    return value


def _prompt_text(row: Mapping[str, Any]) -> str | None:
    text = row.get("prompt")
    if text is not None and not isinstance(text, str):
        raise InputError("prompt: must be text")
    return text


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

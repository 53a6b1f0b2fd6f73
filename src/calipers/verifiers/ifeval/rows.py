"""IFEval's files: prompts with their instructions, responses, their pairing, and the four accuracies.

A check without a verdict counts as not followed, and the report says how many there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from calipers.errors import InputError
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
    errors: tuple[tuple[int, str], ...] = ()
    warnings: tuple[str, ...] = ()
    unanswered: tuple[Prompt, ...] = ()


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


def pair(prompts: Sequence[Prompt], responses: Sequence[Response]) -> Pairing:
    """Pair each IFEval response with the prompt that it answers: by key if every response has a key, else by text.

    A prompt may have several responses. Prompts with the same text are answered in turn. If more than half of the
    responses match by text, another one answers the prompt of its own line, unless that has a response: IFEval's own
    two files differ in one prompt.
    """
    key = "key" if responses and all(response.key is not None for response in responses) else "prompt"
    known: dict[str, list[Prompt]] = defaultdict(list)
    for prompt in prompts:
        known[str(prompt.key if key == "key" else prompt.text).strip()].append(prompt)
    paired: dict[int, Prompt] = {}
    asked: dict[str, int] = defaultdict(int)
    for place, response in enumerate(responses):
        name = str(getattr(response, key)).strip()
        if same := known.get(name):
            paired[place] = same[asked[name] % len(same)]
            asked[name] += 1
    warnings = []
    if key == "prompt" and 2 * len(paired) > len(responses):
        lines = {prompt.line for prompt in paired.values()}
        free = {prompt.line: prompt for prompt in prompts if prompt.line not in lines}
        for place, response in enumerate(responses):
            if place not in paired and response.line in free:
                paired[place] = free[response.line]
                warnings.append(
                    f"line {response.line}: its prompt is not in the data; it is taken to answer line {response.line} "
                    f"there (key {free[response.line].key})"
                )
    answered = {prompt.line for prompt in paired.values()}
    return Pairing(
        tuple((paired[place], responses[place]) for place in sorted(paired)),
        tuple(
            (response.line, f"{key}: there is no such {key} in the data")
            for place, response in enumerate(responses)
            if place not in paired
        ),
        tuple(warnings),
        tuple(prompt for prompt in prompts if prompt.line not in answered),
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """A response's strict and loose verdict on each instruction of its prompt."""

    prompt: Prompt
    strict: tuple[Verdict, ...]
    loose: tuple[Verdict, ...]


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
    strict = tuple(instruction.strict(response.text) for instruction in prompt.instructions)
    loose = tuple(instruction.loose(response.text) for instruction in prompt.instructions)
    return Checked(prompt, strict, loose)


def report(checked: Sequence[Checked]) -> Report:
    """Return IFEval's report over checked responses, of which there must be some."""
    by_type: dict[str, list[tuple[Verdict, Verdict]]] = defaultdict(list)
    for response in checked:
        for instruction, strict, loose in zip(
            response.prompt.instructions, response.strict, response.loose, strict=True
        ):
            by_type[instruction.id].append((strict, loose))
    verdicts = [pair for pairs in by_type.values() for pair in pairs]
    return Report(
        prompt_strict=_share(all(verdict.met for verdict in response.strict) for response in checked),
        inst_strict=_share(strict.met for strict, _ in verdicts),
        prompt_loose=_share(all(verdict.met for verdict in response.loose) for response in checked),
        inst_loose=_share(loose.met for _, loose in verdicts),
        prompts=len(checked),
        instructions=len(verdicts),
        no_verdict=sum(strict.met is None for strict, _ in verdicts),
        by_type={
            name: TypeResults(
                len(pairs), _share(verdict.met for verdict, _ in pairs), _share(verdict.met for _, verdict in pairs)
            )
            for name, pairs in sorted(by_type.items())
        },
    )


def _share(followed: Iterable[bool | None]) -> float:
    outcomes = list(map(bool, followed))
    return sum(outcomes) / len(outcomes)

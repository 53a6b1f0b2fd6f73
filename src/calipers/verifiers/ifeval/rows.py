"""IFEval's files: prompts with their instructions, responses, their pairing, and the four accuracies.

A check without a verdict counts as not followed, and the report says how many there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

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


Checked: TypeAlias = Sequence[tuple[str, Verdict, Verdict]]
"""A response's strict and loose verdict on each instruction of its prompt, after the instruction's id."""


def check_response(prompt: Prompt, response: Response) -> Checked:
    """Check a response against every IFEval instruction of its prompt, strictly and loosely."""
    return [(asked.id, asked.strict(response.text), asked.loose(response.text)) for asked in prompt.instructions]


def report(checked: Sequence[Checked]) -> dict[str, Any]:
    """Return IFEval's report over checked responses, of which there must be some, as ``calipers ifeval --json`` has it.

    Its accuracies (0-1) are the share of responses that follow all instructions (``prompt_strict``, ``prompt_loose``),
    and the share of followed instructions (``inst_strict``, ``inst_loose``). ``by_type`` has the latter by instruction.
    """
    by_type: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for response in checked:
        for name, strict, loose in response:
            by_type[name].append((bool(strict.met), bool(loose.met)))
    prompts = [(all(strict.met for _, strict, _ in one), all(loose.met for *_, loose in one)) for one in checked]
    instructions = [verdicts for of_type in by_type.values() for verdicts in of_type]
    prompt_strict, prompt_loose = _shares(prompts)
    inst_strict, inst_loose = _shares(instructions)
    return {
        "prompt_strict": prompt_strict,
        "inst_strict": inst_strict,
        "prompt_loose": prompt_loose,
        "inst_loose": inst_loose,
        "prompts": len(checked),
        "instructions": len(instructions),
        "no_verdict": sum(strict.met is None for response in checked for _, strict, _ in response),
        "by_type": {
            name: dict(zip(("count", "strict", "loose"), (len(of_type), *_shares(of_type)), strict=True))
            for name, of_type in sorted(by_type.items())
        },
    }


def _shares(followed: Sequence[tuple[bool, bool]]) -> Iterator[float]:
    """Return the shares of True among strict and among loose results."""
    return (sum(column) / len(followed) for column in zip(*followed, strict=True))

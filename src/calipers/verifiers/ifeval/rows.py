"""Rows of IFEval's files: prompts with their instructions, responses, and the pairing of responses with prompts.

The command line reads the files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.errors import InputError
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
    """A row of responses to IFEval's prompts. ``key`` and ``prompt`` are None if the row lacks them. ``line`` counts
    from 1.
    """

    line: int
    text: str
    key: Any = None
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class Pairing:
    """IFEval responses paired with the prompts that they answer, in the order of the responses.

    ``errors`` are messages about responses without a prompt, by line. ``unanswered`` are the prompts without a
    response.
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
    found: dict[int, Prompt] = {}
    asked: dict[str, int] = defaultdict(int)
    for place, response in enumerate(responses):
        name = str(response.key) if named else response.prompt
        name = None if name is None else name.strip()
        if name is not None and (same := known.get(name)):
            found[place] = same[asked[name] % len(same)]
            asked[name] += 1
    by_line, warnings = ({}, []) if named else _by_line(prompts, responses, found)
    paired = found | by_line
    what = "key" if named else "prompt"
    errors = [
        (response.line, f"{what}: there is no such {what} in the data")
        for place, response in enumerate(responses)
        if place not in paired
    ]
    answered = {prompt.line for prompt in paired.values()}
    return Pairing(
        tuple((paired[place], responses[place]) for place in sorted(paired)),
        tuple(errors),
        tuple(warnings),
        tuple(prompt for prompt in prompts if prompt.line not in answered),
    )


def _by_line(
    prompts: Sequence[Prompt], responses: Sequence[Response], found: Mapping[int, Prompt]
) -> tuple[dict[int, Prompt], list[str]]:
    silent = len(prompts) == len(responses) and all(response.prompt is None for response in responses)
    if not silent and 2 * len(found) <= len(responses):
        return {}, []
    taken = {prompt.line for prompt in found.values()}
    free = {prompt.line: prompt for prompt in prompts if prompt.line not in taken}
    paired = {
        place: free[response.line]
        for place, response in enumerate(responses)
        if place not in found and response.line in free
    }
    if silent:
        return paired, ["the responses have no prompt and no key: each is taken to answer the prompt of its own line"]
    return paired, [
        f"line {prompt.line}: the prompt of the response is not in the data; it is taken to answer line {prompt.line} "
        f"there (key {prompt.key})"
        for prompt in paired.values()
    ]


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

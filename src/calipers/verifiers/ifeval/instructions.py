"""An IFEval instruction, ready to check responses: strictly, or loosely as in the paper's second figure."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, get_args

from calipers.errors import ConfigError, InputError
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier
from calipers.verifiers.ifeval import formats, keywords, language, lengths
from calipers.verifiers.ifeval.arguments import read_arguments
from calipers.verifiers.ifeval.rule import Mode, Rule

RULES: Final[Mapping[str, Rule]] = keywords.RULES | lengths.RULES | formats.RULES | language.RULES
INSTRUCTION_IDS: Final = tuple(sorted(RULES))
"""The 25 instruction ids."""

_BLANK = Verdict(False, "the response is blank")


@dataclass(frozen=True, slots=True)
class Instruction(AnswerVerifier):
    """An instruction with its kwargs, built by ``instruction``; as a verifier it checks the final answer strictly."""

    id: str
    test: Callable[[str], Verdict]

    def strict(self, response: str) -> Verdict:
        """Whether the response follows the instruction as it stands. A blank response never does."""
        return self.test(response) if response.strip() else _BLANK

    def check(self, answer: str) -> Verdict:
        return self.strict(answer)

    def loose(self, response: str) -> Verdict:
        """Whether any of eight readings of it does: with or without its first line, its last line and all its ``*``."""
        strict = self.strict(response)
        if strict.met:
            return strict
        unclear = strict if strict.met is None else None
        for reading, left_out in _readings(response).items():
            verdict = self.strict(reading)
            if verdict.met:
                return Verdict(True, f"when {left_out} left out")
            unclear = unclear or (verdict if verdict.met is None else None)
        return unclear or strict


def instruction(
    instruction_id: str, kwargs: Mapping[str, Any] | None = None, *, prompt: str | None = None, mode: Mode = "official"
) -> Instruction:
    """The instruction with that id; ``kwargs`` as in IFEval's data, null fields omitted.

    ``prompt`` is what ``combination:repeat_prompt`` asks to repeat if its kwargs do not say. Raises InputError naming
    the id or the field that is wrong, and ConfigError for an unknown mode, or if langdetect is needed and missing.
    """
    if mode not in get_args(Mode):
        raise ConfigError(f"mode must be {', '.join(get_args(Mode)[:-1])} or {get_args(Mode)[-1]}, not {mode!r}")
    rule = RULES.get(instruction_id) if isinstance(instruction_id, str) else None
    if rule is None:
        near = difflib.get_close_matches(str(instruction_id), INSTRUCTION_IDS, n=1)
        raise InputError(f"unknown instruction {instruction_id!r}" + (f"; did you mean {near[0]}?" if near else ""))
    fields = fields_of(rule)
    given = {} if kwargs is None else kwargs
    try:
        if "prompt_to_repeat" in fields and prompt and given.get("prompt_to_repeat") is None:
            given = {**given, "prompt_to_repeat": prompt}
        test = partial(rule, mode, **read_arguments(fields, given))
        test("x")  # raises what is wrong with every response
    except InputError as error:
        raise InputError(f"{instruction_id}: {error}") from None
    return Instruction(instruction_id, test)


def fields_of(rule: Rule) -> tuple[str, ...]:
    """The kwargs that a rule takes."""
    return tuple(one.name for one in inspect.signature(rule).parameters.values() if one.kind is one.KEYWORD_ONLY)


def check(
    instruction_id: str,
    kwargs: Mapping[str, Any] | None,
    response: str,
    *,
    prompt: str | None = None,
    mode: Mode = "official",
) -> Verdict:
    """Whether ``response`` follows the instruction, strictly; raises as ``instruction`` does.

    ``.met`` is None, and ``.reason`` says why, if there is no verdict: in ``official`` for a letter that the official
    checker replaces by a random one, in ``fixed`` for a text whose language cannot be detected, or whose words or
    sentences nothing separates.
    """
    return instruction(instruction_id, kwargs, prompt=prompt, mode=mode).strict(response)


def _readings(response: str) -> dict[str, str]:
    """The loose readings that differ from the response and from each other, with what each leaves out."""
    lines = response.split("\n")
    cut = {
        "nothing": response,
        "the first line is": "\n".join(lines[1:]).strip(),
        "the last line is": "\n".join(lines[:-1]).strip(),
        "the first and the last line are": "\n".join(lines[1:-1]).strip(),
    }
    readings: dict[str, str] = {}
    for left_out, text in cut.items():
        readings.setdefault(text, left_out)
        stars = (
            "all * are" if text is response else f"{left_out.removesuffix(' is').removesuffix(' are')} and all * are"
        )
        readings.setdefault(text.replace("*", ""), stars)
    readings.pop(response)
    return readings

"""Check responses against an IFEval instruction, strictly or with the paper's loose criterion."""

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
from calipers.verifiers.ifeval import copies, formats, ifbench, keywords, language, lengths, places
from calipers.verifiers.ifeval.arguments import read_arguments
from calipers.verifiers.ifeval.rule import Mode, Rule

RULES: Final[Mapping[str, Rule]] = (
    keywords.RULES | lengths.RULES | formats.RULES | language.RULES | copies.RULES | places.RULES | ifbench.RULES
)
INSTRUCTION_IDS: Final = tuple(sorted(RULES))
"""The ids of the 25 instructions of IFEval, the 29 further ones of IFEvalG and the 58 of IFBench."""

_BLANK = Verdict(False, "the response is blank")


@dataclass(frozen=True, slots=True)
class Instruction(AnswerVerifier):
    """An IFEval instruction, built by ``instruction``. As a verifier it checks the final answer strictly."""

    id: str
    test: Callable[[str], Verdict]

    def strict(self, response: str) -> Verdict:
        """Return the verdict on whether the response follows the IFEval instruction strictly.

        A blank response does not follow it.
        """
        return self.test(response) if response.strip() else _BLANK

    def check(self, answer: str) -> Verdict:
        return self.strict(answer)

    def loose(self, response: str) -> Verdict:
        """Return the verdict on whether the response follows the IFEval instruction loosely: in any of eight variants.

        The variants are the response with and without its first line, its last line and all its ``*``.
        """
        strict = self.strict(response)
        if strict.met:
            return strict
        unclear = strict if strict.met is None else None
        for reading, left_out in _loose_variants(response).items():
            verdict = self.strict(reading)
            if verdict.met:
                return Verdict(True, f"when {left_out} left out")
            unclear = unclear or (verdict if verdict.met is None else None)
        return unclear or strict


def instruction(
    instruction_id: str, kwargs: Mapping[str, Any] | None = None, *, prompt: str | None = None, mode: Mode = "official"
) -> Instruction:
    """Return the IFEval instruction with this id and these ``kwargs``. Null fields are ignored.

    ``prompt`` is the text that ``combination:repeat_prompt`` asks to repeat if the kwargs do not contain it. Raises
    InputError naming a wrong id or field. Raises ConfigError for an unknown mode, or if langdetect is needed and not
    installed.
    """
    if mode not in get_args(Mode):
        raise ConfigError(f"mode must be {', '.join(get_args(Mode)[:-1])} or {get_args(Mode)[-1]}, not {mode!r}")
    rule = RULES.get(instruction_id) if isinstance(instruction_id, str) else None
    if rule is None:
        near = difflib.get_close_matches(str(instruction_id), INSTRUCTION_IDS, n=1)
        raise InputError(f"unknown instruction {instruction_id!r}" + (f"; did you mean {near[0]}?" if near else ""))
    fields = rule_fields(rule)
    given = {} if kwargs is None else kwargs
    try:
        if "prompt_to_repeat" in fields and prompt and given.get("prompt_to_repeat") is None:
            given = {**given, "prompt_to_repeat": prompt}
        test = partial(rule, mode, **read_arguments(fields, given))
        test("x")  # raises InputError if the fields are wrong for every response
    except InputError as error:
        raise InputError(f"{instruction_id}: {error}") from None
    return Instruction(instruction_id, test)


def rule_fields(rule: Rule) -> tuple[str, ...]:
    """Return the names of the kwargs that an IFEval rule takes."""
    return tuple(one.name for one in inspect.signature(rule).parameters.values() if one.kind is one.KEYWORD_ONLY)


def check(
    instruction_id: str,
    kwargs: Mapping[str, Any] | None,
    response: str,
    *,
    prompt: str | None = None,
    mode: Mode = "official",
) -> Verdict:
    """Return whether ``response`` follows an IFEval instruction strictly, as a verdict. Raises like ``instruction``.

    The verdict is None, with a reason, in three cases: in ``official`` for a letter that the official checker replaces
    by a random letter, and in ``fixed`` for a text whose language cannot be detected, or whose words or sentences have
    no separators.
    """
    return instruction(instruction_id, kwargs, prompt=prompt, mode=mode).strict(response)


def _loose_variants(response: str) -> dict[str, str]:
    """Return the variants of a response for the loose check, without duplicates, each with the parts it omits."""
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

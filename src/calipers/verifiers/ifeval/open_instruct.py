"""open-instruct's 25 checks of instructions, by the names that its labels use (``func_name``).

They are not IFEval's checkers: the same wording is decided differently. ``validate_word_constraint`` splits at blanks,
and ``validate_end`` allows no quotation mark after the phrase. Verdicts are those of open-instruct's ``if_functions``
at e6c3044 (August 2026); a text whose language cannot be detected has none. IFEvalG's labels (``instruction_id`` and
``kwargs``) are read as IFEval's rows. Not responsible for finding labels in rows (``rubric.dataset_standards``).
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from calipers.errors import InputError
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier
from calipers.verifiers.ifeval.language import detected

_TYPES: Final[Mapping[str, type]] = {
    "N": int, "i": int, "keyword_list": list, "forbidden_words": list, "options": list, "word": str, "letter": str,
    "language": str, "quantifier": str, "first_word": str, "postscript_marker": str, "section_splitter": str,
    "original_prompt": str, "end_phrase": str,
}  # fmt: skip
_SEPARATOR: Final = "******"


def _quantity(found: int, quantifier: str, asked: int, tolerance: int) -> bool:
    """Return whether a count meets an open-instruct quantifier; an unknown quantifier is never met."""
    if quantifier == "around":
        return abs(found - asked) <= tolerance
    return {"at least": found >= asked, "at most": found <= asked}.get(quantifier, False)


def _tenth(asked: int) -> int:
    return max(round(asked * 0.1), 1)


def _keywords(text: str, *, keyword_list: list[str]) -> bool:
    return all(word.lower() in text.lower() for word in keyword_list)


def _keyword_frequency(text: str, *, word: str, N: int) -> bool:  # noqa: N803 - the label's own name
    return re.findall(r"\b\w+\b", text.lower()).count(word.lower()) == N


def _forbidden(text: str, *, forbidden_words: list[str]) -> bool:
    return not any(word.lower() in text.lower() for word in forbidden_words)


def _letter(text: str, *, letter: str, N: int) -> bool:  # noqa: N803 - the label's own name
    return text.count(letter) == N


def _language(text: str, *, language: str) -> bool | None:
    found = detected(text)
    return None if found is None else found == language


def _paragraphs(text: str, *, N: int) -> bool:  # noqa: N803 - the label's own name
    parts = "\n".join(line.strip() for line in text.splitlines()).strip().split("* * *")
    return len(parts) == N and all(part.strip() for part in parts)


def _words(text: str, *, N: int, quantifier: str) -> bool:  # noqa: N803 - the label's own name
    return _quantity(len(text.split()), quantifier, N, _tenth(N))


def _sentences(text: str, *, N: int, quantifier: str) -> bool:  # noqa: N803 - the label's own name
    return _quantity(1 + sum(map(partial(_ends_sentence, text), range(1, len(text)))), quantifier, N, 1)


def _ends_sentence(text: str, place: int) -> bool:
    """Return whether the blank at ``place`` separates sentences.

    It does after ".", "!" and "?", but not after a short title ("Mr.") or a part of an abbreviation ("e.g.").
    """
    if text[place - 1] not in ".?!" or not re.match(r"\s", text[place]):
        return False
    return not re.search(r"(\w\.\w.|[A-Z][a-z]\.)\Z", text[max(place - 4, 0) : place])


def _first_word(text: str, *, N: int, first_word: str, i: int) -> bool:  # noqa: N803 - the label's own name
    parts = text.split("\n\n")
    return len(parts) == N and parts[i - 1].strip().startswith(first_word)


def _postscript(text: str, *, postscript_marker: str) -> bool:
    place = text.find(postscript_marker)
    return place >= 0 and len(text[place:].strip()) > len(postscript_marker)


def _count_of(pattern: str, text: str, *, N: int) -> bool:  # noqa: N803 - the label's own name
    return len(re.findall(pattern, text)) >= N


def _bullets(text: str, *, N: int) -> bool:  # noqa: N803 - the label's own name
    return sum(line.strip().startswith(("*", "-")) for line in text.split("\n")) == N


def _title(text: str) -> bool:
    return re.search(r"<<.*?>>", text) is not None


def _choice(text: str, *, options: list[str]) -> bool:
    return any(option in text for option in options)


def _sections(text: str, *, N: int, section_splitter: str) -> bool:  # noqa: N803 - the label's own name
    parts = text.split(section_splitter)
    return len(parts) - (not parts[0]) == N  # what is before the first splitter counts, unless it is empty


def _json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _repeats(text: str, *, original_prompt: str) -> bool:
    return text.startswith(original_prompt)


def _two_responses(text: str) -> bool:
    first, found, second = text.partition(_SEPARATOR)
    return text.count(_SEPARATOR) == 1 and bool(found) and first.strip() != second.strip()


def _capitals(text: str, *, N: int, quantifier: str) -> bool:  # noqa: N803 - the label's own name
    return _quantity(len(re.findall(r"\b[A-Z]+\b", text)), quantifier, N, _tenth(N))


def _ends(text: str, *, end_phrase: str) -> bool:
    return text.endswith(end_phrase)


def _placeholders(text: str, *, N: int) -> bool:  # noqa: N803 - the label's own name
    return _count_of(r"\[.*?\]", text, N=N)


def _highlights(text: str, *, N: int) -> bool:  # noqa: N803 - the label's own name
    return _count_of(r"\*.*?\*", text, N=N)


FUNCTIONS: Final[Mapping[str, Callable[..., bool | None]]] = {
    "verify_keywords": _keywords,
    "verify_keyword_frequency": _keyword_frequency,
    "validate_forbidden_words": _forbidden,
    "verify_letter_frequency": _letter,
    "validate_response_language": _language,
    "verify_paragraph_count": _paragraphs,
    "validate_word_constraint": _words,
    "verify_sentence_constraint": _sentences,
    "validate_paragraphs": _first_word,
    "verify_postscript": _postscript,
    "validate_placeholders": _placeholders,
    "verify_bullet_points": _bullets,
    "validate_title": _title,
    "validate_choice": _choice,
    "validate_highlighted_sections": _highlights,
    "validate_sections": _sections,
    "validate_json_format": _json,
    "validate_repeat_prompt": _repeats,
    "validate_two_responses": _two_responses,
    "validate_uppercase": lambda text: text == text.upper(),
    "validate_lowercase": lambda text: text == text.lower(),
    "validate_frequency_capital_words": _capitals,
    "validate_end": _ends,
    "validate_quotation": lambda text: text.startswith('"') and text.endswith('"'),
    "validate_no_commas": lambda text: "," not in text,
}
"""The checks by name; each returns whether an answer follows the instruction, or None if that cannot be decided."""


@dataclass(frozen=True, slots=True)
class LabelledFunction(AnswerVerifier):
    """A check of open-instruct with its arguments, built by ``labelled_function``; it checks the final answer."""

    name: str
    test: Callable[[str], bool | None]

    def check(self, answer: str) -> Verdict:
        met = self.test(answer)
        if met is None:
            return Verdict(None, f"{self.name}: no language can be detected")
        return Verdict(met, "" if met else f"{self.name}: not followed")


def labelled_function(label: Mapping[str, Any]) -> LabelledFunction:
    """Return the check that an open-instruct label names by ``func_name``. Its null arguments are ignored.

    Raises InputError naming an unknown function, or an argument that is missing, unknown or of another type.
    """
    name = label.get("func_name")
    function = FUNCTIONS.get(name) if isinstance(name, str) else None
    if function is None:
        near = difflib.get_close_matches(str(name), FUNCTIONS, n=1)
        raise InputError(f"func_name: unknown {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
    known = [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
    # A table gives every row the columns of all functions, so arguments of other functions may be there, as nulls.
    given = {key: value for key, value in label.items() if key != "func_name" and value is not None}
    if strange := [key for key in given if key not in known]:
        raise InputError(f"{name}: {strange[0]}: not an argument; it has {', '.join(known) or 'none'}")
    if missing := [key for key in known if key not in given]:
        raise InputError(f"{name}: {missing[0]}: is missing")
    for key in ("section_splitter", "letter"):
        if given.get(key) == "":
            raise InputError(f"{name}: {key}: must not be empty")
    if "letter" in given and len(str(given["letter"])) != 1:
        raise InputError(f"{name}: letter: must be one character, is {given['letter']!r}")
    return LabelledFunction(
        str(name), partial(function, **{key: _argument(str(name), key, given[key]) for key in known})
    )


def _argument(name: str, key: str, value: Any) -> Any:
    """Return an argument of an open-instruct label in its type; Parquet stores whole numbers with gaps as floats."""
    wanted = _TYPES[key]
    if wanted is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if wanted is list and isinstance(value, Sequence) and not isinstance(value, str):
        return [str(item) for item in value]
    if not isinstance(value, wanted) or isinstance(value, bool):
        shown = {int: "a whole number", list: "a list of texts", str: "text"}[wanted]
        raise InputError(f"{name}: {key}: must be {shown}, is {value!r:.60}")
    return value

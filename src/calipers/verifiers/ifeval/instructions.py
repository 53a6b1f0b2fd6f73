"""IFEval's 25 instructions: a table of checks that give the verdicts of Google's checker, its faults included.

The patterns accept the same text as the official ones, but their time grows only linearly with the length of the
response, because a policy in training writes the response.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from numbers import Integral
from typing import Any, Final, Literal, get_args

from calipers.errors import InputError
from calipers.registry import import_library
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier
from calipers.verifiers.ifeval.sentences import count_capital_words, count_sentences

Relation = Literal["less than", "at least"]
_BLANK: Final = Verdict(False, "the response is blank")
_CODES = """
af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml mr ne nl no pa pl pt ro
ru sk sl so sq sv sw ta te th tl tr uk ur vi zh-cn zh-tw
"""
_LANGUAGES: Final = frozenset(_CODES.split())
"""The codes that langdetect 1.0.9 can answer with."""


@dataclass(frozen=True, slots=True)
class Instruction(AnswerVerifier):
    """An IFEval instruction, built by ``instruction``. As a verifier it checks the final answer strictly."""

    id: str
    test: Callable[[str], Verdict]

    def strict(self, response: str) -> Verdict:
        """Return whether the response follows the instruction strictly. A blank response does not."""
        return self.test(response) if response.strip() else _BLANK

    def check(self, answer: str) -> Verdict:
        return self.strict(answer)

    def loose(self, response: str) -> Verdict:
        """Return whether the response follows the instruction in any of eight variants: with and without its first
        line, its last line and all its ``*``.
        """
        verdict = self.strict(response)
        for left_out, text in _loose_variants(response):
            if verdict.met or text == response:
                continue
            if self.strict(text).met:
                return Verdict(True, f"met without {left_out}")
        return verdict


def _loose_variants(response: str) -> list[tuple[str, str]]:
    lines = response.split("\n")
    cut = [
        ("nothing", response),
        ("the first line", "\n".join(lines[1:]).strip()),
        ("the last line", "\n".join(lines[:-1]).strip()),
        ("the first and the last line", "\n".join(lines[1:-1]).strip()),
    ]
    return cut + [(f"{left_out} and *", text.replace("*", "")) for left_out, text in cut]


def instruction(
    instruction_id: str, kwargs: Mapping[str, Any] | None = None, *, prompt: str | None = None
) -> Instruction:
    """Return the IFEval instruction with this id and these ``kwargs``. Null fields are ignored.

    ``prompt`` is the text that ``combination:repeat_prompt`` asks to repeat if the kwargs do not contain it. Raises
    InputError naming a wrong id or field, and ConfigError if langdetect is needed and not installed.
    """
    rule = RULES.get(instruction_id) if isinstance(instruction_id, str) else None
    if rule is None:
        near = difflib.get_close_matches(str(instruction_id), INSTRUCTION_IDS, n=1)
        hint = f"did you mean {near[0]}?" if near else "only IFEval's 25 are checked; write others as rules"
        raise InputError(f"unknown instruction {instruction_id!r}; {hint}")
    kinds = {name: kind for name, kind in rule.__annotations__.items() if name not in ("response", "return")}
    arguments = {} if kwargs is None else kwargs
    try:
        if "prompt_to_repeat" in kinds and prompt and arguments.get("prompt_to_repeat") is None:
            arguments = {**arguments, "prompt_to_repeat": prompt}
        test = partial(rule, **_read_arguments(kinds, arguments))
        test("x")  # raises InputError if the fields are wrong for every response
    except InputError as error:
        raise InputError(f"{instruction_id}: {error}") from None
    return Instruction(instruction_id, test)


def check(
    instruction_id: str, kwargs: Mapping[str, Any] | None, response: str, *, prompt: str | None = None
) -> Verdict:
    """Return whether ``response`` follows an IFEval instruction strictly. Raises like ``instruction``."""
    return instruction(instruction_id, kwargs, prompt=prompt).strict(response)


def build_instructions(ids: Sequence[Any], kwargs: Sequence[Any], *, prompt: str | None) -> tuple[Instruction, ...]:
    """Return the instructions with these ids and kwargs. Raises InputError naming the field and position."""
    built = []
    for place, (name, fields) in enumerate(zip(ids, kwargs, strict=True)):
        try:
            built.append(instruction(name, fields, prompt=prompt))
        except InputError as error:
            where = "kwargs" if name in RULES else "instruction_id_list"
            raise InputError(f"{where}[{place}]: {error}") from None
    return tuple(built)


def _if(met: object, otherwise: str) -> Verdict:
    return Verdict(True) if met else Verdict(False, otherwise)


def _count(found: int, what: str, relation: Relation | Literal["exactly"], asked: int) -> Verdict:
    met = {"less than": found < asked, "at least": found >= asked, "exactly": found == asked}[relation]
    return Verdict(met, f"{found} {what}; asked: {relation} {asked}")


@lru_cache(maxsize=1024)
def _pattern(field: str, pattern: str, flags: int = 0) -> re.Pattern[str]:
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(
            f"{field}: the official checker takes it for a regular expression, which it is not ({error})"
        ) from None


def _word(field: str, word: str) -> re.Pattern[str]:
    return _pattern(field, word, re.IGNORECASE)


# --- keywords


def _existence(response: str, *, keywords: tuple[str, ...]) -> Verdict:
    missing = [word for word in keywords if not _word("keywords", word).search(response)]
    return _if(not missing, f"missing: {', '.join(missing)}")


def _frequency(response: str, *, keyword: str, frequency: int, relation: Relation) -> Verdict:
    count = sum(1 for _ in _word("keyword", keyword.strip()).finditer(response))
    return _count(count, f"x {keyword!r}", relation, frequency)


def _forbidden_words(response: str, *, forbidden_words: tuple[str, ...]) -> Verdict:
    words = [word for word in forbidden_words if _word("forbidden_words", rf"\b{word}\b").search(response)]
    return _if(not words, f"found: {', '.join(words)}")


def _letter_frequency(response: str, *, letter: str, let_frequency: int, let_relation: Relation) -> Verdict:
    """Count a character, as the official checker has done since 2025. Before, it drew a letter in place of a mark."""
    return _count(response.lower().count(letter.lower()), f"x {letter!r}", let_relation, let_frequency)


# --- lengths


def _number_sentences(response: str, *, num_sentences: int, relation: Relation) -> Verdict:
    return _count(count_sentences(response), "sentences", relation, num_sentences)


def _number_paragraphs(response: str, *, num_paragraphs: int) -> Verdict:
    """Count paragraphs, which only ``***`` separates. An empty paragraph between two others fails."""
    pieces = re.split(r"\s?\*\*\*\s?", response)
    if not all(piece.strip() for piece in pieces[1:-1]):
        return Verdict(False, "an empty paragraph between two dividers")
    return _count(sum(bool(piece.strip()) for piece in pieces), "paragraphs", "exactly", num_paragraphs)


def _number_words(response: str, *, num_words: int, relation: Relation) -> Verdict:
    return _count(len(re.findall(r"\w+", response)), "words", relation, num_words)


def _nth_paragraph_first_word(response: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str) -> Verdict:
    """Compare the first word of a paragraph. Blank paragraphs are not counted, but they have numbers."""
    if not 1 <= nth_paragraph <= num_paragraphs:
        raise InputError(f"nth_paragraph: must be from 1 to num_paragraphs ({num_paragraphs}), is {nth_paragraph}")
    pieces = response.split("\n\n")
    count = sum(1 for piece in pieces if piece.strip())
    if nth_paragraph > count:
        return _count(count, "paragraphs", "at least", nth_paragraph)
    words = pieces[nth_paragraph - 1].split()
    if not words:
        return Verdict(False, f"paragraph {nth_paragraph} is empty")
    word = re.split(r"[.,?!'\"]", words[0].lstrip("'").lstrip('"'))[0]
    # Each letter separately, as the official checker does: lower-casing the word would change a final sigma.
    if "".join(map(str.lower, word)) != first_word.lower():
        return Verdict(False, f"paragraph {nth_paragraph} begins with {word!r}, not {first_word!r}")
    return _count(count, "paragraphs", "exactly", num_paragraphs)


# --- formats


def _number_bullet_lists(response: str, *, num_bullets: int) -> Verdict:
    """Count lines that begin with ``-`` or a single ``*``, including rules of dashes and lines in italics."""
    # The character after a star may be a line break. The line after it is then no bullet, as in the official pattern.
    stars = re.findall(r"^[^\S\n]*\*[^*].*$", response, re.MULTILINE)
    dashes = re.findall(r"^[^\S\n]*-", response, re.MULTILINE)
    return _count(len(stars) + len(dashes), "bullets", "exactly", num_bullets)


def _constrained_response(response: str) -> Verdict:
    answers = (f"My answer is {word}." for word in ("yes", "no", "maybe"))
    return _if(any(answer in response for answer in answers), "none of the three answers")


def _number_highlighted_sections(response: str, *, num_highlights: int) -> Verdict:
    """Count ``*...*`` and ``**...**`` separately, so that ``***x***`` counts twice."""
    single = sum(1 for section in re.findall(r"\*[^\n*]*\*", response) if section.strip("*").strip())
    double = sum(1 for section in re.findall(r"\*\*[^\n*]*\*\*", response) if section[2:-2].strip())
    return _count(single + double, "highlights", "at least", num_highlights)


def _multiple_sections(response: str, *, section_spliter: str, num_sections: int) -> Verdict:
    pattern = _pattern("section_spliter", rf"\s?{section_spliter.strip()}\s?\d+\s?")
    return _count(len(pattern.split(response)) - 1, "sections", "at least", num_sections)


def _json_format(response: str) -> Verdict:
    """Require JSON as Python reads it (``NaN`` passes) and no other text, except a code fence around it."""
    text = response.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except ValueError as error:
        return Verdict(False, f"not JSON: {error}")
    except RecursionError:
        return Verdict(None, "nested too deeply to be read; the official checker stops here")
    return Verdict(True)


def _title(response: str) -> Verdict:
    return _if(any(map(_has_title, response.split("\n"))), "no title in << >>")


def _has_title(line: str) -> bool:
    """Return whether ``<<`` and ``>>`` enclose a character that is neither a bracket nor a space."""
    start, stop = line.find("<<"), line.rfind(">>")
    return 0 <= start < stop - 2 and bool(line[start : stop + 2].lstrip("<").rstrip(">").strip())


def _number_placeholders(response: str, *, num_placeholders: int) -> Verdict:
    """Count ``[...]`` on a line. Links and ``[]`` count as placeholders, too."""
    lines = (line[: line.rfind("]") + 1] for line in response.split("\n"))
    count = sum(len(re.findall(r"\[[^\]]*\]", line)) for line in lines)
    return _count(count, "placeholders", "at least", num_placeholders)


def _postscript(response: str, *, postscript_marker: str) -> Verdict:
    """Require the marker anywhere. ``P.S.`` and ``P.P.S`` may contain spaces; others are regular expressions."""
    marker = postscript_marker.strip()
    spaced = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}.get(marker, marker.lower())
    return _if(_pattern("postscript_marker", spaced, re.MULTILINE).search(response.lower()), f"no {marker!r}")


# --- punctuation, beginnings, endings and repetitions


def _no_comma(response: str) -> Verdict:
    return _if("," not in response, f"{response.count(',')} commas")


def _end_checker(response: str, *, end_phrase: str) -> Verdict:
    met = response.strip().strip('"').lower().endswith(end_phrase.strip().lower())
    return _if(met, f"does not end with {end_phrase!r}")


def _quotation(response: str) -> Verdict:
    text = response.strip()
    return _if(len(text) > 1 and text[0] == text[-1] == '"', "not wrapped in double quotes")


def _two_responses(response: str) -> Verdict:
    """Require two different texts separated by six stars. A blank text may precede or follow them."""
    pieces = [piece.strip() for piece in response.split("******")]
    if not all(pieces[1:-1]):
        return Verdict(False, "an empty response between two dividers")
    responses = [piece for piece in pieces if piece]
    if len(responses) != 2:
        return _count(len(responses), "responses", "exactly", 2)
    return _if(responses[0] != responses[1], "the two responses are the same")


def _repeat_prompt(response: str, *, prompt_to_repeat: str) -> Verdict:
    met = response.strip().lower().startswith(prompt_to_repeat.strip().lower())
    return _if(met, "does not begin with the request")


# --- language and case


def _response_language(response: str, *, language: str) -> Verdict:
    detected = detect_language(response)
    if detected is None:
        return Verdict(True, "no language can be detected, which passes")
    return _if(detected == language, f"detected as {detected}, not {language}")


def _english_capital(response: str) -> Verdict:
    return _cased(response, str.isupper, "not all in capitals")


def _english_lowercase(response: str) -> Verdict:
    return _cased(response, str.islower, "not all in lower case")


def _cased(response: str, cased: Callable[[str], bool], otherwise: str) -> Verdict:
    _detectors()  # raises ConfigError for every response if langdetect is missing
    return _response_language(response, language="en") if cased(response) else Verdict(False, otherwise)


def _capital_word_frequency(response: str, *, capital_frequency: int, capital_relation: Relation) -> Verdict:
    return _count(count_capital_words(response), "words in capitals", capital_relation, capital_frequency)


@lru_cache(maxsize=4096)
def detect_language(text: str) -> str | None:
    """Return langdetect's code for the language of a text, or None if it detects none, for example in digits.

    langdetect draws at random. Its detector has a seed of its own here, so that equal texts get equal verdicts.
    """
    detector = _detectors().create()
    detector.append(text)
    try:
        return str(detector.detect())
    except import_module("langdetect").LangDetectException:
        return None


@lru_cache(maxsize=1)
def _detectors() -> Any:
    remedy = "this instruction needs langdetect to detect languages; run: pip install 'calipers[ifeval]'"
    module = import_library("langdetect.detector_factory", remedy=remedy)
    factory = module.DetectorFactory()
    factory.load_profile(module.PROFILES_DIRECTORY)
    factory.set_seed(0)
    return factory


RULES: Final[Mapping[str, Callable[..., Verdict]]] = {
    "change_case:capital_word_frequency": _capital_word_frequency,
    "change_case:english_capital": _english_capital,
    "change_case:english_lowercase": _english_lowercase,
    "combination:repeat_prompt": _repeat_prompt,
    "combination:two_responses": _two_responses,
    "detectable_content:number_placeholders": _number_placeholders,
    "detectable_content:postscript": _postscript,
    "detectable_format:constrained_response": _constrained_response,
    "detectable_format:json_format": _json_format,
    "detectable_format:multiple_sections": _multiple_sections,
    "detectable_format:number_bullet_lists": _number_bullet_lists,
    "detectable_format:number_highlighted_sections": _number_highlighted_sections,
    "detectable_format:title": _title,
    "keywords:existence": _existence,
    "keywords:forbidden_words": _forbidden_words,
    "keywords:frequency": _frequency,
    "keywords:letter_frequency": _letter_frequency,
    "language:response_language": _response_language,
    "length_constraints:nth_paragraph_first_word": _nth_paragraph_first_word,
    "length_constraints:number_paragraphs": _number_paragraphs,
    "length_constraints:number_sentences": _number_sentences,
    "length_constraints:number_words": _number_words,
    "punctuation:no_comma": _no_comma,
    "startend:end_checker": _end_checker,
    "startend:quotation": _quotation,
}
"""For each id the check of a response that is not blank. Its keyword-only arguments are the instruction's kwargs."""
INSTRUCTION_IDS: Final = tuple(RULES)


# --- the kwargs


def _read_arguments(kinds: Mapping[str, str], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked kwargs. ``kinds`` has the annotation of each. A null counts as absent, as in the Hugging Face
    copy.

    The official checker draws a random value for one that is missing or negative. That gives no verdict, so it is an
    error here.
    """
    if not isinstance(kwargs, Mapping):
        raise InputError(f"kwargs must be an object of fields, is {kwargs!r:.60}")
    stated = {name: value for name, value in kwargs.items() if value is not None}
    for name in stated:
        if name not in kinds:
            near = difflib.get_close_matches(str(name), kinds, n=1)
            known = f"did you mean {near[0]}?" if near else f"it has {', '.join(kinds) or 'no fields'}"
            raise InputError(f"{name}: not a field of this instruction; {known}")
    if missing := [name for name in kinds if name not in stated]:
        raise InputError(f"{missing[0]}: is missing")
    return {name: _read_argument(name, kind, stated[name]) for name, kind in kinds.items()}


def _read_argument(name: str, kind: str, value: Any) -> Any:
    match kind:
        case "int":
            value = int(value) if isinstance(value, float) and value.is_integer() else value  # Parquet's whole numbers
            # The official checker accepts a negative capital_frequency.
            met = isinstance(value, Integral) and not isinstance(value, bool)
            met = met and (value >= 0 or name == "capital_frequency")
            must = "a whole number, 0 or more"
        case "Relation":
            met, must = value in get_args(Relation), '"less than" or "at least"'
        case "str":
            met, must = isinstance(value, str), "text"
            if name == "letter":
                met, must = met and len(value) == 1, "one character"
            elif name == "language":  # no response could follow the instruction in another
                met, must = met and value in _LANGUAGES, "a code of langdetect such as en, de or zh-cn"
            elif name in ("keyword", "prompt_to_repeat"):
                met = bool(value) and met
        case _:
            met, must = isinstance(value, list | tuple) and bool(value), "a list of texts, at least one"
            if met:
                value = tuple(_read_argument(f"{name}[{place}]", "str", item) for place, item in enumerate(value))
    if not met:
        raise InputError(f"{name}: must be {must}, is {value!r:.60}")
    return int(value) if kind == "int" else value

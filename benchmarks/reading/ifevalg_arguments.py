"""Kwargs for IFEval's 25 instructions, drawn at random, and texts that follow some of them.

Not responsible for asking anybody (``ifevalg_parity``). No kwargs are drawn that the official code would replace by
random ones: no number is 0, and a letter is one from a to z.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_KEYWORDS = (
    "the",
    "a",
    "cat",
    "word",
    "yes",
    "of",
    "a.t",
    "c[au]t",
    "^the",
    "t$",
    "X",
    "Ä",
    "the cat",
    "3",
    "हिन्दी",
    "¿",
)
_FIRST_WORDS = ("the", "The", "a", "cat", "is", "yes", '"the', "3", "p", "ß", "don't")
_MARKERS = ("P.S.", "P.P.S", "P.P.S.", "PS:", "p. s.", "Note.", "[P.S.]", "P")
_SPLITTERS = ("Section", "SECTION", "Paragraph", "Day", "PART ", "s")
_PHRASES = ("Is there anything else?", "any other questions?", "the end.", '"', " bye ", "ß", "İ")
_PROMPTS = ("Copy this.", "the cat sat", "Write A Poem about x", "  say yes ", "a\nb", "İx")
_LANGUAGES = ("en", "de", "hi", "ja", "ar", "fr", "es", "pt", "ru", "it", "ko", "th")
_RELATIONS = ("less than", "at least")
_PIECES: Final = (
    "the", "The", "THE", "a", "cat", "cut", "Cat", "yes", "word", "3", "of", "X", "is", "don't", "ABC", "DEF GHI", "é",
    "the cat sat.", "Is it?", "No!", "Mr. Smith said so.", "e.g. this", 'He said "no." She left.', "U.S. Dr. No",
    "***", "******", "\n***\n", "\n\n***\n\n", "\n\n", "\n", "\r\n", "\t", " \n \n ", "* a\n", "\n* b", "- c\n",
    "\n - d",
    "*a*", "**b c**", "***d***", "* *", "** **", "*e\nf*", "[x]", "[y z]", "[]", "[[w]]", "<<title>>", "<< >>",
    "<<a\nb>>", "<<<t>>>", '"', "“", "'", '"all of it"', ",", "，", ", ", "P.S. this", "\nP.P.S that", "p. s. those",
    "Section 1", "Section 2:", "SECTION X", "Paragraph 1.", "Day 3", "{", "}", '{"a": 1}', "[1, 2]", "null",
    "```json\n", "```", "```JSON", "NaN", "My answer is yes.", "My answer is no.", "My answer is maybe.",
    "Das ist ein kurzer deutscher Satz.", "हिन्दी में लिखा हुआ वाक्य।", "これは日本語です。", "العربية هنا", "это по-русски",
    "ÄÖÜ", "ß", "ſ", "İ", "ı", "\u2028", "\u200b", "\ufeff", "\x00", "\x1c", "\x85", "\U0001f600", "e\u0301", "١٢٣", "",
)  # fmt: skip


def asked_of_ifeval(generator: random.Random) -> dict[str, dict[str, Any]]:
    """Kwargs for each of IFEval's 25 instructions."""
    pick, number = generator.choice, generator.randint
    paragraphs = number(1, 4)

    def keywords() -> list[str]:
        return [pick(_KEYWORDS) for _ in range(number(1, 3))]

    return {
        "keywords:existence": {"keywords": keywords()},
        "keywords:frequency": {"keyword": pick(_KEYWORDS), "frequency": number(1, 4), "relation": pick(_RELATIONS)},
        "keywords:forbidden_words": {"forbidden_words": keywords()},
        "keywords:letter_frequency": {
            "letter": pick("aetxzAEZ"), "let_frequency": number(1, 9), "let_relation": pick(_RELATIONS)
        },
        "language:response_language": {"language": pick(_LANGUAGES)},
        "length_constraints:number_sentences": {"num_sentences": number(1, 6), "relation": pick(_RELATIONS)},
        "length_constraints:number_paragraphs": {"num_paragraphs": number(1, 5)},
        "length_constraints:number_words": {"num_words": number(1, 40), "relation": pick(_RELATIONS)},
        "length_constraints:nth_paragraph_first_word": {
            "num_paragraphs": paragraphs, "nth_paragraph": number(1, paragraphs), "first_word": pick(_FIRST_WORDS)
        },
        "detectable_content:number_placeholders": {"num_placeholders": number(1, 4)},
        "detectable_content:postscript": {"postscript_marker": pick(_MARKERS)},
        "detectable_format:number_bullet_lists": {"num_bullets": number(1, 4)},
        "detectable_format:number_highlighted_sections": {"num_highlights": number(1, 4)},
        "detectable_format:multiple_sections": {"section_spliter": pick(_SPLITTERS), "num_sections": number(1, 4)},
        "combination:repeat_prompt": {"prompt_to_repeat": pick(_PROMPTS)},
        "startend:end_checker": {"end_phrase": pick(_PHRASES)},
        "change_case:capital_word_frequency": {"capital_frequency": number(1, 5), "capital_relation": pick(_RELATIONS)},
        **{name: {} for name in _WITHOUT_KWARGS},
    }  # fmt: skip


_WITHOUT_KWARGS = (
    "detectable_format:constrained_response", "detectable_format:json_format", "detectable_format:title",
    "combination:two_responses", "change_case:english_capital", "change_case:english_lowercase", "punctuation:no_comma",
    "startend:quotation",
)  # fmt: skip


def text_for_ifeval(
    generator: random.Random, responses: Sequence[str], odd: Sequence[str], kwargs: Mapping[str, Any]
) -> str:
    """A text: of pieces, of a recorded response, or near to what one of the instructions asks for."""
    pick, number = generator.choice, generator.randint

    def pieces(most: int = 14) -> str:
        return pick((" ", " ", "", "\n")).join(pick(_PIECES) for _ in range(number(1, most)))

    def recorded() -> str:
        said = pick(responses)
        start = number(0, max(0, len(said) - 1))
        return said[start : start + number(1, 400)]

    def sections() -> str:
        name = kwargs["detectable_format:multiple_sections"]["section_spliter"]
        return "".join(f"{pick(('', ' ', chr(10)))}{name}{pick(('', ' '))}{number(1, 9)}{pieces(3)}" for _ in range(3))

    def paragraphs() -> str:
        first = kwargs["length_constraints:nth_paragraph_first_word"]["first_word"]
        parts = [
            pick(("", " ", first + " ", first.upper() + ", ", first + ".")) + pieces(3) for _ in range(number(1, 5))
        ]
        return pick(("\n\n", "\n\n", "***", "\n\n***\n\n", "******")).join(parts)

    ways: tuple[Callable[[], str], ...] = (
        lambda: pick(odd),
        recorded,
        lambda: pick((str.upper, str.lower))(pick((recorded, pieces))()),
        lambda: kwargs["combination:repeat_prompt"]["prompt_to_repeat"] + pick(("", " ", "\n")) + pieces(4),
        lambda: pieces() + kwargs["startend:end_checker"]["end_phrase"] + pick(("", " ", "\n", '"', ".")),
        lambda: pieces(4) + "\n" + kwargs["detectable_content:postscript"]["postscript_marker"] + pieces(3),
        lambda: pick((" ", "\n", "")).join(['"', pieces(5), '"']).replace(" \n", pick(("", "\n"))),
        lambda: pick(("", "```json\n", "```\n")) + json.dumps(pick(_PIECES)) + pick(("", "\n```", ",")),
        sections,
        *[paragraphs] * 2,
        *[pieces] * 4,
    )
    return pick(ways)()

"""Split an expression into tokens: numbers, letters, commands, words, marks.

``parsing`` decides what the tokens mean together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from calipers.verifiers.expressions.latex import TABLES, names_in_table
from calipers.verifiers.expressions.nodes import UnreadableError
from calipers.verifiers.expressions.units import UNIT_LETTERS

Kind: TypeAlias = Literal["number", "letter", "symbol", "command", "words", "mark"]

LONGEST: Final = 2_000
_MOST: Final = 800


class Token(NamedTuple):
    """A token of an expression. ``spaced`` is True if a space precedes it."""

    kind: Kind
    text: str
    spaced: bool = False


@dataclass(frozen=True, slots=True)
class Choices:
    """How to read notation that is ambiguous, such as a comma between digits or a slash."""

    thousands: bool = False
    units: bool = False
    scientific: bool = False
    single_letters: bool = False
    greedy_slash: bool = False


_TEXT: Final = names_in_table("text")
_DECORATED: Final = names_in_table("decorations")
_VECTORS: Final = names_in_table("vectors")
_PLAIN_DECORATED: Final = names_in_table("plain_decorations")
_ENUMERATED: Final = re.compile(r"-?[\d.,/]+(?:\s*(?:,|;|\band\b|\bor\b|, and|, or)\s*-?[\d./]+)+")
PLAIN_NAMES: Final[Mapping[str, str]] = {**{name: name for name in names_in_table("names")}, **TABLES["other_names"]}
"""The names that may be written without a backslash, each with the command that it means."""
_FUNCTION_FIRST: Final = re.compile(r"(sqrt|sin|cos|tan|cot|sec|csc|log|ln)(?=[a-z]$)")
_JOINTS: Final = frozenset({"and", "or"})
_THOUSANDS: Final = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d])")
_SCIENTIFIC: Final = re.compile(r"(?<![\w.\\])(\d+(?:\.\d+)?)[eE]([-+]?\d{1,3})(?![\w.])")
_SPACED_THOUSANDS: Final = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?: \d{3})+(?![\d])")
_NEXT: Final = re.compile(
    r"(?P<space>\s+)|(?P<repeating>\d*\.\d*\\(?:overline|bar|dot) *\{\d+\})|(?P<number>\d+(?:\.\d+)?|\.\d+)"
    r"|(?P<letters>[A-Za-z]+)|(?P<row>\\\\)|(?P<command>\\[A-Za-z]+)|(?P<fixed>\\[%$#&{}|_]|<=|>=|!=|==|\*\*)"
    r"|(?P<mark>[-+*/^_=<>()\[\]{}|!,;:'%&?])"
)
_FIXED: Final[Mapping[str, tuple[Kind, str]]] = {
    "<=": ("command", "le"), ">=": ("command", "ge"), "!=": ("command", "ne"), "==": ("mark", "="), "**": ("mark", "^"),
    r"\%": ("mark", "%"), r"\$": ("words", "$"), r"\{": ("mark", r"\{"), r"\}": ("mark", r"\}"), r"\|": ("mark", "|"),
}  # fmt: skip
"""The tokens of relations and escaped characters."""


def has_scientific_notation(text: str) -> bool:
    """Whether an ``e`` in a mathematical answer to verify may mean a power of ten."""
    return _SCIENTIFIC.search(text) is not None


def has_thousands_separators(text: str) -> bool:
    """Whether a comma in a mathematical answer to verify may separate thousands."""
    return _THOUSANDS.search(text) is not None


def tokenize(text: str, choices: Choices) -> list[Token]:
    """Return the tokens of a mathematical answer to verify. Raises UnreadableError for an unknown character."""
    if len(text) > LONGEST:
        raise UnreadableError("it is too long")
    if _SPACED_THOUSANDS.fullmatch(text):
        text = text.replace(" ", "")
    if choices.thousands:
        text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    if choices.scientific:
        text = _SCIENTIFIC.sub(r"\1\\cdot 10^{\2}", text)
    found = list(_cut(text, choices))
    if len(found) > _MOST:
        raise UnreadableError("it has too many parts")
    return found


def _cut(text: str, choices: Choices) -> Iterator[Token]:
    place, spaced = 0, False
    while place < len(text):
        found = _NEXT.match(text, place)
        if found is None:
            raise UnreadableError(f"{text[place]!r} is not known here")
        place, kind, said = found.end(), str(found.lastgroup), found[0]
        match kind:
            case "space":
                spaced = True
                continue
            case "repeating" | "number":
                yield Token("number", said, spaced)
            case "letters":
                yield from _letters(said, spaced, choices, alone=said == text.strip())
            case "row":
                yield Token("mark", "\\\\", spaced)
            case "command":
                made, place = _command(said[1:], text, place, spaced=spaced, choices=choices)
                yield from made
            case "fixed" if said in _FIXED:
                yield Token(*_FIXED[said], spaced)
            case "fixed":
                raise UnreadableError(f"'{said}' is not known here")
            case _:
                yield Token("mark", said, spaced)
        spaced = False


def _letters(run: str, spaced: bool, choices: Choices, *, alone: bool) -> Iterator[Token]:  # noqa: FBT001 - likewise
    """Yield the tokens of a run of letters: a name such as ``sin``, a word, or adjacent variables."""
    if run in _JOINTS:
        yield Token("words", run, spaced)
    elif run in PLAIN_NAMES:
        yield Token("command", PLAIN_NAMES[run], spaced)
    elif function := _FUNCTION_FIRST.match(run):
        yield Token("command", function[0], spaced)
        yield Token("letter", run[-1])
    elif is_word(run, alone=alone) or (choices.units and run.lower() in UNIT_LETTERS):
        yield Token("words", run, spaced)
    else:
        for number, letter in enumerate(run):
            yield Token("letter", letter, spaced and not number)


def is_word(run: str, *, alone: bool) -> bool:
    """Whether a run of letters in a mathematical answer to verify is a word and not variables.

    A word has at least four letters, or three if no other letters are next to them.
    """
    steps = [ord(other) - ord(one) for one, other in pairwise(run)]
    if len(run) == 3:
        return alone and not all(step > 0 for step in steps)
    # Letters in alphabetical order are no word: ABCD is a square and wxyz a product.
    return len(run) > 3 and not all(step == 1 or (step > 0 and run.isupper()) for step in steps)


def _command(name: str, text: str, place: int, *, spaced: bool, choices: Choices) -> tuple[list[Token], int]:
    """Return the tokens of a LaTeX command, and the position after the command."""
    if name not in _TEXT and name not in _DECORATED:
        return [Token("command", name, spaced)], place
    inside, after = command_argument(text, place)
    return (_text if name in _TEXT else _decorated)(name, inside, spaced=spaced, choices=choices), after


def _decorated(name: str, inside: str, *, spaced: bool, choices: Choices) -> list[Token]:
    has_digit, has_word = any(map(str.isdigit, inside)), re.search(r"[A-Za-z]{2}", re.sub(r"\\[a-z]+", "", inside))
    if name in _PLAIN_DECORATED and has_digit and not has_word:
        return [Token("mark", "{", spaced), *_cut(inside, choices), Token("mark", "}")]
    content = "".join(inside.split())
    vector = name in _VECTORS and len(content) == 1  # a bold letter or a letter under an arrow
    return [Token("symbol", f"{'vec' if vector else name}({content})", spaced)]


def _text(name: str, inside: str, *, spaced: bool, choices: Choices) -> list[Token]:
    said = " ".join((inside.replace("\\", " ") if "{" not in inside else inside).split())
    if said in ("°", "o"):
        return [Token("mark", "^"), Token("command", "circ")]
    if not said:
        return []
    is_letter = choices.single_letters and len(said.strip(" .")) == 1
    if not any(map(str.isalpha, said)) or _ENUMERATED.fullmatch(said) or is_letter:
        return [Token(one.kind, one.text, one.spaced or spaced) for one in _cut(said, choices)]
    if name in ("mathrm", "mathit", "mathsf", "operatorname"):
        if len(said) == 1:
            return [Token("letter", said, spaced)]
        if said in PLAIN_NAMES:
            return [Token("command", PLAIN_NAMES[said], spaced)]
    return [Token("words", said, spaced)]


def command_argument(text: str, place: int) -> tuple[str, int]:
    """Return the argument of a LaTeX command in an answer to verify, and the position after the argument.

    The argument is in braces or a single character.
    """
    while place < len(text) and text[place].isspace():
        place += 1
    if place >= len(text):
        raise UnreadableError("a command without its argument")
    if text[place] != "{":
        return text[place], place + 1
    depth = 0
    for end in range(place, len(text)):
        if text[end] == "\\" or text[end - 1] == "\\":
            continue
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if not depth:
            return text[place + 1 : end], end + 1
    raise UnreadableError("a brace is not closed")

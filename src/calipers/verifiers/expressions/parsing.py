"""Parse the tokens of an expression into a tree, with the usual precedence of operators, in LaTeX or without.

An expression that cannot be parsed completely raises UnreadableError, because a skipped part could change the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from calipers.verifiers.expressions.latex import names_in_table
from calipers.verifiers.expressions.nodes import (
    MINUS_ONE,
    Call,
    Listed,
    Marked,
    Node,
    Number,
    NumberInBase,
    PlusMinus,
    Power,
    Quotient,
    Relation,
    SetOperation,
    Sum,
    Symbol,
    UnreadableError,
    Words,
    children,
    product_of,
)
from calipers.verifiers.expressions.primaries import DEEPEST, Primaries
from calipers.verifiers.expressions.tokens import Choices, Token, tokenize

_BASES: Final = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_RELATIONS: Final = names_in_table("relations")
_SAME_RELATIONS: Final[Mapping[str, str]] = {"lt": "<", "gt": ">", "rightarrow": "to"}
_JOINS: Final = names_in_table("joins")
_ENDS: Final = _RELATIONS | _JOINS | names_in_table("ends")
_JOINTS: Final[Mapping[str, str]] = {"and": "and", "or": "or", ", and": "and", ", or": "or", "and/or": "or"}


@lru_cache(maxsize=2048)
def parse_expression(text: str, choices: Choices) -> Node:
    """Parse a mathematical answer to verify, in normalised notation, into a tree. Raises UnreadableError."""
    parser = _Parser(text, choices)
    tree = parser.listed()
    parser.require_end()
    level, depth = [tree], 0
    while level:
        level, depth = [child for node in level for child in children(node)], depth + 1
    if depth > DEEPEST:
        raise UnreadableError("it is nested too deeply")
    return tree


class _Parser(Primaries):
    """A recursive-descent parser of expressions."""

    def __init__(self, text: str, choices: Choices) -> None:
        super().__init__(tokenize(text, choices))
        self._greedy_slash = choices.greedy_slash

    # --- lists, relations, sets

    def listed(self, closers: frozenset[str] = frozenset()) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UnreadableError("it is nested too deeply")
        members, joint = [self._relation()], ""
        while (said := self._joint()) is not None:
            if (self._next() is None or self._is(*closers)) and said == ",":
                break  # a trailing comma
            joint = said if said != "," else joint or ","
            members.append(self._relation())
        self._depth -= 1
        if len(members) == 1:
            return members[0]
        return Listed(tuple(members), "or" if joint == "or" else "and" if joint == "and" else ",")

    def _joint(self) -> str | None:
        """Consume a comma, ``and`` or ``or``, and return what joins the answers, or None."""
        said = None
        while (token := self._next()) is not None:
            if token.kind == "mark" and token.text in (",", ";"):
                said = said or ","
            elif token.kind == "words" and _joins(token.text) is not None:
                said = _joins(token.text)
            else:
                break
            self._place += 1
        return said

    def _relation(self) -> Node:
        sides, signs = [self._joined()], []
        while self._is(*_RELATIONS):
            sign = self._take().text
            sign = _SAME_RELATIONS.get(sign, sign)
            if sign in "<>" and self._accept("="):
                sign = "le" if sign == "<" else "ge"
            signs.append(sign)
            sides.append(self._joined())
        return Relation(tuple(sides), tuple(signs)) if signs else sides[0]

    def _joined(self) -> Node:
        left = self._sum()
        while self._is(*_JOINS, kind="command"):
            left = SetOperation(self._take().text, left, self._sum())
        return left

    # --- sums and products

    def _sum(self) -> Node:
        terms = [self._term()]
        while self._is("+", "-", "pm", "mp"):
            terms.append(self._term())
        return terms[0] if len(terms) == 1 else Sum(tuple(terms))

    def _term(self) -> Node:
        negative, both = False, ""
        while self._is("+", "-", "pm", "mp"):
            sign = self._take().text
            negative ^= sign == "-"
            both = sign if sign in ("pm", "mp") else both
        term = self._product()
        if negative:
            term = Number(-term.value, term.places) if isinstance(term, Number) else product_of(MINUS_ONE, term)
        return PlusMinus(term, both == "mp") if both else term

    def _product(self) -> Node:
        made = self._power()
        while (token := self._next()) is not None:
            if self._accept("*", "times", "cdot"):
                made = product_of(made, self._signed())
            elif self._accept("/", "div"):
                below = self._signed()
                while self._greedy_slash and self._starts():
                    below = product_of(below, self._power())
                made = Quotient(made, below)
            elif self._starts():
                before = self._tokens[self._place - 1]
                if token.kind == "number" and before.kind != "words" and before.text != "!":
                    raise UnreadableError("a number follows a factor without a sign between them")
                made = (_mixed if token.text == "frac" else product_of)(made, self._power())
            else:
                break
        return made

    def _signed(self) -> Node:
        r"""Parse a factor that may have a sign of its own, as in ``2 \cdot -3``."""
        return product_of(MINUS_ONE, self._power()) if self._accept("-") else self._power()

    def _starts(self) -> bool:
        """Whether the next token begins a factor."""
        match self._next():
            case Token("words", text):
                return _joins(text) is None
            case Token("number" | "letter" | "symbol"):
                return True
            case Token("mark", text):
                return text in ("(", "[", "{", "\\{") or (text == "|" and not self._bars and not self._sets)
            case Token("command", text):
                return text not in _ENDS
        return False

    # --- powers, subscripts and other suffixes

    def _power(self) -> Node:
        base = self._primary()
        while (token := self._next()) is not None and token.kind == "mark" and self._accept("!", "%", "'", "_", "^"):
            match token.text:
                case "!":
                    if self._is("!"):
                        raise UnreadableError("a double factorial")
                    base = Call("factorial", (base,))
                case "%":
                    base = Marked(base, "percent")
                case "'":
                    base = Symbol(f"{_name_of(base)}'")
                case "_":
                    base = self._lowered(base)
                case "^":
                    base = self._raised(base)
        return base

    def _raised(self, base: Node) -> Node:
        mark = self._text_within() if self._is("{") else ""
        if mark in ("circ", "o", "prime", "\\prime"):
            self._take_until("}")
            return Symbol(f"{_name_of(base)}'") if mark == "prime" else Marked(base, "degree")
        if self._accept("circ"):
            return Marked(base, "degree")
        if self._accept("prime"):
            return Symbol(f"{_name_of(base)}'")
        raised = Power(base, self._script())
        after = self._tokens[self._place + 1 : self._place + 3]
        if self._is("^") and not any(token.text in ("circ", "prime") for token in after):
            raise UnreadableError("a power of a power without brackets")
        return raised

    def _text_within(self) -> str:
        """Return the first three tokens inside the braces that come next."""
        end = self._place + 1
        while end < len(self._tokens) and self._tokens[end].text != "}":
            end += 1
        return "".join(token.text for token in self._tokens[self._place + 1 : end][:3])

    def _lowered(self, base: Node) -> Node:
        """Parse a subscript. After digits it is their base, and after a name it is part of the name."""
        start = self._place
        self._script()
        said = "".join(token.text for token in self._tokens[start : self._place]).strip("{}")
        if not isinstance(base, Number):
            return Symbol(f"{_name_of(base)}_{said}")
        number = _BASES.get(said, int(said) if said.isdecimal() and len(said) < 3 else 0)
        digits = self._tokens[start - 2]
        if digits.kind != "number" or not 2 <= number <= 36:
            raise UnreadableError("a number with a subscript that is not a base")
        return NumberInBase(digits.text.lstrip("0") or "0", number)


def _joins(text: str) -> str | None:
    """Return how a word joins two answers: ``and``, ``or``, or None if it does not join them."""
    return _JOINTS.get(text.strip(" ,").lower())


def _mixed(whole: Node, part: Node) -> Node:
    r"""Return the product of a number and a fraction, except that ``1\frac{4}{5}`` is one and four fifths."""
    match whole, part:
        case Number(value, None), Quotient(Number(above, None), Number(below, None)) if 0 < above < below:
            return Sum((whole, part)) if value >= 0 else product_of(MINUS_ONE, Sum((Number(-value), part)))
        case Number(_, None), Quotient(Number(_, None), Number(_, None)):
            raise UnreadableError("a mixed number with a fraction of one or more")
        case Number(), Marked(Quotient() as below, mark):  # a percent sign follows, as in 33\frac{1}{3}\%
            return Marked(_mixed(whole, below), mark)
    return product_of(whole, part)


def _name_of(node: Node) -> str:
    """Return the name to which a prime or a subscript belongs. Raises UnreadableError for anything but a name."""
    match node:
        case Symbol(name):
            return name
        case Words(text):
            return text
    raise UnreadableError("a prime or subscript after something that is not a name")

"""Parse the smallest parts of an expression: numbers, names, brackets, and commands with their arguments.

This is the lower half of the parser. ``parsing`` handles the operators between these parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from calipers.verifiers.expressions.latex import names_in_table
from calipers.verifiers.expressions.nodes import (
    MINUS_ONE,
    Builder,
    Call,
    Group,
    Listed,
    Matrix,
    Node,
    Number,
    Power,
    Quotient,
    Relation,
    Sum,
    Symbol,
    UnreadableError,
    Words,
    product_of,
)
from calipers.verifiers.expressions.tokens import Token

DEEPEST: Final = 40
_LONGEST_NUMBER: Final = 1_000
_FUNCTIONS: Final = names_in_table("functions")
_SYMBOLS: Final = names_in_table("greek") | names_in_table("constants")
_FIGURES: Final = names_in_table("figures")
_MATRICES: Final = names_in_table("matrices")
_CLOSERS: Final[Mapping[str, frozenset[str]]] = {
    "(": frozenset(")]"),
    "[": frozenset(")]"),
    "{": frozenset("}"),
    "\\{": frozenset({"\\}"}),
    "langle": frozenset({"rangle"}),
}


class Primaries(ABC):
    """Parses the smallest parts of an expression at a position in a list of tokens. Bounded in depth."""

    def __init__(self, found: Sequence[Token]) -> None:
        self._tokens = list(found)
        self._place = 0
        self._depth = 0
        self._bars = 0  # the number of open |...|, in which a bar closes
        self._sets = 0  # whether a set {...} is open, in which a bar separates member and condition

    @abstractmethod
    def listed(self, closers: frozenset[str] = frozenset()) -> Node:
        """Parse relations in an answer to verify, separated by commas or words."""

    @abstractmethod
    def _relation(self) -> Node: ...

    @abstractmethod
    def _signed(self) -> Node: ...

    @abstractmethod
    def _power(self) -> Node: ...

    @abstractmethod
    def _starts(self) -> bool: ...

    # --- tokens

    def _next(self) -> Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _is(self, *texts: str, kind: str | None = None) -> bool:
        token = self._next()
        return token is not None and token.text in texts and (token.kind == kind if kind else token.kind != "words")

    def _accept(self, *texts: str) -> bool:
        """Consume the next token if it is one of ``texts``, and return whether it was."""
        found = self._is(*texts)
        self._place += found
        return found

    def _take(self) -> Token:
        token = self._next()
        if token is None:
            raise UnreadableError("it ends too early")
        self._place += 1
        return token

    def _expect(self, *texts: str) -> Token:
        if not self._is(*texts):
            raise UnreadableError(f"there is no {' or '.join(texts)} where it should be")
        return self._take()

    def _take_until(self, text: str) -> str:
        """Consume all tokens up to and including ``text``, and return the texts before it."""
        taken = ""
        while not self._accept(text):
            taken += self._take().text
        return taken

    def require_end(self) -> None:
        """Raise UnreadableError if any token of the answer to verify is left."""
        if (token := self._next()) is not None:
            raise UnreadableError(f"{token.text!r} is not expected there")

    # --- the smallest parts

    def _primary(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise UnreadableError("it is nested too deeply")
        found = self._smallest()
        self._depth -= 1
        return found

    def _smallest(self) -> Node:
        token = self._next()
        match token:
            case Token("number"):
                return self._number()
            case Token("letter" | "symbol", text):
                self._take()
                return Symbol(text)
            case Token("words", text):
                self._take()
                return Words(text)
            case Token("mark", "(" | "[" | "{" | "\\{"):
                return self._bracketed()
            case Token("mark", "|"):
                return self._absolute()
            case Token("command", name):
                self._take()
                return self._commanded(name)
        raise UnreadableError("it ends too early" if token is None else f"{token.text!r} is not expected there")

    def _number(self) -> Node:
        whole = literal(self._take().text)
        after = self._tokens[self._place : self._place + 3]
        fraction = [one.kind for one in after] == ["number", "mark", "number"] and after[1].text == "/"
        if whole.places is None and fraction and after[0].spaced:  # 1 4/5
            self._place += 3
            return Sum((whole, Quotient(literal(after[0].text), literal(after[2].text))))
        return whole

    def _commanded(self, name: str) -> Node:  # noqa: C901, PLR0911 - one line a command
        match name:
            case "frac":
                return Quotient(self._argument(), self._argument())
            case "binom":
                return Call("binomial", (self._argument(), self._argument()))
            case "sqrt":
                return self._root()
            case "lfloor" | "lceil":
                inside = self.listed()
                self._expect(f"r{name[1:]}")
                return Call(name[1:], (inside,))
            case "langle":
                self._place -= 1
                return self._bracketed()
            case "begin":
                return self._matrix()
            case "boxed":
                return self._argument()
        if name in _FUNCTIONS:
            return self._function(name)
        if name in _FIGURES:
            return self._figure(name)
        if name in _SYMBOLS:
            return Symbol(name)
        raise UnreadableError(f"\\{name} is not known here")

    def _figure(self, name: str) -> Node:
        r"""Parse ``\angle ABC`` as a single name. An angle may be read backwards, a triangle from any corner."""
        in_braces = self._accept("{")
        letters = ""
        while (token := self._next()) is not None and token.kind == "letter" and len(letters) < 3:
            letters += self._take().text
        if in_braces:
            self._expect("}")
        if name == "triangle":
            return Symbol(f"triangle {''.join(sorted(letters))}".strip())
        return Symbol(f"angle {min(letters, letters[::-1])}".strip())

    def _argument(self) -> Node:
        r"""Parse an argument of ``\frac`` or ``\binom``: a group in braces, or a single digit, letter or command."""
        token = self._next()
        if token is not None and token.kind == "number" and len(token.text) > 1:
            if not token.text.isdecimal():
                raise UnreadableError("a fraction without braces")
            self._tokens[self._place] = Token("number", token.text[1:])
            return Number(Fraction(int(token.text[0])))
        return self._primary()

    def _root(self) -> Node:
        index: Node | None = None
        if self._accept("["):
            index = self.listed()
            self._expect("]")
        inside = self._primary()
        return Call("sqrt", (inside,)) if index is None else Call("root", (inside, index))

    def _script(self) -> Node:
        """Parse the text after ``^`` or ``_``: a group in braces, or one token with an optional sign."""
        if self._is("{"):
            return self._bracketed()
        if self._accept("-"):
            return product_of(MINUS_ONE, self._primary())
        self._accept("+")
        return self._primary()

    def _function(self, name: str) -> Node:
        power: Node | None = None
        base: Node | None = None
        while self._is("^", "_"):
            if self._take().text == "_":
                base = self._script()
            else:
                power = self._script()
        if self._is("(", "["):
            inside = self._power()
        else:
            inside = self._signed()
            while self._starts() and not self._is(*_FUNCTIONS, kind="command"):
                inside = product_of(inside, self._power())
        if base is not None and name != "log":
            raise UnreadableError(f"\\{name} with a subscript")
        if power == MINUS_ONE and name in ("sin", "cos", "tan"):
            return Call(f"arc{name}", (inside,))
        made = Call(name, (inside,) if base is None else (inside, base))
        return made if power is None else Power(made, power)

    def _absolute(self) -> Node:
        self._take()
        self._bars += 1
        inside = self.listed()
        self._bars -= 1
        self._expect("|")
        return Call("abs", (inside,))

    def _bracketed(self) -> Node:
        left = self._take().text
        closers, bars, sets = _CLOSERS[left], self._bars, self._sets
        self._bars, self._sets = 0, int(left == "\\{")
        if left == "\\{" and self._accept("\\}"):
            self._bars, self._sets = bars, sets
            return Symbol("emptyset")
        inside = self.listed(closers)
        if left == "\\{" and self._accept("|", "mid", ":"):
            self._sets = 0
            inside = Builder(inside, self.listed(closers))
        elif left == "\\{" and isinstance(inside, Relation) and inside.signs[0] == ":":
            member, *others = inside.sides
            inside = Builder(member, Relation(tuple(others), inside.signs[1:]) if inside.signs[1:] else others[0])
        right = self._expect(*closers).text
        self._bars, self._sets = bars, sets
        return _grouped(left, inside, right)

    def _matrix(self) -> Node:
        self._expect("{")
        name = self._take_until("}")
        if name not in _MATRICES:
            raise UnreadableError(f"\\begin{{{name}}} is not known here")
        if name == "array":
            self._take_until("}")
        rows: list[list[Node]] = [[]]
        while not self._accept("end"):
            rows[-1].append(self._relation())
            if not self._accept("&") and self._accept("\\\\"):
                rows += [] if self._is("end") else [[]]
        self._expect("{")
        self._take_until("}")
        if any(len(row) != len(rows[0]) for row in rows):
            raise UnreadableError("a matrix with rows of different lengths")
        return Matrix(tuple(tuple(row) for row in rows))


def literal(text: str) -> Number:
    """Parse a number in a mathematical answer to verify: whole, decimal, or with repeating digits."""
    if len(text) > _LONGEST_NUMBER:
        raise UnreadableError("a number is too long")
    head, _, rest = text.partition("\\")
    whole, point, decimals = head.partition(".")
    value = Fraction(f"{whole or 0}.{decimals or 0}")
    if rest:
        repeated = rest.partition("{")[2].strip("}")
        return Number(value + Fraction(int(repeated), (10 ** len(repeated) - 1) * 10 ** len(decimals)))
    return Number(value, len(decimals) if point else None)


def _grouped(left: str, inside: Node, right: str) -> Node:
    """Return the node for an expression in brackets: itself, or a point, an interval, a vector or a set."""
    if left == "{" or isinstance(inside, Builder):
        return inside
    members = inside.members if isinstance(inside, Listed) else (inside,)
    if len(members) == 1 and left + right in ("()", "[]"):
        return inside
    return Group(
        "(" if left == "langle" else left.strip("\\"), members, ")" if right == "rangle" else right.strip("\\")
    )

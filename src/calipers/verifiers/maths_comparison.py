r"""Compares two mathematical answers with math-verify. Runs in the sandbox, which stops it if it takes too long.

math-verify says yes or no. Here a no counts only where both answers were read as mathematics over the same variables,
because a right answer that could not be read must not be taken for a wrong one.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import sympy
from latex2sympy2_extended import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify
from sympy.core.function import AppliedUndef

Compared = tuple[bool | None, str]

_CONFIG: Final = LatexExtractionConfig(
    boxed_match_priority=0,
    normalization_config=NormalizationConfig(
        basic_latex=True, units=False, malformed_operators=True, nits=True, boxed="all", equations=False
    ),
)
_WORDS: Final = re.compile(r"\\(?:text(?:bf|rm|it)?|mbox|mathrm)\s*\{([^{}]*)\}(\s*\^\s*(?:\{\s*\d+\s*\}|\d+))?")
_BARE_UNIT: Final = re.compile(r"(?<=\d)\s*([A-Za-z]{2,}(?: [a-z]+)*)\.?$")
_BASE: Final = re.compile(r"(?<=\d)_\s*(?:\{([^{}]*)\}|(\d))")
_JOINED: Final = re.compile(r"\s*,?\s*(?:\\text\s*\{\s*(?:and|or)\s*\}|\b(?:and|or)\b)\s*")
_GAP: Final = r"(?:\\[!,;: ]|~|\s)"
_SPACE: Final = re.compile(rf"(?<!\d){_GAP}|{_GAP}(?!\d)|\\(?:q?quad|left|right|displaystyle)(?![a-zA-Z])")
_THOUSANDS: Final = re.compile(r"(?<=\d)(?:\\[,!; ]|\{,\}|,\\!| )\s*(?=(?:\\!\s*)?\d{3}(?![\d/]))")
_DEGREES: Final = re.compile(r"\^\s*(?:\\circ|\{\s*\\circ\s*\})|\\degree(?![a-z])|°")
_ENVIRONMENT: Final = re.compile(r"\\(?:begin|end|operatorname|mathrm)\s*\{[^{}]*\}")
_REWRITTEN: Final = (
    (re.compile(r"(?<=\d)e([-+]?\d+)(?![\w.])"), r"\\cdot 10^{\1}"),
    (re.compile(r"\\sqrt\s*(\d+)"), r"\\sqrt{\1}"),
    (re.compile(rf"(?<![\w./^])(\d+){_GAP}+(\d+)/(\d+)(?![\w./])"), r"(\1+\\frac{\2}{\3})"),
    (re.compile(r"(\\\\)\s*\[[\d.]+[a-z]+\]"), r"\1"),  # the height of a row of a matrix
)
"""Notations that math-verify does not read, each with one that it reads."""
_LETTERS: Final = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_PERCENT: Final = re.compile(r"\\?%|\s*(?:\\text\s*\{\s*)?\bpercent\b(?:\s*\})?")
_OPTION: Final = re.compile(r"\(?([A-Z])\)?")
_UNREAD: Final = re.compile(
    rf"\?|:|\}}\d\d|\\[dt]?frac\s*\d{{3}}|(?<![\w^])(?<!frac )\d+{_GAP}+\d"
    r"|\\(?:mathbb|emptyset|varnothing|ldots|dots|cdots|overline|bar|equiv|[pb]?mod)(?![a-zA-Z])"
)
_CONSTANT: Final = re.compile(r"(?<![A-Za-z\\])(?:C(?!\()|c_)")
_POINTS: Final = tuple(map(sympy.Rational, ("-137/100", "-61/100", "43/100", "179/100", "314/100")))
_EXACT, _ROUNDED, _CLOSE = 1e-60, 1e-12, 0.02


def compare(expected: str, given: str) -> Compared:
    """Return whether ``given`` equals ``expected``, both bare LaTeX, or None with the reason why that is unknown."""
    gold, text = _plain(expected), _plain(given)
    letters = [_OPTION.fullmatch(side) for side in (gold, text)]
    if gold == text or (gold.isalpha() and len(gold) > 1 and gold.casefold() == text.casefold()):
        met: bool | None = True
    elif not re.search(r"[^\W_]|[{∅∞]", given):
        met = False
    elif gold.replace(",", ".") == text.replace(",", "."):
        met = None  # a decimal comma
    elif letters[0] and letters[1]:
        met = letters[0][1] == letters[1][1]
    else:
        try:
            met = _compare_formulas(expected, given)
        except _UnclearError as unclear:
            return None, str(unclear)
    if met is None:
        return None, f"whether {given!r:.80} equals the expected answer cannot be decided"
    return met, "" if met else f"the answer is {given!r:.80}"


class _UnclearError(Exception):
    """Raised for answers that cannot be compared. The message says why."""


def _compare_formulas(expected: str, given: str) -> bool | None:
    (gold, gold_words), (answer, words) = _without_words(expected), _without_words(given)
    if gold_words and words and gold_words != words:
        raise _UnclearError("the words or units differ")
    for formula, stated in ((gold, expected), (answer, given)):
        if not re.search(r"[\d\\]|^[a-z]$|[-+*/^=!]", formula) or _UNREAD.search(formula):
            raise _UnclearError(f"{stated!r:.80} is not a formula that can be compared")
    bare = [set(_LETTERS.findall(_ENVIRONMENT.sub("", formula))) for formula in (gold, answer)]
    if bare[0] != bare[1]:
        raise _UnclearError("it is stated in words, or in several letters at once")
    if (_DEGREES.search(expected) is None) != (_DEGREES.search(given) is None) and r"\pi" in gold + answer:
        raise _UnclearError("one is in degrees and one perhaps in radians")
    left, right = _read(gold), _read(answer)
    if left is None or right is None:
        raise _UnclearError(f"{expected if left is None else given!r:.80} cannot be read as a formula")
    met = _equal(left, right)
    if not met and gold_words != words and all(isinstance(side, sympy.Expr) for side in (left, right)):
        if ("%" in gold_words) != ("%" in words):
            met = _equal(left, 100 * right) if "%" in gold_words else _equal(100 * left, right)
        met = None if not met and _may_be_units(left, right) else met
    return None if not met and _CONSTANT.search(gold) and _CONSTANT.search(answer) else met


def _may_be_units(left: Any, right: Any) -> bool:
    """Whether two expressions differ as units do, or a word such as million; a letter may be a unit."""
    if any((side / letter).is_number for side in (left, right) for letter in side.free_symbols):
        return True
    one, other = (side.subs(dict.fromkeys(side.free_symbols, 1)) for side in (left, right))
    return bool(one and other and sympy.log(abs(one / other), 1000).is_integer)


def _plain(text: str) -> str:
    return _SPACE.sub("", _WORDS.sub(r"\1\2", _THOUSANDS.sub("", text))).strip("{}.$")


def _without_words(text: str) -> tuple[str, list[str]]:
    """Return a formula without its units, currency, percent sign, number base and other words, and these words."""
    words = ["%"] if _PERCENT.search(text) else []
    text = text.replace("∞", r"\infty ").replace("π", r"\pi ").replace("−", "-")
    text = _PERCENT.sub("", _JOINED.sub(", ", _THOUSANDS.sub("", text)))
    words += ["$"] if r"\$" in text else []
    text = text.replace(r"\$", "")
    for notation, readable in _REWRITTEN:
        text = notation.sub(readable, text)
    text = text.strip().rstrip(".").strip()

    def keep(match: re.Match[str]) -> str:
        word = "".join(part or "" for part in match.groups())
        words.append(re.sub(r"[\s{}~.]|s$", "", word.lower()).replace("dollar", "$"))
        return ""

    for pattern in (_WORDS, _BASE, _BARE_UNIT):
        text = pattern.sub(keep, text).strip()
    if not re.search(r"\\(?:sin|cos|tan|cot|sec|csc)", text):
        text = _DEGREES.sub("", text)
    if text.count(r"\pm") == 1:
        text = ", ".join(text.replace(r"\pm", sign) for sign in "+-")
    return text.strip(), [word for word in words if word and word != "degree"]


def _read(text: str) -> Any:
    parsed = parse(f"\\boxed{{{text}}}", [_CONFIG], fallback_mode="no_fallback", parsing_timeout=None)
    return parsed[0] if parsed and not isinstance(parsed[0], str) else None


def _equal(left: Any, right: Any) -> bool | None:
    if isinstance(left, sympy.Expr) and isinstance(right, sympy.Expr):
        return _equal_expressions(_with_imaginary_unit(left), _with_imaginary_unit(right))
    bounds = [bool(side.atoms(sympy.Rel) - side.atoms(sympy.Eq)) for side in (left, right)]
    if bounds[0] != bounds[1]:
        try:  # an inequality, and perhaps the interval that it describes
            left, right = (side.as_set() if bound else side for side, bound in zip((left, right), bounds, strict=True))
        except (AttributeError, NotImplementedError):
            return None
    if _is_verified(left, right, 12):
        sets = [isinstance(side, sympy.FiniteSet) for side in (left, right)]
        expressions = [isinstance(side, sympy.Tuple | sympy.Expr) for side in (left, right)]
        return None if any(sets) and any(expressions) else True
    names, relations = [_symbols(side) for side in (left, right)], [side.has(sympy.Rel) for side in (left, right)]
    is_expression = isinstance(left, sympy.Expr) or isinstance(right, sympy.Expr)
    perhaps_family = all(names) and (names[0] != names[1] or not (all(relations) or is_expression))
    perhaps_whole = all(bounds) and names[0] | names[1] <= set("ijklmn")
    vectors = (sympy.MatrixBase, AppliedUndef)  # t(1, 2) is read as a function
    perhaps_point = isinstance(left, vectors) != isinstance(right, vectors)
    return None if perhaps_family or perhaps_whole or perhaps_point or _is_verified(left, right, 2) else False


def _is_verified(left: Any, right: Any, digits: int) -> bool:
    return bool(verify(left, right, float_rounding=digits, numeric_precision=30, timeout_seconds=None))


def _symbols(value: Any) -> set[str]:
    return {str(symbol) for symbol in getattr(value, "free_symbols", ())}


def _equal_expressions(left: Any, right: Any) -> bool | None:
    """Compare two expressions at several values of their variables.

    Undecided are rounded numbers that are close, and variables that only one has, if they may be units or constants.
    """
    mine, theirs = _symbols(left), _symbols(right)
    if mine - theirs and theirs - mine:
        return None  # the same answer in other letters, perhaps
    if left.has(sympy.oo) != right.has(sympy.oo):
        return False
    if mine != theirs:
        # Left out may be an added constant, or a factor such as a unit, which doubles the value when it doubles.
        wide, narrow = (left, right) if mine > theirs else (right, left)
        added = _difference(wide, narrow, dict.fromkeys(mine ^ theirs, 0))
        factor = _difference(wide, 2 * narrow, dict.fromkeys(mine ^ theirs, 2))
        return None if any(gap is None or gap < _ROUNDED for gap in (added, factor)) else False
    apart = _difference(left, right, {})
    rounded = bool(left.atoms(sympy.Float) | right.atoms(sympy.Float))
    if apart is not None and apart < (_ROUNDED if rounded else _EXACT):
        return True
    close = rounded and apart is not None and apart < _CLOSE and not (_is_decimal(left) and _is_decimal(right))
    shifted = any(_takes_up_a_difference(str(symbol).lower(), left.diff(symbol)) for symbol in left.free_symbols)
    return None if apart is None or close or shifted else False


def _takes_up_a_difference(letter: str, slope: Any) -> bool:
    """Whether a letter is a constant of integration, or numbers a family, such as 2k + 1 or pi/4 + n pi."""
    is_counted = letter in {"m", "n"} and (slope / sympy.pi).is_Rational
    return bool(slope.is_number and slope and (letter in {"c", "k"} or is_counted))


def _with_imaginary_unit(value: Any) -> Any:
    return value.subs({symbol: sympy.I for symbol in value.free_symbols if str(symbol) == "i"})


def _is_decimal(value: Any) -> bool:
    return bool(value.is_Float or (value.is_Rational and 10**12 % value.q == 0))


def _difference(left: Any, right: Any, fixed: Mapping[str, int]) -> float | None:
    """Return by what part of their size two expressions differ at most, for several values of the other variables."""
    names = sorted((_symbols(left) | _symbols(right)) - set(fixed))
    gaps: list[float] = []
    for turn in range(len(_POINTS) if names else 1):
        values = {name: _POINTS[(turn + place * 2) % len(_POINTS)] for place, name in enumerate(names)} | dict(fixed)
        try:
            exact = [
                side.subs({symbol: values[str(symbol)] for symbol in side.free_symbols}).doit()
                for side in (left, right)
            ]
            if (gap := exact[0] - exact[1]).is_Rational:
                gaps.append(float(gap != 0))
                continue
            a, b = (sympy.N(side, 80) for side in exact)
            size = max(abs(a), abs(b))
            gaps.append(0.0 if size == 0 else float(abs(a - b) / size))
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            continue
    return max(gaps) if gaps and not any(map(math.isnan, gaps)) else None


def warm_up() -> None:
    """Load what the libraries import late, because the sandbox forbids reading files later."""
    logging.disable(logging.CRITICAL)
    forms = (
        "1", "x+1", r"\frac12", r"\{1,2\}", "(1,2)", "x=2", "x<3", r"\sin x", "[0,1)", "3i", r"\ln(x+1)", "0.5", "n!",
        r"\begin{pmatrix}1\\2\end{pmatrix}", r"(-\infty,0]\cup[1,2)", r"1\pm\sqrt{2}", r"\binom{4}{2}", "50\\%",
        r"|x|", r"x\in[1,2]", r"e^{i\pi}", "1,2",
    )  # fmt: skip
    for first, second in pairwise((*forms, *forms[::2])):
        compare(first, second)
        compare(first, f"{first}+0")

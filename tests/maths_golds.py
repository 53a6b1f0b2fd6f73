r"""Answers of mathematical problems as public sets carry them, bare; and ways to write each of them, rightly and
wrongly.

Expressions made up or rebuilt from what such sets contain, by kind. ``right_forms`` writes an answer as models do;
``near_misses`` writes answers that are wrong by one thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

GOLDS: Final[dict[str, tuple[str, ...]]] = {
    "whole": (
        "0", "1", "4", "7", "10", "12", "17", "27", "42", "72", "96", "100", "144", "284", "315", "576", "809", "985",
        "1024", "2220", "13535",
        "-1", "-3", "-50", "-984", "025", "033", "009", "073", "204", "699", "902",
    ),
    "thousands": (
        r"10,\!080", r"11,\! 111,\! 111,\! 100", "58,500", "1,625", "32{,}348", "120,000", "2,600", "1,000,000",
        r"6{,}227{,}020{,}800", r"14,\!916", r"8\,192",
    ),
    "decimal": ("3.21", "0.15", ".35625", ".0000672", "326.5", "1.25", "4.5", "7.75", "0.5", "-0.25", "2.8", "18.90",
                "5.48", "102.3", r"0.\overline{12}"),
    "fraction": (
        r"\frac{14}{3}", r"\frac{3}{56}", r"\frac 34", r"\frac9{19}", r"\frac14", r"\dfrac{17}{50}", r"-\frac{35}{9}",
        r"-\frac{24}{25}", r"\frac{1997}{2}",
        r"\frac{448}{15625}", r"\frac{639}{40}", r"\frac{243}{625}", r"\frac{2}{1005}", r"\tfrac{5}{13}", "3/8",
        r"\frac{3840}{289}", r"\frac65",
        r"\frac{1}{576}", r"\frac{11}{36}", r"\frac{9}{256}",
    ),
    "mixed number": (r"1\frac{4}{5}", r"137 \frac{1}{2}", r"2\frac58", r"6\frac23", r"3\frac{1}{7}"),
    "root": (
        r"3\sqrt{13}", r"2\sqrt{113}", r"11\sqrt2", r"\sqrt{51}", r"70 \sqrt{2}", r"\frac{3\sqrt{3}}{4}",
        r"\frac{\sqrt{21}}{5}", r"1+2\sqrt{3}",
        r"11 \sqrt{5} + 11", r"-\sqrt{3}", r"\frac{\sqrt3}2", r"2-\sqrt{3}", r"\frac{9\sqrt{23}}{23}",
        r"\sqrt{23}-2\sqrt{3}", r"8\sqrt{10}", r"\sqrt[3]{2}",
        r"\frac{-1+\sqrt{17}}{2}", r"\sqrt{113}-\sqrt{65}", r"6\sqrt{2}+4\sqrt{3}", r"\frac{1+\sqrt{5}}{4}", r"2^{1/3}",
        r"\sqrt{2+\sqrt{3}}", r"5\sqrt[3]{4}",
        r"\frac{4\sqrt{2}-\sqrt{7}}{3}", r"\sqrt{6}",
    ),
    "pi, e and logarithms": (
        r"\pi", r"12\pi", r"7\pi", r"18+2\pi", r"\frac{20000}{\pi}", r"-\frac{\pi}{6}", r"288 \pi", r"\frac{3\pi}{10}",
        r"1-\frac{2}{\pi}", r"\frac{\pi^2}{6}",
        r"e^{-1}", r"e", r"\ln 2", r"\log_2 3", r"\frac{1}{2}\ln 3", r"e^2-1", r"\frac{e-1}{2}", r"2\pi-3\sqrt{3}",
        r"\frac{\ln 5}{4}", r"\sin 20^\circ",
        r"\tan\frac{\pi}{7}", r"\arctan\frac{1}{3}", r"1+\cos 36^\circ",
    ),
    "large": (
        "2^{99}", r"2^{25} \cdot 26!", r"\binom{2024}{1012}", r"\frac{1}{2^{2025}}", r"3^{100}-2^{100}",
        r"\frac{100!}{50!}", r"10^{27}+1", r"1.5 \times 10^{8}",
        r"\frac{2^{30}-1}{3}", r"5 \cdot 7^{11}",
    ),
    "polynomial": (
        "5r^5", "2k", "2k+2", "-13x+3", "x^3+3x-6", "6r^2-4r-24", "8n^2 + 4n + 1", "x^5 - x^4 + x^3 - x^2 + x - 1",
        "15x - 80", "3R^2", "(a+5)(b+2)",
        "p - q", "x^8 + x^7 + x^6 + x^5 + x^4 + x^3 + x^2 + x + 1", "(x-3)(x+4)", "2x^2-5xy+3y^2", "a^{6}",
        "ab+ab^{2}+b", "x-4", "4(x+y)", "n(n+1)", "12y^3-3y",
        "z^4 + 6", "2(x+1)^2", "10t^2 - t", "-3(x-2)(x+5)",
    ),
    "in variables": (
        r"\frac{11+9a}{20}", r"\cot x", r"\frac{x+1}{x-1}", r"\sqrt{x^2+y^2}", r"\frac{n(n+1)}{2}", r"2\cos x",
        r"\frac{1}{1-x}", r"e^{2x}", r"\ln(x+1)", r"\sin^2 x",
        r"x^{3/2}", r"2^{n-1}", r"\frac{abc}{a+b+c}", r"\sec x", r"\binom{n}{2}", r"\frac{a^2}{b}", r"n!",
        r"\frac{1}{2x}", r"|x-3|", r"\tan^2\theta",
        r"\frac{\sqrt{a}}{b}", r"3^{2n+1}", r"\frac{q^2-1}{q}",
    ),
    "complex": ("6 - 5i", "6+9i", "-2 + 7i", "1 - 12i", "1+274i", "-i", r"-1-\sqrt{3}i", r"\frac{1+i\sqrt{3}}{2}",
                "4+i", r"3e^{i\pi/4}", "2i", r"\frac{3}{5}-\frac{4}{5}i"),
    "point": (
        r"\left( 3, \frac{\pi}{2} \right)", "(6,31,-1)", "(1,-16,-4,43)", r"\left( \frac{3}{2}, -13 \right)",
        "(15,-29)", "(-2,1)", "(8,-2)", "(0,5)", r"(\sqrt{2},3)",
        r"\left(-\frac53,0\right)", "(2, 12, 10)", "(a,-b)", "(4,-5,1)", r"\left(\frac{1}{2},\frac{3}{4},-2\right)",
        r"(2\sqrt{3},6)",
    ),
    "interval": (
        r"[0,1) \cup (2,3]", r"(-\infty, 2) \cup (3, \infty)", r"(0,9) \cup (9,36)", r"(5,\infty)", r"(-\infty, 0]",
        "(3,4]", r"[-2,7]", r"[1,+\infty)",
        r"\left(\frac{3}{5},\frac{8}{3}\right]", r"\left[ \frac{\pi^2}{8}, \frac{5 \pi^2}{4} \right]",
        r"(-\infty, 0)\cup(0,1)\cup(1,+\infty)", r"[-\sqrt{2},\sqrt{2}]",
        r"(2,12) \cup (12,102)", "[2,3)", r"\left[-\frac{1}{2},4\right)", r"(-\infty,-1]\cup[6,\infty)",
    ),
    "bounds": (r"x \in [-2,7]", r"x > 5", r"x \le -3", r"-2 \le x \le 7", r"1 < x < 4", r"0 \leq a < 1",
               r"x \geq \frac{1}{2}", r"x<2 \text{ or } x>3", r"\{x|-2\leq x < 1\}", r"y \ge 3"),
    "set": (r"\{1,3,5\}", r"\{0,2,4,6,8\}", r"\{-2\}", r"\{1\pm\sqrt{5},-2\}", r"\left\{\frac{1}{2},3\right\}",
            r"\{-1,1\}", r"\{2,\sqrt{7}\}", r"\{4,9,16\}"),
    "list": (
        "1,-2", "-2,1", "3, 5, 7", r"2, -2, \frac{1}{2}, -\frac{1}{2}", "0.05, 0.6",
        r"\frac{-1+\sqrt{17}}{2}, \frac{-1-\sqrt{17}}{2}", r"4 \text{ and } 9", "5, 12, 13, 14",
        r"\sqrt{2}, \sqrt{3}", r"(1,2), (2,1)", r"i, -i", r"x=2, x=5",
    ),
    "plus or minus": (r"1 \pm \sqrt{19}", r"3 \pm 2 \sqrt{2}", r"\pm 4", r"\frac{-3 \pm \sqrt{5}}{2}",
                      r"\pm\frac{1}{3}", r"2 \pm 3i", r"\pm\sqrt{11}"),
    "equation": (
        "x=5", "y = 2x + 3", "y = -2x", "5x - 7y + 11z + 4 = 0", r"f(x)=-\frac25 x + 13", "y=-2x+5",
        r"\frac{x^{2}}{2} - \frac{y^{2}}{4}=1", "x^2+y^2=25", "C(h)=4h+4",
        r"y=\frac{e}{4}x+\frac{e}{4}", "2x - 3y = 6", r"x = \frac{7}{2}", "(x-1)^2+(y+2)^2=9", "a = 3b",
    ),
    "matrix": (
        r"\begin{pmatrix} -18 \\ -49 \\ 96 \end{pmatrix}", r"\begin{pmatrix} -1 & 0 \\ 0 & -1 \end{pmatrix}",
        r"\begin{pmatrix} 1/5 \\ -18/5 \end{pmatrix}",
        r"\begin{pmatrix} 16/49 \\ 48/49 \\ 24/49 \end{pmatrix}", r"\begin{pmatrix} 2 & 3 \\ 5 & 7 \end{pmatrix}",
        r"\begin{bmatrix} 4 \\ 1 \end{bmatrix}",
        r"\begin{pmatrix} \frac{1}{2} & \sqrt{3} \\ -1 & 8 \end{pmatrix}",
    ),
    "measure": (
        r"10\text{ cm}", r"15\mbox{ cm}^2", r"864 \mbox{ inches}^2", r"5.4 \text{ cents}", r"25\text{ square units}",
        r"60\text{ miles per hour}", r"3 \text{ hours}",
        r"12\mathrm{~kg}", r"\frac{1}{2}\text{ mile}", r"7\text{ days}", r"576\pi\text{ m}^2",
        r"36\sqrt{7}\text{ cm}^{3}", r"48\text{ feet}", r"2.5\text{ liters}", r"4 \text{ students}",
        r"9.8\,\text{m/s}^2",
    ),
    "money": (r"\$18.90", r"\$32,\!348", r"\$36", r"\$2.50", r"\$1{,}250", r"45\text{ dollars}"),
    "percent": (r"5.3\%", r"1.1\%", r"50\%", r"12.5\%", r"33\frac{1}{3}\%", r"250\%"),
    "angle": (r"90^\circ", r"106^\circ", r"180^\circ", r"\frac{270}7\text{ degrees}", r"67.5^{\circ}", r"-45^\circ",
              r"30^\circ"),
    "base": ("2516_8", "204_5", "4210_{5}", "40_9", "52_8", "11111_2", "4343_6", "1001_{2}", r"212_{\text{three}}"),
    "words": (
        r"\text{Evelyn}", r"\text{Navin}", r"\text{east}", r"\text{ellipse}", r"\text{even}", r"\text{odd}",
        r"\text{necessary but not sufficient}", r"\text{parabola}", r"\text{Tuesday}",
        r"\text{hyperbola}", r"\text{No}", r"\text{yes}", r"\text{two lines}", "east", "Saturday", r"\text{circle}",
        r"\text{red}", r"\text{Alice and Bob}",
    ),
    "option": (r"\text{(B)}", r"\text{(C)}", r"\text{(E)}", "A", "B", "C", "D", "(A)", r"\text{D}", r"\mathrm{(A)}",
               r"\textbf{(D)}"),
    "time": ("6:00 PM", "1:58 am", "5am", r"3\!:\!15\text{ p.m.}", r"\text{10:45 a.m.}"),
    "ratio": ("3:1", "2 : 5", "4:3:2", "16:9"),
}  # fmt: skip

_WORDS: Final = ("Evelyn", "Navin", "east", "west", "ellipse", "circle", "even", "odd", "parabola", "hyperbola",
                 "Monday", "Tuesday", "no", "yes", "Carol", "red", "blue")  # fmt: skip
_UNITS: Final = {
    "cm": ("m", "mm", "km", "inches", "kg"), "inches": ("feet", "cm", "miles", "m", "yards"),
    "cents": ("dollars", "euros", "cm", "years", "kg"), "square units": ("cm", "m", "hours", "kg", "dollars"),
    "miles per hour": ("kilometers per hour", "miles", "hours", "feet per second", "km"),
    "hours": ("minutes", "seconds", "days", "weeks", "meters"),
    "~kg": ("~g", "~mg", "~cm", "~m", "~km"), "mile": ("yard", "foot", "km", "m", "hour"),
    "days": ("hours", "weeks", "years", "minutes", "m"), "m}": ("cm}", "km}", "feet}", "kg}", "mm}"),
    "feet": ("inches", "yards", "m", "miles", "hours"), "liters": ("ml", "m", "gallons", "kg", "cups"),
    "dollars": ("cents", "euros", "kg", "m", "hours"), "m/s": ("m", "km/h", "cm/s", "s", "kg"),
}  # fmt: skip
_OTHER_BRACKETS: Final = {"(": "[", "[": "(", ")": "]", "]": ")"}


_KINDS: Final = (
    ("option", r"(?:\\[a-z]+\{)?\(?[A-J]\)?\}?"), ("words", r"\\text\{[A-Za-z ]+\}|[A-Za-z]{4,}"),
    ("time", r".*\d\s*[ap]\.?m\.?" ), ("matrix", r".*\\begin.*"), ("plus or minus", r".*\\pm.*"),
    ("measure", r".*\\(?:text|mbox|mathrm).*|.*\dcm.*"), ("money", r".*\\\$.*"), ("percent", r".*%"),
    ("angle", r".*\\circ.*"), ("base", r"\d+_.*"), ("bounds", r".*(?:\\in |\\in\b(?!f)|<|>|\\leq? |\\geq? ).*"),
    ("equation", ".*=.*"), ("set", r"\\\{.*|\\left\\\{.*"), ("interval", r".*(?:\\infty|\\cup).*|(?:\\left)?\[.*|.*\]"),
    ("point", r"(?:\\left)?\(.*,.*\)"), ("whole", r"-?\d+"), ("decimal", r"-?\d*\.\d+"),
    ("thousands", r"\d{1,3}(?:,(?:\\! ?)?\d{3})+"), ("list", r".*,.*"), ("mixed number", r"-?\d+ ?\\frac.*"),
    ("fraction", r"-?\\[dt]?frac ?(?:\{?\d+\}? ?){2}"), ("root", r".*\\sqrt.*"),
    ("complex", r".*(?<![a-z])i(?![a-z]).*"),
    ("pi, e and logarithms", r".*\\pi.*"),
)  # fmt: skip


def kind_of(gold: str) -> str:
    """The kind that a gold of somebody else's is treated as: the first whose form it has."""
    return next((kind for kind, form in _KINDS if re.fullmatch(form, gold, re.DOTALL)), "polynomial")


# --- written rightly


def right_forms(kind: str, gold: str) -> Iterator[str]:
    """Texts whose answer is ``gold``."""
    yield f"\\boxed{{{gold}}}"
    yield f"So the answer is $\\boxed{{{gold}}}$."
    yield f"We find 17 and $x^2+1$ on the way.\n\n\\[\n\\boxed{{ {gold}. }}\n\\]\nThat is all."
    yield f"**Final Answer:** \\(\\boxed{{{gold}}}\\)"
    yield (
        f"First I thought $\\boxed{{7123}}$, but after checking every step again it has to be corrected to this: "
        f"$\\boxed{{{gold}}}$"
    )
    for other in dict.fromkeys(_respelled(kind, gold)):
        if other != gold:
            yield f"The result is $\\boxed{{{other}}}$"


def _respelled(kind: str, gold: str) -> Iterator[str]:
    """The same answer, written otherwise."""
    yield gold.replace(r"\frac", r"\dfrac") if r"\dfrac" not in gold and r"\tfrac" not in gold else gold
    yield gold.replace(r"\dfrac", r"\frac").replace(r"\tfrac", r"\frac")
    yield re.sub(r"\\[dt]?frac\s*(\d)\s*(\d)(?!\d)", r"\\frac{\1}{\2}", gold)
    yield re.sub(r"\\sqrt(\d)", r"\\sqrt{\1}", gold)
    yield re.sub(r"(?<!\\)([-+=])", r" \1 ", gold)
    yield gold.replace(r"\left", "").replace(r"\right", "")
    yield (
        re.sub(
            r"(?<!\\left)(?<!\\right)(?<!\\)([()\[\]])",
            lambda m: (r"\left" if m[1] in "([" else r"\right") + m[1],
            gold,
        )
        if _paired(gold)
        else gold
    )
    if kind not in ("thousands", "money"):
        yield re.sub(r",\s*(?!\\!)", r",\\ ", gold)
        yield re.sub(r",\s*(?!\\!)", ", ", gold)
    yield (
        re.sub(r"\\[dt]?frac\{(-?\d+)\}\{(\d+)\}", r"\1/\2", gold)
        if kind in ("fraction", "point", "list", "set", "interval")
        else gold
    )
    yield gold.replace(r"\cdot", r"\times")
    yield gold.replace(r"\le ", r"\leq ").replace(r"\ge ", r"\geq ")
    yield f"\\displaystyle {gold}"
    yield f"{{{gold}}}"
    yield from _OTHERWISE[kind](gold) if kind in _OTHERWISE else ()


def _paired(gold: str) -> bool:
    return (
        r"\left" not in gold
        and r"\begin" not in gold
        and r"\sqrt[" not in gold
        and gold.count("(") + gold.count("[") == gold.count(")") + gold.count("]")
    )


def _numbers_otherwise(gold: str) -> Iterator[str]:
    if gold.lstrip("-").isdigit():
        yield gold + ".0"
        yield f"x = {gold}"
        yield f"{int(gold)}"
        yield f"\\frac{{{2 * int(gold)}}}{{2}}"


def _thousands_otherwise(gold: str) -> Iterator[str]:
    digits = re.sub(r"\D", "", gold)
    for part in ("", ",", "{,}", r",\!", r"\,"):
        yield f"{int(digits):,}".replace(",", part)


def _units_otherwise(gold: str) -> Iterator[str]:
    yield re.sub(r"\\(?:text|mbox|mathrm)\{[ ~]*", r"\\,\\mathrm{", gold)
    yield re.sub(r"\\(?:text|mbox|mathrm)\{[ ~]*", r"~\\text{", gold)
    yield (
        gold.replace(" cm}^2", " square centimeters}")
        .replace("inches}^2", "in}^2")
        .replace("miles per hour", "mph")
        .replace("hours", "hr")
    )


def _polynomial_otherwise(gold: str) -> Iterator[str]:
    yield f"2({gold})-({gold})"
    yield f"{gold}+0"
    yield gold.replace("^{6}", "^6").replace("r^5", "r^{5}")


def _interval_otherwise(gold: str) -> Iterator[str]:
    if "cup" in gold:
        yield r" \cup ".join(reversed(gold.split(r"\cup")))
        yield gold.replace(r"\cup", "∪")
    yield gold.replace(r"\infty", "∞")
    yield f"x \\in {gold}"


def _list_otherwise(gold: str) -> Iterator[str]:
    if "(" not in gold and "text" not in gold and "x=" not in gold and r"\{" not in gold:
        parts = [part.strip() for part in gold.split(",")]
        yield r" \text{ and } ".join(parts) if len(parts) == 2 else ", ".join(parts)
        if "i" not in re.sub(r"\\[a-z]+", "", gold):
            yield ", ".join(reversed(parts))


def _signs_otherwise(gold: str) -> Iterator[str]:
    plus, minus = (re.sub(r"^\s*\+\s*", "", gold.replace(r"\pm", sign)) for sign in "+-")
    yield f"{plus}, {minus}"
    yield f"{minus} \\text{{ or }} {plus}"
    yield f"x = {gold}"


def _equation_otherwise(gold: str) -> Iterator[str]:
    left, right = gold.split("=", 1)
    yield f"{right} = {left}"
    yield f"{left} - ({right}) = 0"
    if left.strip() in ("x", "y", "a"):
        yield right.strip()


def _words_otherwise(gold: str) -> Iterator[str]:
    said = re.sub(r"\\text\{(.*)\}", r"\1", gold)
    yield said
    yield rf"\text{{{said}.}}"
    yield rf"\textbf{{{said}}}"
    yield rf"\mathrm{{{said}}}"
    yield rf"\text{{{said.upper()}}}"


def _option_otherwise(gold: str) -> Iterator[str]:
    letter = re.sub(r"\\[a-z]+|[^A-J]", "", gold)
    yield from (
        letter,
        f"({letter})",
        rf"\text{{{letter}}}",
        rf"\textbf{{({letter})}}",
        rf"\text{{({letter})}}",
        f"{letter}.",
        rf"\mathrm{{{letter}}}",
        rf"\textbf{{({letter})}}\ 5",
    )


_OTHERWISE: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    "whole": _numbers_otherwise,
    "thousands": _thousands_otherwise,
    "decimal": lambda gold: iter((gold + "0" if "over" not in gold else gold,
                                  "0" + gold if gold.startswith(".") else gold)),
    "measure": _units_otherwise,
    "polynomial": _polynomial_otherwise,
    "interval": _interval_otherwise,
    "list": _list_otherwise,
    "plus or minus": _signs_otherwise,
    "equation": _equation_otherwise,
    "words": _words_otherwise,
    "option": _option_otherwise,
    "root": lambda gold: iter((re.sub(r"\\sqrt\{(\d+)\}", r"(\1)^{1/2}", gold), gold.replace(r"\sqrt{", r"\sqrt {"),
                               f"({gold})")),
    "matrix": lambda gold: iter((gold.replace("pmatrix", "bmatrix"), gold.replace(r" \\ ", r"\\"),
                                 gold.replace(r" \\ ", r"\\[2pt] "))),
    "angle": lambda gold: iter((gold.replace(r"^\circ", r"^{\circ}"), gold.replace(r"^\circ", "°"),
                                gold.replace(r"^\circ", r"\text{ degrees}"), gold.replace(r"^\circ", ""))),
    "base": lambda gold: iter((re.sub(r"_(\d)$", r"_{\1}", gold), re.sub(r"_\{(\d)\}$", r"_\1", gold))),
    "percent": lambda gold: iter((gold.replace(r"\%", "%"), gold.replace(r"\%", r"\text{ percent}"))),
    "money": lambda gold: iter((gold.replace(r"\$", "") + r"\text{ dollars}" if r"\$" in gold else gold,
                                gold.replace(r",\!", ","))),
    "complex": lambda gold: iter((f"0+{gold}", f"z = {gold}")),
    "time": lambda gold: iter((gold.replace("PM", r"\text{ p.m.}"), gold.replace(" PM", r"\ \text{PM}"))),
    "in variables": lambda gold: iter((f"({gold})", f"1 \\cdot {gold}")),
}  # fmt: skip


# --- written wrongly


def near_misses(kind: str, gold: str) -> list[str]:
    """Different answers, each wrong by one thing: what stands in the box."""
    found = dict.fromkeys(one for one in _wrong(kind, gold) if _form(one) != _form(gold) and one.strip())
    return list(found)


def _form(text: str) -> str:
    """What is left of a text without what sets it, to tell a change from none."""
    return re.sub(r"\\left|\\right|\\[!,; ]|[{}\s]|\\[dt](?=frac)", "", text)


def _wrong(kind: str, gold: str) -> Iterator[str]:
    if kind == "words":
        yield from _other_words(gold)
        return
    if kind == "option":
        letter = re.sub(r"\\[a-z]+|[^A-J]", "", gold)
        for other in "ABCDEFGHIJKLMNOP":
            if other != letter:
                yield from (other, rf"\text{{({other})}}")
        yield f"{letter} \\text{{ or }} {'A' if letter != 'A' else 'B'}"
        return
    yield from _other_digits(gold)
    yield from _dropped(kind, gold)
    yield from _other_signs(kind, gold)
    yield from _other_letters(gold)
    yield from _other_brackets(kind, gold)
    yield from _other_units(gold)
    yield from _other_members(kind, gold)
    yield from _scaled(kind, gold)
    yield from (
        r"\text{none of these}",
        r"\text{no solution}",
        r"\text{zebra}",
        "?",
        "7919",
        r"-\frac{1}{7919}",
        r"7919\pi",
        "q^{7919}",
        "(7919, 1)",
        r"\{7919\}",
        "[7919, 8000)",
        "0.7919",
        r"\infty",
    )


def _other_words(gold: str) -> Iterator[str]:
    said = re.sub(r"\\text\{(.*)\}", r"\1", gold)
    for word in _WORDS:
        if word.lower() != said.lower() and word.lower() not in said.lower().split():
            yield rf"\text{{{word}}}"
    for place in range(min(len(said), 6)):
        yield rf"\text{{{said[:place]}{said[place + 1 :]}}}"
    yield from (rf"\text{{not {said}}}", rf"\text{{{said} or west}}", "5", "x", f"{said}ish", r"\text{neither}")


def _other_digits(gold: str) -> Iterator[str]:
    """Each number with one digit changed, one left out and one more."""
    body = _without_commands(gold)
    for found in list(re.finditer(r"\d+", body))[:8]:
        number, start, end = found[0], found.start(), found.end()
        for place in range(len(number)):
            for step in (1, 3, 7):
                other = number[:place] + str((int(number[place]) + step) % 10) + number[place + 1 :]
                yield gold[:start] + other + gold[end:]
        if len(number) > 1 and not gold[end:].startswith(("_", "}")) and number.lstrip("0") != number[:-1].lstrip("0"):
            yield (
                gold[:start] + number[:-1] + gold[end:]
                if not (_in_decimals(gold, start) and number.endswith("0"))
                else gold
            )
        if not _in_decimals(gold, start):
            yield gold[:start] + number + "0" + gold[end:] if int(number) else gold
        yield gold[:start] + number + "1" + gold[end:]


def _in_decimals(gold: str, start: int) -> bool:
    return gold[:start].endswith(".")


def _without_commands(gold: str) -> str:
    r"""``gold`` with the digits of ``\frac34`` where they are, and nothing else changed: places stay the same."""
    return gold


def _dropped(kind: str, gold: str) -> Iterator[str]:
    """A coefficient, an exponent, a root, a constant, a denominator or a term left out; or the first number alone."""
    for pattern, other in (
        (r"(?<![\d.^_{])\d+\s*(?=\\sqrt|\\pi|[a-zA-Z](?!\w*\}))", ""), (r"\^\{?-?\d+\}?", ""), (r"\\sqrt(?=\{|\d)", ""),
        (r"\\pi", ""), (r"\\sqrt\{[^{}]*\}", "1"),
        (r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r"\\frac{\2}{\1}"), (r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1"),
        (r"[-+]\s*\d+\s*$", ""), (r"^[^-+(){}\\=]+(?=[-+])", ""),
        (r"(?<=\d)[a-zA-Z](?![a-zA-Z}])", ""), (r"\\(?:sin|cos|tan|ln|cot|sec)", ""), (r"!", ""), (r"\|", ""),
    ):  # fmt: skip
        if kind in ("measure", "money", "time", "base", "angle") and "\\" not in pattern:
            continue
        if kind in ("measure", "money", "percent", "angle", "interval", "mixed number") and pattern.startswith(
            "(?<![\\d.^_{])"
        ):
            continue
        changed = re.sub(pattern, other, gold, count=1)
        if changed.strip() and not _is_half_a_list(kind, changed):
            yield changed
    first = re.search(r"-?\d+(?:\.\d+)?", gold)
    if first and kind not in ("whole", "decimal", "measure", "money", "percent", "angle", "base", "equation", "time",
                              "thousands", "fraction") and not re.fullmatch(r"-?[\d.]+", gold):  # fmt: skip
        yield first[0]


def _is_half_a_list(kind: str, text: str) -> bool:
    return (
        text.rstrip().endswith(("=", ","))
        or text.count("{") != text.count("}")
        or (kind == "equation" and "=" not in text)
    )


def _other_signs(kind: str, gold: str) -> Iterator[str]:
    body = gold.strip()
    if kind not in (
        "words",
        "plus or minus",
        "equation",
        "option",
        "list",
        "set",
        "bounds",
        "time",
        "ratio",
        "base",
    ) and re.sub(r"[0.\s]", "", body):
        if body.startswith("-") and not re.search(r"[+-]", body[1:]):
            yield body[1:]
        elif not body.startswith(("-", "(", "[", "\\left", "\\begin", "\\$")):
            yield f"-({body})" if re.search(r"[+-]", body) else f"-{body}"
    for found in list(re.finditer(r"(?<=[\w}) ])[-+](?=\s*[\w\\(])", body))[:6]:
        place = found.start()
        yield body[:place] + ("-" if body[place] == "+" else "+") + body[place + 1 :]
    if r"\pm" in body:
        yield body.replace(r"\pm", "+")
        yield body.replace(r"\pm", "-")


def _other_letters(gold: str) -> Iterator[str]:
    """Each variable as another letter."""
    bare = re.sub(r"\\(?:text|mbox|mathrm|begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+", lambda found: "#" * len(found[0]), gold)
    for letter in sorted(set(re.findall(r"(?<![A-Za-z])[a-zA-Z](?![A-Za-z])", bare))):
        for other in "wvu" if "|" not in gold or r"\{" not in gold else "":
            if other != letter:
                yield "".join(
                    other if one == letter and hidden != "#" else one for one, hidden in zip(gold, bare, strict=True)
                )
    if r"\pi" in gold:
        yield gold.replace(r"\pi", "e")


def _other_brackets(kind: str, gold: str) -> Iterator[str]:
    if kind not in ("interval", "bounds", "point"):
        return
    for place, character in enumerate(gold):
        infinite = re.search(r"\\infty\s*(?:\\right)?$", gold[:place]) or re.match(
            r"\s*[-+]?\\infty", gold[place + 1 :]
        )
        if (
            character in _OTHER_BRACKETS
            and not infinite
            and (kind != "point" or place in (0, len(gold) - 1))
            and (kind != "point" or gold.count(",") == 1)
        ):
            yield gold[:place] + _OTHER_BRACKETS[character] + gold[place + 1 :]
    for one, other in (
        (r"\le ", "< "),
        ("> ", r"\ge "),
        ("< ", r"\le "),
        (r"\leq", "<"),
        (r"\geq", ">"),
        (r"\ge ", "> "),
        (r"\cup", r"\cap"),
    ):
        if one in gold:
            yield gold.replace(one, other, 1)


def _other_units(gold: str) -> Iterator[str]:
    for unit, others in _UNITS.items():
        if unit in gold and r"\text{" + unit not in gold.replace(" ", "") + "x":
            pass
        if re.search(rf"[{{~ ]{re.escape(unit)}" if unit[0] != "~" else re.escape(unit), gold):
            for other in others:
                yield gold.replace(unit, other, 1)
            break


def _other_members(kind: str, gold: str) -> Iterator[str]:
    """Members of points and lists swapped, left out, or one too many."""
    bare = re.sub(r"\\left|\\right", "", gold).strip()
    inner = (
        bare[1:-1]
        if kind == "point" or (kind == "interval" and "cup" not in bare)
        else bare[2:-2]
        if bare.startswith(r"\{")
        else bare
    )
    if kind == "point":
        parts = [part.strip() for part in inner.split(",")]
        for place in range(len(parts) - 1):
            if parts[place] != parts[place + 1]:
                swapped = [*parts[:place], parts[place + 1], parts[place], *parts[place + 2 :]]
                yield f"({', '.join(swapped)})"
        yield f"({', '.join(parts[:-1])})" if len(parts) > 2 else parts[0]
        yield f"({', '.join([*parts, '0'])})"
        yield f"\\{{{', '.join(parts)}\\}}" if len(parts) > 2 else parts[-1]
    if kind in ("list", "set") and "(" not in inner and "text" not in inner and r"\pm" not in inner:
        parts = [part.strip() for part in inner.split(",")]
        opening, closing = (r"\{", r"\}") if kind == "set" else ("", "")
        if len(parts) > 1:
            for place in range(len(parts)):
                yield opening + ", ".join(parts[:place] + parts[place + 1 :]) + closing
        yield opening + ", ".join([*parts, "77"]) + closing
    if kind not in (
        "point",
        "list",
        "set",
        "interval",
        "bounds",
        "plus or minus",
        "ratio",
        "time",
        "equation",
        "matrix",
    ):
        yield f"{gold} \\text{{ or }} 77"
        yield f"77, {gold}"
        yield f"({gold}, 1)"


def _scaled(kind: str, gold: str) -> Iterator[str]:
    if kind in (
        "whole",
        "decimal",
        "fraction",
        "root",
        "pi, e and logarithms",
        "complex",
        "polynomial",
        "in variables",
        "large",
    ) and re.sub(r"[0.\s]", "", gold):
        for factor in (2, 10, 100):
            yield f"{factor} \\cdot ({gold})"
        yield f"({gold}) + 1"
        yield f"({gold}) - 1"
        yield f"\\frac{{{gold}}}{{2}}"
        yield f"({gold})^2 + 3"
        yield f"{gold} \\cdot y"
    if kind == "whole" and gold != "0":
        yield from (str(int(gold) + step) for step in (-11, -2, 2, 5, 9, 100))
    if kind == "matrix":
        yield gold.replace("&", r"\\") if "&" in gold else gold.replace(r"\\", "&")

"""Mathematical answers: right ones are met however they are written, wrong ones are not, and doubt is no verdict."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from answers import answered
from calipers.errors import ConfigError
from calipers.verifiers import MathsEquivalence

needs_math_verify = pytest.mark.skipif(
    util.find_spec("math_verify") is None, reason="math-verify is not installed: pip install 'calipers[maths]'"
)

VERDICTS: list[tuple[str, dict[str, bool | None]]] = [
    (r"\frac{1}{2}", {r"So the answer is $\boxed{0.5}$.": True}),
    (r"3\sqrt{13}", {r"\boxed{\sqrt{117}}": True, r"\boxed{\sqrt{118}}": False}),
    ("42", {r"First 17, then \boxed{7}. No: \boxed{42}": True, "We find 17 apples, and so there are 42 pears.": True,
            "The answer is 43.": False, r"The answer is \boxed{": None, r"\boxed{forty-two}": None}),
    ("3", {r"<think>It is \boxed{3}.</think>\boxed{4}": False, r"<think>\boxed{3}": None, "x" * 5000: None}),
    (r"10,\!080", {r"\boxed{10080}": True}),
    ("(x-3)(x+4)", {r"\boxed{x^2+x-12}": True, r"\boxed{x^2+x-13}": False}),
    ("2^{99}", {r"\boxed{(2^{99}) + 1}": False}),
    (r"\{1,3\}", {r"\boxed{\{3,1\}}": True}),
    ("(1,3)", {r"\boxed{(3,1)}": False}),
    ("(2,12,10)", {r"\boxed{\{2, 12, 10\}}": None}),
    ("[0,1)", {r"\boxed{[0,1]}": False, r"\boxed{0 \le x < 1}": True, r"\boxed{0 \le x < 2}": False}),
    (r"x \le 3", {r"\boxed{(-\infty,3]}": True, r"\boxed{y \le 3}": None, r"\boxed{x \ge 3}": False}),
    (r"n \ge 3", {r"\boxed{n > 2}": None}),
    (r"1 \pm \sqrt{19}", {r"\boxed{1+\sqrt{19}, 1-\sqrt{19}}": True}),
    ("y = 2x + 3", {r"\boxed{y=3+2x}": True}),
    (r"10\text{ cm}", {r"\boxed{10}": True, r"\boxed{10\text{ kg}}": None, "10 m": None}),
    (r"50\%", {r"\boxed{0.5}": True, r"\boxed{51\%}": False}),
    ("2516_8", {r"\boxed{2516_7}": None}),
    (r"90^\circ", {r"\boxed{90°}": True, r"\boxed{\frac{\pi}{2}}": None}),
    ("3.21", {r"\boxed{3.22}": False}),
    (r"\frac{1}{3}", {r"\boxed{0.333}": None}),
    (r"\text{(B)}", {r"\boxed{B}": True, r"\boxed{C}": False}),
    (r"e^{i\pi}", {r"\boxed{-1}": True}),
    ("2i", {r"\boxed{(1+i)^2}": True, r"\boxed{-2i}": False}),
    ("1.5e8", {r"\boxed{150000000}": True}),
    # where the two may be the same answer, nobody is marked wrong
    (r"\text{Evelyn}", {r"\boxed{evelyn}": True, r"\boxed{\text{Navin}}": None}),
    ("a circle", {r"\boxed{\text{circle}}": None}),
    ("no solution", {r"\boxed{\emptyset}": None}),
    (r"\emptyset", {r"\boxed{\{\}}": None, r"\boxed{∅}": None, r"\boxed{?}": False}),
    (r"\infty", {r"\boxed{∞}": None}),
    ("5 km", {r"\boxed{5000 m}": None, r"\boxed{6}": False}),
    ("3 m", {r"\boxed{300 cm}": None}),
    ("C(h)=4h+4", {"C(h)=5h+4": False}),
    ("3 million", {r"\boxed{3000000}": None}),
    ("1.5", {r"\boxed{1,5}": None}),
    (r"x \equiv 3 \pmod 7", {r"\boxed{x \equiv 10 \pmod 7}": None}),
    (r"0.1\overline{6}", {r"\boxed{\frac16}": None}),
    ("(t, 2t)", {r"\boxed{(2t, 4t)}": None}),
    ("Ce^{2x}", {r"\boxed{e^{2x+C}}": None}),
    ("c_1e^x + c_2e^{-x}", {r"\boxed{c_1\cosh x + c_2\sinh x}": None}),
    ("t(1, 2)", {r"\boxed{(t, 2t)}": None}),
    ("5 1/2", {r"\boxed{11/2}": True, r"\boxed{51/2}": False, r"\boxed{5\,1/2}": True}),
    ("7x/2", {r"\boxed{3 1/2 x}": True}), ("3x/2", {r"\boxed{3 1/2 x}": False}),
    ("1 000", {r"\boxed{1000}": True}),
    ("1 2", {r"\boxed{12}": None, r"\boxed{3}": None}), ("12", {r"\boxed{1\ 2}": None}),
    (r"\mathbb{R}", {r"\boxed{\text{all real numbers}}": None}),
    ("Yes", {r"\boxed{\text{Yes, it is possible}}": None}),
    ("x^2+C", {r"\boxed{x^2+K}": None, r"\boxed{x^2}": None}),
    (r"\ln|x|+C", {r"\boxed{\ln(2|x|)+C}": None}),
    (r"\$5", {r"\boxed{500\text{ cents}}": None}),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", {r"\boxed{(1,2)}": None}),
    ("(1+t, 2-t)", {r"\boxed{(1+s, 2-s)}": None}),
    (r"\frac{\pi}{4} + n\pi", {r"\boxed{-\frac{3\pi}{4} + n\pi}": None, r"\boxed{\frac{\pi}{4}}": None}),
    ("2k + 1", {r"\boxed{2k - 1}": None, r"\boxed{2x + 1}": None}),
    ("1010_2", {r"\boxed{10}": False, r"\boxed{1011_2}": False, r"\boxed{1010}": True}),
    (r"\pi k, k \in \mathbb{Z}", {r"\boxed{\pi n, n \in \mathbb{Z}}": None}),
    ("7", {r"\boxed{9^{9^{9^{9}}}!}": None}),  # what takes for ever ends, and is no verdict
]  # fmt: skip


@needs_math_verify
def test_answers_get_their_verdicts() -> None:
    found = [(gold, {text: MathsEquivalence(gold)(answered(text)).met for text in texts}) for gold, texts in VERDICTS]
    assert [(mine, other) for mine, other in zip(found, VERDICTS, strict=True) if mine != other] == []


@needs_math_verify
@pytest.mark.slow
def test_no_right_answer_is_refused_and_no_wrong_one_met() -> None:
    draw = random.Random(1)
    found = Counter[tuple[bool, bool | None]]()
    wrong: list[tuple[str, str]] = []
    for line in (Path(__file__).parents[1] / "fixtures" / "maths.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        misses = [f"It is $\\boxed{{{one}}}$." for one in row["wrong"]]
        for right, texts, count in ((True, row["right"], 4), (False, misses, 6)):
            for text in draw.sample(texts, min(count, len(texts))):
                met = MathsEquivalence(row["gold"])(answered(text)).met
                found[right, met] += 1
                wrong += [(row["gold"], text)] if met is not None and met is not right else []
    assert wrong == []
    assert found[True, True] >= 0.85 * sum(count for (right, _), count in found.items() if right)


@pytest.mark.parametrize("expected", [" ", None, 5])
def test_an_expression_is_needed(expected: Any) -> None:
    with pytest.raises(ConfigError, match="must be an expression"):
        MathsEquivalence(expected)


def test_without_math_verify_the_remedy_is_named_before_any_answer_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "math_verify", None)
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[maths\]'"):
        MathsEquivalence("3")

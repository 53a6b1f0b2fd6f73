"""What answers expected and answers given come to: right, wrong, or not to be told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.expressions import compare_answers

RIGHT = [
    ("\\mbox{four}", "\\boxed{4}"), ("\\frac{17}{32}", "17⁄32"), ("3e8", "\\boxed{3 \\times 10^8}"),
    ("1.07e-16", "\\boxed{1.07\\times10^{-16}\\text{ m}}"), ("(\\text{E})", "\\boxed{E}"),
    ("LQSX", "\\boxed{\\text{LQSX}}"), ("\\approx 8.24 \\text{ mph}", "\\boxed{8.24}"), ("1,2,3", "\\boxed{(1,2,3)}"),
    ("05\\!:\\!00", "\\boxed{5:00}"), ("0.0011_{2}", "\\boxed{0.0011_2}"),
    ("7\\text{ hours}", "\\boxed{{7\\text{ hours}.}}"),
    ("\\begin{pmatrix} 1 & \\phantom -1 \\end{pmatrix}", "\\boxed{\\begin{pmatrix} 1 & 1 \\end{pmatrix}}"),
    ("\\text{no solution}", "\\boxed{\\text{No solution}}"),
    ("56,76", "\\boxed{56 \\text{ km/hr} \\text{ and } 76 \\text{ km/hr}}"), ("\\pm 1, \\pm 7", "\\boxed{1,-1,7,-7}"),
    ("1/2x", "\\boxed{1/2 x}"),
    ("3\\sqrt{13}", "The answer is $3\\sqrt{13}$."), ("3\\sqrt{13}", "The answer is 3√13"),
    ("3\\sqrt{13}", "**Answer:** 3*sqrt(13)"),
    ("3\\sqrt{13}", "So we get\n$$3\\sqrt{13}$$"), ("42", "The answer is 42"), ("42", "Answer: 42 apples"),
    ("42", "#### 42"),
    ("42", "blah 41\n#### 42\n"), ("42", "The final answer is 42, because 6*7 = 42."), ("42", "42"),
    ("42", "6 * 7 = 42"), ("42", "It is 42."),
    ("5r^5", "5r^5"), ("5r^5", "\\boxed{5r^5}"), ("5r^5", "The answer is 5r^5."), ("p - q", "\\boxed{p-q}"),
    ("p - q", "\\boxed{-q+p}"),
    ("\\pi", "\\boxed{\\pi}"), ("\\pi", "π"), ("\\text{Evelyn}", "\\boxed{Evelyn}"),
    ("\\text{Evelyn}", "The answer is Evelyn."),
    ("\\text{Evelyn}", "Evelyn"), ("C", "The answer is (C)."), ("C", "**C**"), ("C", "Answer: C"),
    ("C", "A careful look shows that a dog is nice. \\boxed{C}"), ("C", "\\boxed{\\text{C}}"),
    ("C", "\\boxed{C. Paris}"), ("B", "\\boxed{B}\n"),
    ("B", "The correct answer is B) 5 m/s"), ("D", "I would go with option D."),
    ("D", "So the correct choice is **D**"), ("A", "A"), ("A", "(A)"),
    ("C", "Answer: $C$"), ("C", "ANSWER: C"), ("B", "\\boxed{A}, sorry, \\boxed{B}"),
    ("1,-2", "\\boxed{1} and \\boxed{-2}"),
    ("\\frac{1}{2}", "so it is $0.5$"), ("x^2+2x+1", "$(x+1)^2$"), ("$x^2+2x+1$", "$(x+1)^2$"),
    ("$\\{1,2\\}$", "$\\{2,1\\}$"),
    ("10\\text{ cm}", "\\boxed{10 cm}"), ("10\\text{ cm}", "\\boxed{0.1\\text{ m}}"),
    ("10\\text{ cm}", "The answer is 10 cm."),
    ("10\\text{ cm}", "The answer is 10 centimeters"), ("6:00 PM", "\\boxed{6:00\\text{ PM}}"),
    ("6:00 PM", "\\boxed{6 \\text{ p.m.}}"),
    ("6:00 PM", "\\boxed{18:00}"), ("\\$32{,}348", "\\boxed{\\$32,348}"), ("\\$32{,}348", "\\boxed{32348}"),
    ("90^\\circ", "\\boxed{90}"),
    ("y = 2x + 3", "\\boxed{2x+3}"), ("y = 2x + 3", "\\boxed{y=2x+3}"), ("y = 2x + 3", "\\boxed{2x - y + 3 = 0}"),
    ("x \\in [-2,7]", "\\boxed{[-2,7]}"), ("x \\in [-2,7]", "\\boxed{-2 \\leq x \\leq 7}"),
    ("2516_8", "\\boxed{2516_{8}}"),
    ("2516_8", "\\boxed{2516_{\\text{eight}}}"), ("025", "\\boxed{25}"), ("1\\frac{4}{5}", "\\boxed{\\frac95}"),
    ("1\\frac{4}{5}", "\\boxed{1.8}"),
    ("50\\%", "\\boxed{50}"), ("50\\%", "\\boxed{0.5}"), ("0.5", "\\boxed{50\\%}"), ("50", "\\boxed{50\\%}"),
    ("(3, \\frac{\\pi}{2})", "\\boxed{(3,\\pi/2)}"), ("[0,1) \\cup (2,3]", "\\boxed{(2,3]\\cup[0,1)}"),
    ("42", "\\boxed{\\text{forty-two}}"),
    ("5", "\\boxed{\\text{five}}"), ("x=5", "\\boxed{5}"), ("5", "\\boxed{x=5}"), ("5", "\\boxed{a+b=5}"),
    ("5", "\\boxed{2+3=5}"),
    ("\\frac{\\sqrt{3}}{2}", "\\boxed{\\sin 60^\\circ}"), ("2", "\\boxed{\\log_2 4}"), ("\\text{(C)}", "\\boxed{C}"),
    ("\\text{(C)}", "The answer is C"),
    ("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\boxed{\\begin{bmatrix}1\\\\2\\end{bmatrix}}"),
    ("\\frac{1}{2x}", "\\boxed{1/(2x)}"), ("A solution: \\boxed{7}", "\\boxed{7}"), ("$\\frac{1}{2}$", "\\boxed{1/2}"),
    ("42", "\\\\boxed{42}"),
    ("\\frac12", "\\boxed{\\\\frac{1}{2}}"), ("8", "<|im_end|> The answer is: 8"), ("1234567", "1,234,567"),
    ("0.5", "\\boxed{.5}"),
    ("72", "Natalia sold 48+24 = 72 clips.\nA: 72"),
    ("72", "she sold 48/2 = <<48/2=24>>24 in May, 48+24 = <<48+24=72>>72 altogether.\n#### 72"),
    ("5", "Die Antwort ist 5."), ("5", "答案是 5。"), ("5", "答案：5"), ("5", "La respuesta es 5"),
    ("3", "正解は3です"),
    ("\\infty", "\\boxed{\\infty}"),
    ("\\text{undefined}", "\\boxed{\\text{undefined}}"), ("\\emptyset", "\\boxed{\\varnothing}"), ("n!", "\\boxed{n!}"),
    ("2^{25} \\cdot 26!", "\\boxed{26! \\cdot 2^{25}}"), ("\\frac{2\\sqrt{3}}{3}", "\\boxed{\\frac{2}{\\sqrt{3}}}"),
    ("\\sqrt{8}", "\\boxed{2\\sqrt2}"), ("e^{i\\pi/3}", "\\boxed{\\frac{1+i\\sqrt{3}}{2}}"),
    ("12", "\\boxed{12\\text{ (twelve)}}"),
    ("12", "\\boxed{n=12}"), ("3,5,7", "\\boxed{3, 5, \\text{ and } 7}"),
    ("11\\sqrt{2}", "\\boxed{11\\sqrt{2}\\text{ units}}"), ("C", "\\boxed{C}. The answer is C because D is smaller."),
    ("C", "The correct answer is option C, since it holds"), ("C", "La réponse est C, car B est faux"),
]  # fmt: skip
WRONG = [
    ("05\\!:\\!00", "\\boxed{15:00}"), ("9:24", "\\boxed{9:25}"), ("1 1/2", "\\boxed{11/2}"),
    ("3e8", "\\boxed{3 \\times 10^7}"), ("\\mbox{four}", "\\boxed{5}"), ("LQSX", "\\boxed{\\text{LQXS}}"),
    ("1,2,3", "\\boxed{(1,2,4)}"),
    ("3\\sqrt{13}", "The answer is 3."), ("42", "I do not know"), ("42", "The answer is 41. Not 42."), ("5r^5", "5"),
    ("5r^5", "\\boxed{5}"),
    ("5r^5", "5r^4"), ("5r^5", "answer: 5r"), ("p - q", "\\boxed{q-p}"), ("\\pi", "\\boxed{3}"),
    ("\\text{Evelyn}", "It was Briana."),
    ("A", "The answer is (B). A nice one."), ("1,-2", "\\boxed{1}"), ("1", "\\boxed{1} or \\boxed{2}"),
    ("$(1,2]$", "$[1,2]$"),
    ("10\\text{ cm}", "\\boxed{10\\text{ m}}"), ("6:00 PM", "\\boxed{6:00 AM}"), ("\\$32{,}348", "\\boxed{32}"),
    ("y = 2x + 3", "\\boxed{y=3x+2}"),
    ("x \\in [-2,7]", "\\boxed{(-2,7)}"), ("1\\frac{4}{5}", "\\boxed{\\frac45}"), ("50\\%", "\\boxed{5\\%}"),
    ("\\frac{1}{3}", "\\boxed{0.34}"),
    ("(3, \\frac{\\pi}{2})", "\\boxed{(\\frac{\\pi}{2},3)}"), ("42", "\\boxed{}"),
    ("\\text{even}", "\\boxed{\\text{odd}}"),
    ("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\boxed{\\begin{pmatrix}2\\\\1\\end{pmatrix}}"),
    ("11", "\\boxed{11\\sqrt{2}}"),
]  # fmt: skip
UNCLEAR = [
    ("144 \\mbox{ m}^3", "\\boxed{144 \\mbox{ m}^0}"), ("\\text{A,B}", "\\boxed{-\\text{A,B}}"),
    ("1\\frac{1}{10}", "\\boxed{1\\frac{11}{10}}"), ("E", "\\boxed{(E) \\text{ or } (A)}"), ("C", "\\boxed{C, D}"),
    ("1/2x", "\\boxed{\\frac{1}{2x}}"), ("3:10", "\\boxed{6:20}"), ("1,2", "\\boxed{(1,2)}"),
    ("5", "\\boxed{5 \\text{ or more}}"),
    ("3\\sqrt{13}", "The distance is $3\\sqrt{13}$, where $13 = 4+9$."), ("42", "It is 41 or 42."),
    ("\\pi", "\\boxed{3.14}"),
    ("\\text{Evelyn}", "\\boxed{\\text{Evelyn, not Briana}}"), ("A", "A careful look shows nothing."),
    ("A", "\\boxed{A dog}"),
    ("B", "\\boxed{A} or \\boxed{B}"), ("1", "$9^{9^{9^{9}}}$"), ("6:00 PM", "\\boxed{6:00}"),
    ("90^\\circ", "\\boxed{\\frac{\\pi}{2}}"),
    ("2516_8", "\\boxed{2516}"), ("\\frac{1}{3}", "\\boxed{0.333}"), ("0.333", "\\boxed{1/3}"), ("42", "\\boxed{42"),
    ("5", "\\boxed{2x=10}"),
    ("10", "\\boxed{2x=10}"), ("6", "\\boxed{5=6}"), ("2", "\\boxed{\\log 100}"),
    ("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "\\boxed{(1,2)}"),
    ("\\frac{1}{2x}", "\\boxed{1/2x}"), ("\\frac{x}{2}", "\\boxed{1/2x}"), ("|x|", "\\boxed{x}"),
    ("x", "\\boxed{\\sqrt{x^2}}"), ("C", "\\boxed{C}. The answer is D because it is larger."),
]  # fmt: skip
NEIGHBOURS = [
    # values that agree at most points, and are another expression
    ("|x-3|", "3-x", False), ("|x-100|", "100-x", False), ("\\sqrt{(x-3)^2}", "3-x", False),
    ("\\lfloor \\frac{n}{2}\\rfloor", "\\lfloor \\frac{n}{3}\\rfloor", False), ("\\lfloor x\\rfloor", "x", None),
    ("\\lfloor \\frac{n+1}{2}\\rfloor", "\\lceil \\frac{n}{2}\\rceil", None), ("(-1)^n", "(-1)^{n+2}", True),
    ("(-1)^n", "(-1)^{n+1}", False), ("(-1)^{2n}", "1", None),
    ("\\frac{1}{\\sqrt{1-x^2}}", "\\sqrt{\\frac{1}{1-x^2}}", True), ("x+i", "x-i", False),
    # equations that are the answer, and names that are only called so
    ("x^2 + y^2 = 25", "25", None), ("25", "a^2 + b^2 = 25", True), ("x + y = 5", "5", None), ("x = 5", "5", True),
    ("f(x) = x^2", "x^2", True), ("x=-1\\pm\\sqrt2", "w=-1\\pm\\sqrt2", None),
    ("x=-1\\pm\\sqrt2", "x=-1+\\sqrt2, x=-1-\\sqrt2", True), ("\\text{CCl}_4", "CCl_4", True),
    ("\\text{CCl}_4", "CCl_2", False), ("n \\equiv 1 \\pmod{4}", "n \\equiv 1 \\pmod 4", True),
    # angles
    ("46 \\text{ degrees}", "46 \\text{ radians}", False), ("60^\\circ", "60 \\text{ rad}", False),
    ("60^\\circ", "\\frac{\\pi}{3} \\text{ radians}", True), ("\\frac{\\pi}{3}", "\\frac{\\pi}{3} \\text{ rad}", True),
    ("\\frac{\\pi}{3}", "\\frac{\\pi}{3}^\\circ", None), ("5\\text{ rad/s}", "5", True),
    ("5\\text{ rad/s}", "5\\text{ deg/s}", False),
    ("\\angle ABC", "\\angle BAC", False), ("\\angle ABC", "\\angle{CBA}", True),
    ("\\triangle ABC", "\\triangle BCA", True), ("\\angle A = 30^\\circ", "30^\\circ", True),
    # percent, units with powers, units set as letters
    ("\\frac{3}{2}", "1.50\\%", None), ("\\frac{3}{2}", "150\\%", True),
    ("9.8 \\text{ m/s}^2", "9.8\\ \\mathrm{m/s^2}", True), ("9.8 \\text{ m/s}^2", "980\\text{ cm/s}^2", True),
    ("9.8 \\text{ m s}^{-2}", "9.8\\text{ m/s}^2", True),
    ("9.8 \\text{ m/s}^2", "9.8 \\text{ m/s}", False), ("0.25\\text{ mol}", "0.25 mol", True),
    ("0.25\\text{ mol}", "0.52 mol", False),
    # the same in another type or order
    ("5", "\\mathbf{5}", True), ("5", "\\mathbf{6}", False), ("\\mathbf{v}", "\\vec{v}", True),
    ("\\mathbf{v}", "\\vec{w}", False), ("13^{\\text{th}}", "13", True), ("13^{\\text{th}}", "14th", False),
    ("5", "5th", True), ("\\text{0 and 1}", "0, 1", True), ("\\text{0 and 1}", "0, 2", False),
    ("x=2, y=3", "y=3, x=2", True), ("a=2 \\text{ or } a=-3", "a=-3 \\text{ or } a=2", True),
    ("\\text{June 20}", "June 20", True), ("\\sum_{k=1}^{n} k^2", "\\sum_{k=1}^n k^2", True),
    ("x^{2}y", "x^{2y}", False),
    ("\\binom{10}{3}", "\\frac{10!}{3!7!}", True), ("\\textbf{(D)}\\ 12", "D", True),
    ("\\textbf{(D)}\\ 12", "C", False),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "said", "met"), NEIGHBOURS)
def test_what_is_near_an_answer_is_told_from_it(expected: str, said: str, *, met: bool | None) -> None:
    assert compare_answers(expected, f"\\boxed{{{said}}}").met is met


PIECES = [
    *"0123456789abcxyzeiCA+-*/^_=<>()[]{}|!,;:'%&?.$ \n", "\\frac", "\\sqrt", "\\pi", "\\boxed{", "\\text{", "\\pm",
    "\\cup", "\\infty", "\\le", "\\in", "\\sin",
    "\\log", "\\begin{pmatrix}", "\\end{pmatrix}", "\\\\", "\\{", "\\}", "\\left(", "\\right)", "^\\circ", "\\%", "\\$",
    " or ", " cm", "The answer is ", "\\cdot", "²", "π", "½",
]  # fmt: skip


@pytest.mark.parametrize(("expected", "text"), RIGHT)
def test_a_right_answer_is_met(expected: str, text: str) -> None:
    assert compare_answers(expected, text).met is True, compare_answers(expected, text)


@pytest.mark.parametrize(("expected", "text"), WRONG)
def test_a_wrong_answer_is_not(expected: str, text: str) -> None:
    found = compare_answers(expected, text)
    assert found.met is False, found
    assert found.reason


@pytest.mark.parametrize(("expected", "text"), UNCLEAR)
def test_what_may_be_the_answer_and_need_not_be_is_neither(expected: str, text: str) -> None:
    found = compare_answers(expected, text)
    assert found.met is None, found
    assert found.reason


@given(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
)
def test_whatever_is_expected_and_said_there_is_a_verdict(expected: str, text: str) -> None:
    for said in (text, f"\\boxed{{{text}}}"):
        found = compare_answers(expected, said)
        assert found.met in (True, False, None)
        assert found.met is True or found.reason
        assert compare_answers(expected, said) == found


@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30))
def test_whole_numbers_are_compared_to_the_last_digit(one: int, other: int) -> None:
    assert compare_answers(str(one), f"\\boxed{{{other:,}}}").met is (one == other)
    assert compare_answers(str(one), f"\\boxed{{{one:,}}}").met is True
    assert compare_answers(rf"{one}\sqrt{{2}}", rf"\boxed{{{other}\sqrt{{2}}}}").met is (one == other)


@given(st.fractions(max_denominator=10**6), st.fractions(max_denominator=10**6))
def test_fractions_are_compared_exactly(one: object, other: object) -> None:
    above, below = one.numerator, one.denominator  # type: ignore[attr-defined]
    assert compare_answers(rf"\frac{{{above}}}{{{below}}}", f"\\boxed{{{above}/{below}}}").met is True
    assert compare_answers(f"{other}", rf"\boxed{{\dfrac{{{above}}}{{{below}}}}}").met is (one == other)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=5), st.lists(st.integers(-9, 9), min_size=1, max_size=5))
def test_polynomials_are_one_where_their_coefficients_are(one: list[int], other: list[int]) -> None:
    def written(coefficients: list[int]) -> str:
        return " + ".join(f"({number}) x^{{{power}}}" for power, number in enumerate(coefficients)) + " + x^{9}"

    padded = [numbers + [0] * (5 - len(numbers)) for numbers in (one, other)]
    assert compare_answers(written(one), f"\\boxed{{{written(other)}}}").met is (padded[0] == padded[1])
    assert compare_answers(written(one), f"\\boxed{{{written(one[::-1])}}}").met is (
        padded[0] == one[::-1] + [0] * (5 - len(one))
    )


HOSTILE = [
    "{" * 50_000, "\\boxed{" * 5_000, "\\boxed{" + "{" * 20_000 + "}" * 20_000 + "}",
    "\\boxed{" + "(" * 900 + "1" + ")" * 900 + "}",
    "\\boxed{" + "\\sqrt" * 390 + "2}", "\\boxed{" + "\\sin " * 390 + "x}", "\\boxed{9^{9^{9^{9}}}}",
    "\\boxed{" + "9^{" * 30 + "9" + "}" * 31,
    "\\boxed{(((1000000!)!)!)}", "\\boxed{5000!^{5000!}}", "\\boxed{\\binom{5000}{2500}^{40}}",
    "\\boxed{e^{e^{e^{e^{10}}}}}", "\\boxed{\\sin(10^{100000})}",
    "\\boxed{" + "1+" * 390 + "1}", "\\boxed{" + "x^{0.3}\\sin(x)" * 60 + "}",
    "\\boxed{" + ",".join(f"\\sqrt{{{n}}}" for n in range(140)) + "}",
    "\\boxed{" + "\\pm\\sqrt{2}" * 60 + "}", "\\boxed{" + "[0,1]\\cup" * 90 + "[0,1]}",
    "\\boxed{" + "9" * 900 + "^{900}}", "$" * 60_000, "\\(" * 30_000,
    "answer is " * 6_000, "1," * 30_000, "**" * 30_000, "\\boxed{1}" * 7_000, "\\text{" * 10_000,
    "\\boxed{" + "x_{" * 200 + "1" + "}" * 201,
    "\\boxed{" + "|" * 800 + "}", "\\boxed{\\sqrt[99999]{2}}", "\\boxed{2^{99999/10001}}",
    "\\boxed{(1+10^{-99})^{10^{99}}}", "\\boxed{0^0}", "\\boxed{1/0}",
    "\\boxed{" + "x=" * 390 + "1}", "\\boxed{1" + "/2" * 390 + "}", "\\boxed{1" + "/2x" * 190 + "}",
    "\\boxed{" + "x" + "'" * 700 + "}", "½" * 30_000,
]  # fmt: skip
EXPECTED = (
    "5r^5",
    "42",
    r"1 \pm \sqrt{19}",
    r"[0,1) \cup (2,3]",
    r"\text{Evelyn}",
    "C",
    "1,2",
    "y = 2x + 3",
    r"10\text{ cm}",
    "2516_8",
    r"|x|+\ln x",
)


@pytest.mark.parametrize("expected", EXPECTED)
def test_texts_meant_to_take_for_ever_do_not_and_are_never_right(expected: str) -> None:
    for text in HOSTILE:
        assert compare_answers(expected, text).met is not True, text[:40]


def test_a_deep_stack_of_the_callers_is_no_verdict() -> None:
    def below(depth: int) -> object:
        return below(depth - 1) if depth else compare_answers("5", "\\boxed{" + "(" * 30 + "5" + ")" * 30 + "}")

    for depth in range(700, 990, 10):
        try:
            assert below(depth).met in (True, None)  # type: ignore[attr-defined]
        except RecursionError:
            break  # not enough left to begin with

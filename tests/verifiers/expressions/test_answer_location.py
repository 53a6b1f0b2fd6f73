"""Where an answer stands in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.expressions.answer_location import locate_answer


@pytest.mark.parametrize(("text", "said"), [
    (r"\boxed{5}", "5"), (r"so \boxed {5} ", "5"), (r"\boxed 5", "5"), (r"\fbox{x}", "x"),
    (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"), (r"\boxed{\{1,2\}}", r"\{1,2\}"), (r"\boxed{1}, no: \boxed{2}", "2"),
    (r"$\boxed{1}$ and $\boxed{2}$", "1 , 2"), (r"$\boxed{1}$ or $\boxed{2}$", r"1 \text{ or } 2"),
    (r"\boxed{3}. Thus \boxed{3}", "3"), (r"\boxed{5} is not it, \boxed{6}", "6"),
    ("The answer is 5.", "5"), ("The answer is: $x^2$.", "x^2"), ("**Answer:** 7", "7"), ("Answer: **7**", "7"),
    ("#### 72", "72"), ("the answer is 1. Wait, the answer is 2.", "2"), ("Final answer: \n$$5$$", "5"),
    ("The answer is 42, because 6*7 = 42.", "42"), ("答案是 5。", "5"), ("Ответ: 5", "5"), ("La réponse est 5.", "5"),
    ("5", "5"), ("First\nsecond $x$ third", "x"), ("Not this.\nIt is **Paris**, I think", "Paris"),
    ("Then 3 of them.\nAll in all 7 remain.", "7"), ("Ergebnis: 7", "7"), ("结果: 7", "7"),
    ("결과는 7", "7"), ("答案は7", "7"),
])  # fmt: skip
def test_the_answer_is_found_where_it_is_said(text: str, said: str) -> None:
    assert locate_answer(text).candidates[0] == said


def test_a_box_that_is_not_closed_is_cut() -> None:
    assert locate_answer(r"so \boxed{5r^5").cut
    assert locate_answer(r"\boxed{1} and then \boxed{5").cut


@pytest.mark.parametrize("text", [
    "We have $a$, $b$ and $c$, so the answer is 5.", r"We have \(a\), \(b\) and \(c\), so the answer is 5.",
    r"We have \[a\], \(b\) and $c$, so the answer is 5.", r"$$a$$ \(b\) $c$ the answer is 5",
    r"\(a\)\(b\)\(c\) answer: 5",
])  # fmt: skip
def test_all_formulas_that_stand_elsewhere_are_kept_in_order(text: str) -> None:
    assert locate_answer(text).formulas == ("a", "b", "c")


@pytest.mark.parametrize("text", ["It is 41 or 42", ""])
def test_a_number_that_is_offered_beside_another_is_no_answer(text: str) -> None:
    assert "42" not in locate_answer(text).candidates


@given(st.text(alphabet="ab1 $\\()[]{}boxed.*:answer is\n", max_size=80))
def test_any_text_has_its_places(text: str) -> None:
    assert all(isinstance(one, str) for one in locate_answer(text).candidates)

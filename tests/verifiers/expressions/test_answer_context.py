"""Words around an answer in prose: they take trust away, and leave it where they are about something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.expressions import compare_answers
from calipers.verifiers.expressions.answer_context import (
    context_words,
    is_continued,
    is_denied,
    is_retracted,
    is_wrong_or_hypothetical,
    unit_after,
)


@pytest.mark.parametrize("text", [
    "My first guess was \\boxed{5}. That is wrong. The answer is 6.",
    "\\boxed{5}\n\nWait, I made a mistake. The correct answer is $6$.", "The total is 72 apples, not 5.",
    "It can't be \\boxed{5}.", "The answer is \\boxed{72}, not \\boxed{5}.",
    "If the answer is 5, then there is a contradiction.", "Is the answer is 5? No.", "The wrong answer is 5.",
    "Claim: the answer is 5. This is false.", "It is wrong that the answer is 5", "The answer cannot be 5.",
    "the answer is 5? no, 6", "The answer is 5. Actually, it's 6.", "The answer is 5... no wait, 6.",
    "答案是5吗？不，是6", "La respuesta no es 5", "Ответ не 5", "La réponse n'est pas 5",
    "答えは5ではありません", "정답은 5가 아닙니다",
])  # fmt: skip
def test_what_is_denied_or_taken_back_is_no_answer(text: str) -> None:
    assert compare_answers("5", text).met is None


@pytest.mark.parametrize("text", [
    "The answer is 5 to 6", "The answer is 5:3", "The answer is 5 more than x", "The answer is 5 times x",
    "The answer is 5 squared", "The answers are 4 and 5", "答案是5或6", "答案是5和6", "答案是5万",
    "La respuesta es 5 o 6", "Die Antwort ist 5 oder 6", "The length comes to 5\\sqrt{2}", "It comes to 5e9999 m",
    "It is 5^{-1}", "We get 5x", "\\boxed{5 \\text{ squared}}", "\\boxed{\\text{negative } 5}",
    "Either $4$ or $5$.", "the roots are $4$ and $5$", "The roots: $4$, $5$",
    "the answer is $5$ for $x>0$, and $4$ otherwise", "the answer is $5$ times $x$", "the answer is **5** or **6**",
    "It is $5$ million",
    "It is $5$ times larger", "\\boxed{\\text{half of } 5}", "\\boxed{5 \\text{ times as many}}",
])  # fmt: skip
def test_a_number_that_is_part_of_more_is_not_accepted(text: str) -> None:
    assert compare_answers("5", text).met is not True


@pytest.mark.parametrize(("expected", "text"), [
    ("22", "The number of integers that are not squares is 22."), ("5", "Since 3 is not a root, the answer is 5."),
    ("5", "If $x=3$, then the answer is 5."), ("16\\%", "The rate is 16%."),
    ("12", "Por lo tanto, se tiene que la respuesta es 12."), ("12", "Si ottiene che la risposta è 12."),
    ("12", "Die Antwort ist 12, nicht 13."), ("12", "The answer is $\\boxed{12}$. I hope it is correct."),
    ("12", "The result is 12. This is because 3*4=12, not 13."),
    ("12", "\\boxed{12}\n\nThis answer is 3 times larger than 4."), ("12", "Hence $n=12$. No other solution exists."),
    ("6", "The answer is 6, not 5"),
    ("4", "**Step 1**\nNo.\n**Answer:** 4"), ("5", "The answer is 5 (not counting the ends)."),
    ("5", "The answer is `5`."), ("x+1", "The answer is $x+1$ where $x>0$."), ("4,5", "The answers are 4 and 5"),
])  # fmt: skip
def test_denials_of_something_else_change_nothing(expected: str, text: str) -> None:
    assert compare_answers(expected, text).met is True


@pytest.mark.parametrize(("text", "met"), [
    ("Therefore, C is correct.", True), ("The correct option is **C**.", True), ("答案是C。", True), ("故选C。", True),
    ("Option A is the correct choice", False), ("Therefore, C is not correct.", None),
    ("B and C is correct", None), ("If C is correct, then B is wrong", None), ("It is false that C is correct.", None),
    ("A is correct about energy, but C is correct.", None), ("\\boxed{C}\nWait. The answer is B.", None),
])  # fmt: skip
def test_an_option_that_a_sentence_says_to_be_right(text: str, *, met: bool | None) -> None:
    assert compare_answers("C", text).met is met


@pytest.mark.parametrize(("text", "met"), [
    ("It is $5$ m.", None), ("The length is 5 m.", False), ("The length is 5 metres.", False),
    ("The answer is $5$ metres in length.", None), ("The length is 5 cm.", True), ("The length is $5$ cm.", True),
    ("The length is 0.05 m.", True), ("The length is 5.", True), ("The length is 5 in total.", True),
])  # fmt: skip
def test_the_unit_behind_a_number_in_prose_counts(text: str, *, met: bool | None) -> None:
    assert compare_answers(r"5\text{ cm}", text).met is met


@pytest.mark.parametrize("before", ["not ", "never ", "nicht ", "keine ", "jamais ", "nem ", "**nor** ", "不是"])
def test_a_denial_is_heard_at_the_very_beginning_of_a_text(before: str) -> None:
    assert is_denied(before)
    assert is_denied(f"It is\n{before}")


@pytest.mark.parametrize("before", ["if ", "suppose ", "wenn ", "si la ", "incorrect "])
def test_a_condition_is_heard_at_the_very_beginning_of_a_text(before: str) -> None:
    assert is_wrong_or_hypothetical(before)


@pytest.mark.parametrize("name", ["markers", "says", "denials", "others", "denied_after", "going_on"])
def test_a_list_of_words_has_no_white_space_around_a_word(name: str) -> None:
    words = [word for part in context_words(name) for word in part]
    assert words == [word.strip() for word in words]
    assert all(words)


@given(st.text(max_size=200))
def test_any_words_are_judged(text: str) -> None:
    assert isinstance(unit_after(text), str)
    assert {is_denied(text), is_wrong_or_hypothetical(text), is_retracted(text), is_continued(text)} <= {True, False}

"""RuscaRL's scaffold against the published vectors, and what holds for every schedule."""

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.rubric.scaffold import (
    Schedule,
    Step,
    Wording,
    scaffold_text,
    scaffolded,
    shown_count,
    shown_criteria,
    texts_and_points,
)
from calipers.types import Criterion, Rubric

BEST = Schedule(350)
CRITERIA = [(f"names point {number}", float(number)) for number in range(1, 8)] + [
    ("is rude", -3.0),
    ("rambles", -2.5),
    ("lies", -8.0),
]
PROMPT = ({"role": "user", "content": "Why is the sky blue?"},)


@pytest.mark.parametrize(("step", "share", "shown"), [
    (1, 1.000000, [10, 9, 7, 6, 4, 3, 1, 0]),
    (61, 0.970972, [10, 8, 7, 6, 4, 3, 1, 0]),
    (66, 0.848025, [8, 7, 6, 5, 4, 2, 1, 0]),
    (70, 0.571147, [6, 5, 4, 3, 2, 2, 1, 0]),
    (71, 0.482099, [5, 4, 3, 3, 2, 1, 1, 0]),
    (76, 0.134416, [1, 1, 1, 1, 1, 0, 0, 0]),
    (81, 0.025251, [0] * 8),
])  # fmt: skip
def test_the_papers_best_schedule_shows_what_its_code_shows(step: int, share: float, shown: list[int]) -> None:
    assert BEST.share_at_step(step) == pytest.approx(share, abs=5e-7)
    assert [shown_count(BEST.share(step, place, 8), 10) for place in range(1, 9)] == shown


def test_the_scaffold_vanishes_within_twelve_steps() -> None:
    """A share of 0.9 is crossed at step 64.7, one of 0.1 at 76.9."""
    assert BEST.share_at_step(64) > 0.9 > BEST.share_at_step(65)
    assert BEST.share_at_step(76) > 0.1 > BEST.share_at_step(77)


def test_other_schedules_are_their_formulas() -> None:
    linear, power = Schedule(101, step="linear"), Schedule(101, step="power", power=3)
    assert [linear.share_at_step(step) for step in (1, 51, 101, 200)] == [1.0, 0.5, 0.0, 0.0]
    assert power.share_at_step(51) == 0.125
    assert Schedule(100, step="constant").share_at_step(99) == 1.0
    assert [Schedule(9, group="binary", full=2).share_of_member(place, 4) for place in (1, 2, 3, 4)] == [
        1.0,
        1.0,
        0.0,
        0.0,
    ]
    assert [Schedule(9, group="constant").share_of_member(place, 4) for place in (1, 4)] == [1.0, 1.0]
    assert Schedule(9).share_of_member(1, 1) == 1.0
    assert Schedule(1).share_at_step(1) > 0.99


@pytest.mark.parametrize(("criteria", "share", "shown"), [
    ("abcdef", 1.0, "abcdfe"), ("abcdef", 6 / 7, "abce"), ("abcdef", 4 / 7, "abe"), ("abcdef", 0.625, "abe"),
    ("abcdef", 0.375, "abe"), ("abcdef", 1 / 7, "ae"), ("abcdef", 0.125, "e"), ("abcdef", 0.0, "e"),
    ("ab", 1.0, "ba"), ("ab", 0.9, "a"), ("a", 1.0, "a"), ("a", 0.9, ""), ("", 1.0, ""),
])  # fmt: skip
def test_maths_shows_the_form_always_the_answer_at_the_full_share_only_and_the_rest_in_order(
    criteria: str, share: float, shown: str
) -> None:
    """RuscaRL's math_linear: round(share * others), halves to the even number."""
    given = [(letter, 1.0) for letter in criteria]
    assert "".join(text for text, _ in shown_criteria(given, share, seed=1, choice="math")) == shown


def test_math_linear_counts_and_draws_nothing() -> None:
    linear = Schedule(350, step="constant", choice="math")
    assert [linear.count(200, place, 8, 6) for place in range(1, 9)] == [6, 4, 4, 3, 3, 2, 2, 1]
    assert [BEST.count(61, place, 8, 10) for place in range(1, 9)] == [10, 8, 7, 6, 4, 3, 1, 0]
    texts = {
        scaffolded(PROMPT, CRITERIA, schedule=linear, step=3, place=4, size=8, run=run)[0]["content"] for run in "ab"
    }
    (text,) = texts
    assert "rambles" in text
    assert "lies" not in text


def test_halves_go_to_the_even_number() -> None:
    assert [shown_count(0.25, 10), shown_count(0.35, 10), shown_count(0.5, 5), shown_count(0.5, 7)] == [2, 4, 2, 4]


schedules = st.builds(
    Schedule,
    st.integers(1, 1000),
    step=st.sampled_from(["sigmoid", "linear", "power", "constant"]),
    steepness=st.floats(0, 1e6),
    midpoint=st.floats(0, 1),
    power=st.floats(0.1, 10),
    group=st.sampled_from(["linear", "binary", "constant"]),
    full=st.integers(0, 10),
)


@given(schedules, st.integers(-5, 2000), st.integers(1, 16), st.data())
def test_shares_are_shares_and_never_rise(schedule: Schedule, step: int, size: int, data: Any) -> None:
    place = data.draw(st.integers(1, size))
    share = schedule.share(step, place, size)
    assert 0 <= share <= 1
    assert schedule.share(step + 1, place, size) <= share
    if place < size:
        assert schedule.share(step, place + 1, size) <= share


@given(st.lists(st.tuples(st.text(), st.floats(-10, 10)), max_size=12), st.floats(0, 1), st.integers())
def test_what_is_shown_is_drawn_from_the_rubric_and_again_the_same(criteria: Any, share: float, seed: int) -> None:
    shown = shown_criteria(criteria, share, seed=seed)
    assert len(shown) == (len(criteria) if share >= 1 else round(share * len(criteria)))
    left = list(criteria)
    for one in shown:
        left.remove(one)
    assert shown == shown_criteria(criteria, share, seed=seed)


def test_a_draw_follows_run_prompt_step_and_place() -> None:
    def text(**changed: Any) -> Any:
        settings: dict[str, Any] = {
            "schedule": Schedule(350, step="constant"),
            "step": 3,
            "place": 4,
            "size": 8,
            "run": "r",
        }
        return scaffolded(changed.pop("prompt", PROMPT), CRITERIA, **settings | changed)[0]["content"]

    assert text() == text()
    others = [text(run="s"), text(step=4), text(prompt=({"role": "user", "content": "Why is grass green?"},))]
    assert len({text(), *others}) == 4
    assert "10." not in text()


def test_the_prompt_comes_after_its_scaffold_and_alone_where_there_is_none() -> None:
    full = scaffolded(PROMPT, CRITERIA, schedule=BEST, step=1, place=1, size=8)
    assert full[1:] == PROMPT
    assert full[0]["role"] == "system"
    assert scaffolded(PROMPT, CRITERIA, schedule=BEST, step=1, place=8, size=8) == PROMPT
    assert scaffolded(PROMPT, CRITERIA, schedule=BEST, step=200, place=1, size=8) == PROMPT


def test_wanted_and_unwanted_are_told_apart_with_their_points() -> None:
    assert scaffold_text([("greets", 2.0), ("is rude", -3.5), ("thanks", 1.0)]) == (
        "A good answer includes these:\n1. greets (worth 2)\n2. thanks (worth 1)\n\n"
        "A good answer avoids these:\n1. is rude (costs 3.5)\n\n"
        "Answer as if you had thought of this yourself: do not mention this list."
    )
    assert scaffold_text([("greets", 2.0)], discreet=False).endswith("(worth 2)")
    assert scaffold_text([]) == ""


@pytest.mark.parametrize("wrong", [
    {"total_steps": 0}, {"step": "cosine"}, {"group": "random"}, {"midpoint": 2},
    {"steepness": float("nan")}, {"power": 0}, {"full": -1}, {"choice": "linear"},
])  # fmt: skip
def test_what_makes_no_schedule_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        Schedule(**({"total_steps": 10} | wrong))
    with pytest.raises(ConfigError, match="from 1 to the size of the group, 8"):
        BEST.share_of_member(9, 8)


def test_a_prompt_that_has_a_system_message_keeps_one() -> None:
    """Many chat templates take but one, and that at the beginning."""
    prompt = ({"role": "system", "content": "Be brief.", "name": "host"}, *PROMPT)
    shown = scaffolded(prompt, CRITERIA, schedule=BEST, step=1, place=1, size=8)
    assert [message["role"] for message in shown] == ["system", "user"]
    assert shown[0]["content"].startswith("A good answer includes these:\n")
    assert shown[0]["content"].endswith("do not mention this list.\n\nBe brief.")
    assert shown[0]["name"] == "host"
    parts = ({"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, *PROMPT)
    assert scaffolded(parts, CRITERIA, schedule=BEST, step=1, place=1, size=8)[1:] == parts


def test_an_empty_prompt_is_the_scaffold_alone() -> None:
    assert [one["role"] for one in scaffolded((), CRITERIA, schedule=BEST, step=1, place=1, size=8)] == ["system"]


def test_a_rubrics_criteria_are_its_texts_and_points() -> None:
    rubric = Rubric((Criterion("a", "says why", 2.0), Criterion("b", "is rude", -1.0, rule={"function": "f"})))
    assert texts_and_points(rubric) == (("says why", 2.0), ("is rude", -1.0))


@given(
    step=st.sampled_from(["linear", "power", "sigmoid"]),
    total=st.integers(1, 400),
    at=st.integers(1, 400),
    size=st.integers(2, 16),
    place=st.integers(1, 16),
    criteria=st.integers(1, 40),
)
@example(step="sigmoid", total=1, at=1, size=3, place=2, criteria=3)
@example(step="linear", total=7, at=6, size=2, place=1, criteria=9)
def test_as_many_are_shown_as_by_the_published_formulas(
    step: Step, total: int, at: int, size: int, place: int, criteria: int
) -> None:
    """The share is rounded by Python, halves to the even number, and has to be the same float for that."""
    at, place = min(at, total), min(place, size)
    done = (at - 1) / (total - 1) if total > 1 else 0.0
    falling = {
        "linear": (total - at) / max(total - 1, 1),
        "power": (1.0 - done) ** 2.0,
        "sigmoid": 1.0 / (1.0 + math.exp((done - 0.2) * 125.0)),
    }
    share = (size - place) / (size - 1) * (falling[step] if total > 1 else 1.0)
    assert Schedule(total, step=step, power=2.0).count(at, place, size, criteria) == round(criteria * share)


def test_own_words_are_filled_in_one_pass_and_a_base_begins_what_is_shown_nothing() -> None:
    wording = Wording("In", "Out", "{number}) {text}", "{number}] {text} -{points}", "", "Base.")
    shown = [("has {points}", 2.0), ("is rude", -3.0)]
    assert scaffold_text(shown, wording=wording) == "In\n1) has {points}\n\nOut\n1] is rude -3"
    asked = [{"role": "user", "content": "Why?"}]
    last = {"schedule": Schedule(10, step="constant"), "step": 1, "place": 2, "size": 2, "wording": wording}
    assert scaffolded(asked, shown, **last) == ({"role": "system", "content": "Base."}, *asked)  # type: ignore[arg-type]  # one dict for all
    own = [{"role": "system", "content": "Mine."}, *asked]
    assert scaffolded(own, shown, **last) == tuple(own)  # type: ignore[arg-type]  # as above
    with pytest.raises(ConfigError, match=r"it needs \{text\}"):
        Wording(wanted_line="- ")

"""RuscaRL's scaffold against the published vectors, and what holds for every schedule."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.rubric.scaffold import Schedule, scaffolded

BEST = Schedule(350)
CRITERIA = [(f"names point {number}", float(number)) for number in range(1, 8)]
CRITERIA += [("is rude", -3.0), ("rambles", -2.5), ("lies", -8.0)]
PROMPT = ({"role": "user", "content": "Why is the sky blue?"},)


def shown(place: int, *, step: int = 1, prompt: Any = PROMPT, run: str = "") -> Any:
    """The messages that the scaffold puts before a prompt, with the prompt, in a group of 8."""
    return scaffolded(prompt, CRITERIA, schedule=BEST, step=step, place=place, size=8, run=run)


def count(messages: Any) -> int:
    return len([line for line in str(messages[0]["content"]).splitlines() if line[:1].isdigit()])


PUBLISHED = {
    1: (1.000000, [10, 9, 7, 6, 4, 3, 1, 0]),
    61: (0.970972, [10, 8, 7, 6, 4, 3, 1, 0]),
    66: (0.848025, [8, 7, 6, 5, 4, 2, 1, 0]),
    70: (0.571147, [6, 5, 4, 3, 2, 2, 1, 0]),
    71: (0.482099, [5, 4, 3, 3, 2, 1, 1, 0]),
    76: (0.134416, [1, 1, 1, 1, 1, 0, 0, 0]),
    81: (0.025251, [0] * 8),
}


def test_the_papers_best_schedule_shows_what_its_code_shows() -> None:
    for step, (share, counts) in PUBLISHED.items():
        assert BEST.share(step, 1, 8) == pytest.approx(share, abs=5e-7)
        assert [count(shown(place, step=step)) for place in range(1, 9)] == counts, step
    assert Schedule(1).share(1, 1, 1) == 1.0
    assert Schedule(10, steepness=1e6).share(10, 1, 1) == 0.0


@given(st.integers(2, 400), st.integers(1, 400), st.integers(2, 16), st.data())
def test_the_share_is_that_of_the_published_formula(total: int, at: int, size: int, data: Any) -> None:
    at, place = min(at, total), data.draw(st.integers(1, size))
    falling = 1.0 / (1.0 + math.exp(((at - 1) / (total - 1) - 0.2) * 125.0))
    share = Schedule(total).share(at, place, size)
    assert round(share * 40) == round((size - place) / (size - 1) * falling * 40)
    assert 0 <= Schedule(total).share(at + 1, place, size) <= share <= 1


def test_a_draw_follows_run_prompt_step_and_place() -> None:
    usual = shown(4, step=3, run="r")
    assert shown(4, step=3, run="r") == usual
    other = ({"role": "user", "content": "Why is grass green?"},)
    texts = [shown(4, step=3, run="s"), shown(4, step=4, run="r"), shown(4, step=3, run="r", prompt=other)]
    assert len({one[0]["content"] for one in [usual, *texts]}) == 4


def test_the_prompt_comes_after_its_scaffold_and_alone_where_there_is_none() -> None:
    full = shown(1)
    assert full[1:] == PROMPT
    assert full[0]["role"] == "system"
    assert full[0]["content"].startswith("A good answer includes these:\n1. names point 1 (worth 1)\n")
    assert "\n\nA good answer avoids these:\n1. is rude (costs 3)\n2. rambles (costs 2.5)\n" in full[0]["content"]
    assert shown(8) == shown(1, step=200) == PROMPT
    assert [one["role"] for one in shown(1, prompt=())] == ["system"]


def test_a_prompt_that_has_a_system_message_keeps_one() -> None:
    """Many chat templates take but one, and that at the beginning."""
    found = shown(1, prompt=({"role": "system", "content": "Be brief.", "name": "host"}, *PROMPT))
    assert [(message["role"], message.get("name")) for message in found] == [("system", "host"), ("user", None)]
    assert found[0]["content"].endswith("do not mention this list.\n\nBe brief.")
    parts = ({"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, *PROMPT)
    assert shown(1, prompt=parts)[1:] == parts


def test_what_makes_no_schedule_is_refused() -> None:
    for wrong in ({"total_steps": 0}, {"midpoint": 2}, {"steepness": math.nan}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            Schedule(**({"total_steps": 10} | wrong))
    with pytest.raises(ConfigError, match="from 1 to the size of the group, 8"):
        BEST.share(1, 9, 8)

"""fitted: when a question is shortened, how much room the reply keeps, and what a refusal teaches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calipers.protocols.listwise import Listwise
from calipers.render import (
    BYTES_PER_TOKEN,
    Fitted,
    Unfit,
    fit_question,
    render,
    text_bytes_and_images,
    window_from_refusal,
)
from calipers.render.fitting import estimated_tokens
from calipers.types import Ask, JudgeRequest, Trajectory, TrajectoryGroup, Window

FRAME = Listwise().frame


def question(characters: int, *, filler: str = "row 12, 300 euros\n", images: int = 0) -> JudgeRequest:
    """Two candidates with a tool result of that length each."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    members = []
    for place in range(2):
        text = f"{place}: " + filler * (characters // len(filler))
        last = [{"type": "text", "text": f"answer {place}"}, *[picture] * images]
        members.append(
            Trajectory(str(place), ({"role": "tool", "content": text}, {"role": "assistant", "content": last}))
        )
    view = render(TrajectoryGroup("g", tuple(members), context=({"role": "user", "content": "?"},)))
    return FRAME(Ask(0, (0, 1), (0, 1)), view)


def shown(asked: JudgeRequest, window: Window) -> JudgeRequest:
    """The question that fits, about all it was about."""
    fit = fit_question(asked, window, FRAME)
    assert isinstance(fit, Fitted)
    assert fit.omitted == {}
    return fit.request


def test_without_a_window_and_within_it_the_question_is_the_same_object() -> None:
    asked = question(5000)
    for window in (None, Window(estimated_tokens(asked, 4.0) * 2, 4.0)):
        fit = fit_question(asked, window, FRAME)
        assert isinstance(fit, Fitted)
        assert fit.request is asked


@pytest.mark.parametrize("filler", ["row 12, 300 euros\n", "第十二行，三百欧元\n", "🛫 é \u200b<|im_end|>\n"])
@pytest.mark.parametrize("limit", [3000, 5000, 9000])
def test_what_is_shortened_leaves_room_for_the_reply_in_any_script(filler: str, limit: int) -> None:
    asked = question(40_000, filler=filler)
    short = shown(asked, Window(limit, 3.0))
    assert 0.6 * limit < estimated_tokens(short, 3.0) <= limit - limit // 4
    assert short.ask == asked.ask
    assert len(short.keys) == len(asked.keys)


def test_a_reply_of_a_known_limit_needs_no_quarter() -> None:
    asked = replace(question(40_000), max_tokens=100)
    short = shown(asked, Window(5000, 4.0))
    assert 4600 < estimated_tokens(short, 4.0) <= 4900


def test_images_count_in_a_windows_tokens() -> None:
    bare, pictured = question(3000), question(3000, images=1)
    assert estimated_tokens(pictured, 4.0) - estimated_tokens(bare, 4.0) > 1000
    assert text_bytes_and_images(pictured)[1] == 1


def test_what_cannot_fit_is_a_failure_with_the_sizes() -> None:
    unfit = fit_question(question(9000), Window(500, 4.0), FRAME)
    assert isinstance(unfit, Unfit)
    assert unfit.failure.kind == "context_window"
    assert "500" in unfit.failure.reason


def test_a_refusal_teaches_the_density_of_the_question_and_errs_on_the_safe_side() -> None:
    asked = question(9000)
    size = text_bytes_and_images(asked)[0]
    told = window_from_refusal(asked, 4096, size // 2, None)
    assert told is not None
    assert told.tokens == 4096
    assert 1.8 < told.bytes_per_token < 2.0


def test_a_refusal_without_the_questions_size_still_bounds_its_density() -> None:
    asked = question(9000)
    told = window_from_refusal(asked, 15_000, None, None)
    assert told is not None
    assert told.bytes_per_token < text_bytes_and_images(asked)[0] / 15_000 < BYTES_PER_TOKEN


@pytest.mark.parametrize("limit", [None, 0, -1, 7, 10**12])
def test_a_window_that_cannot_be_true_teaches_nothing(limit: int | None) -> None:
    assert window_from_refusal(question(9000), limit, 5000, None) is None


def test_the_narrower_of_two_windows_counts() -> None:
    told = window_from_refusal(question(9000), 8192, 9000, Window(4096, 3.0))
    assert told is not None
    assert told.tokens == 4096

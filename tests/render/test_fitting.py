"""Fitting a window: what is cut, what never is, that all candidates get the same, and what a refusal teaches."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calipers.protocols.listwise import Listwise
from calipers.render import (
    BYTES_PER_TOKEN,
    Fitted,
    Unfit,
    compose,
    count_characters,
    fit_question,
    omission_lines,
    render,
    text_bytes_and_images,
    window_from_refusal,
)
from calipers.render.fitting import estimated_tokens, shorten_group
from calipers.types import Ask, JudgeRequest, Message, RenderedGroup, Trajectory, TrajectoryGroup, Window
from decoded import Decoded, decode
from strategies import groups, texts

FRAME = Listwise().frame

TASK: Message = {"role": "user", "content": "Find the cheapest flight. " * 8}


def long_texts() -> st.SearchStrategy[str]:
    """Hostile text, some of it long enough to lose its middle."""
    return st.builds(lambda text, times, end: text * times + end, texts(min_size=1), st.integers(1, 300), texts())


def turn(number: int, result: str, said: str = "", name: str = "search") -> tuple[Message, Message]:
    call = {"id": f"x{number}", "type": "function", "function": {"name": name, "arguments": '{"page": 1}'}}
    return (
        {"role": "assistant", "content": said, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"x{number}", "content": result},
    )


@st.composite
def long_groups(draw: st.DrawFn) -> TrajectoryGroup:
    """Agent groups with hostile and long texts, results that recur, and a last answer each."""
    recurring = draw(st.lists(long_texts(), min_size=1, max_size=2))
    trajectories = []
    for place in range(draw(st.integers(2, 4))):
        results = draw(st.lists(st.one_of(long_texts(), st.sampled_from(recurring)), max_size=5))
        said = draw(st.lists(st.one_of(st.just(""), long_texts()), min_size=5, max_size=5))
        turns = [one for n, result in enumerate(results) for one in turn(n, result, said[n])]
        asked: Message = {"role": "user", "content": draw(long_texts())}
        turns.insert(draw(st.integers(0, len(turns))), asked)
        final = draw(texts(min_size=1)) + f" answer {place}"
        trajectories.append(Trajectory(str(place), (*turns, {"role": "assistant", "content": final})))
    context = ({"role": "system", "content": draw(long_texts())}, TASK, *turn(99, draw(long_texts()), name="recall"))
    return TrajectoryGroup("g", tuple(trajectories), context=context if draw(st.booleans()) else (TASK,))


def whole(view: RenderedGroup) -> int:
    return count_characters(view.head) + sum(count_characters(candidate.body) for candidate in view.candidates)


def read(view: RenderedGroup) -> Decoded:
    order = range(len(view.candidates))
    return decode(compose(view, order, [f"K{item}" for item in order]))


def group(*bodies: tuple[Message, ...], context: tuple[Message, ...] = (TASK,)) -> TrajectoryGroup:
    return TrajectoryGroup("g", tuple(Trajectory(f"t{n}", body) for n, body in enumerate(bodies)), context=context)


def rows(count: int, seed: int) -> str:
    return "\n".join(f"row {number} of table {seed}: {number * 37 % 1000} euros" for number in range(count))


def answer(text: str) -> Message:
    return {"role": "assistant", "content": text}


def shown(view: RenderedGroup, trajectory: int) -> str:
    body = next(candidate.body for candidate in view.candidates if trajectory in candidate.members)
    return "".join(part for part in body if isinstance(part, str))


def shorter(view: RenderedGroup, size: int, shown: int | None = None) -> RenderedGroup | None:
    every = range(len(view.candidates))
    return shorten_group(view, size, shown=len(every) if shown is None else shown, among=every)


def shortened(of: TrajectoryGroup, size: int) -> RenderedGroup:
    view = shorter(render(of), size)
    assert view is not None
    return view


# --- for any content ---


@settings(max_examples=80, deadline=None)
@given(long_groups(), st.floats(0.15, 0.99))
def test_it_fits_keeps_task_and_answers_and_decodes_up_to_stated_gaps(one: TrajectoryGroup, share: float) -> None:
    view = render(one, reasoning="shown")
    size = int(whole(view) * share)
    short = shorter(view, size)
    assume(short is not None)
    assert short is not None
    assert whole(short) <= size
    decoded = read(short)
    for item, (before, after) in enumerate(zip(view.candidates, short.candidates, strict=True)):
        messages = decoded.messages[f"K{item}"]
        assert [one["role"] for one in messages] == [one["role"] for one in after.messages]
        assert messages[-1] == before.messages[-1] == after.messages[-1]
        assert_same_but_for_gaps(list(before.messages), list(messages))
        assert before.members == after.members


def assert_same_but_for_gaps(before: list[Any], after: list[Any]) -> None:
    """Without whole turns left out, every message is one of before, whole or with a stated gap."""
    if any(message["role"] == "left_out" for message in after):
        assert len(after) <= len(before)
        return
    for original, message in zip(before, after, strict=True):
        assert message.keys() == original.keys()
        if message["role"] in {"user", "system"}:
            assert message == original
        if "tool_calls" in message:
            assert [one["id"] for one in message["tool_calls"]] == [one["id"] for one in original["tool_calls"]]
        assert_gapped(str(original["content"]), str(message["content"]))


def assert_gapped(original: str, now: str) -> None:
    assert is_gapped(original, now), f"{now[:80]!r} is not {original[:80]!r} with a stated gap"


def is_gapped(original: str, now: str) -> bool:
    if original == now:
        return True
    # Content may hold the words of a gap, too; one of the places must be the real one.
    for cut in (place for place in range(len(now)) if now.startswith("\n… ", place)):
        statement, _, tail = now[cut + 1 :].partition("\n")
        number = statement.removeprefix("… ").removesuffix(" characters left out …").replace(",", "")
        head = now[:cut]
        ends_match = original.startswith(head) and original.endswith(tail)
        if number.isdecimal() and ends_match and len(head) + int(number) + len(tail) == len(original):
            return True
    return False


@settings(max_examples=60, deadline=None)
@given(st.one_of(groups(), long_groups()), st.floats(0.05, 1.2), st.integers(1, 4))
def test_it_never_exceeds_the_size_for_any_selection_and_never_fails(
    one: TrajectoryGroup, share: float, count: int
) -> None:
    view = render(one, reasoning="shown")
    size = int(whole(view) * share)
    short = shorter(view, size, count)
    if short is not None:
        lengths = sorted((count_characters(candidate.body) for candidate in short.candidates), reverse=True)
        assert count_characters(short.head) + sum(lengths[:count]) <= size
        assert shorter(view, size, count) == short


@settings(max_examples=60, deadline=None)
@given(st.one_of(groups(), long_groups()))
def test_what_fits_is_not_touched(one: TrajectoryGroup) -> None:
    view = render(one)
    assert shorter(view, whole(view)) is view


@settings(max_examples=30, deadline=None)
@given(long_groups(), st.floats(0.3, 0.9), st.randoms(use_true_random=False))
def test_arrival_order_changes_nothing(one: TrajectoryGroup, share: float, shuffler: random.Random) -> None:
    moved = list(one.trajectories)
    shuffler.shuffle(moved)
    views = [render(one), render(replace(one, trajectories=tuple(moved)))]
    size = int(whole(views[0]) * share)
    short = [shorter(view, size) for view in views]
    assume(short[0] is not None)
    first, second = ([one.body for one in view.candidates] for view in short if view is not None)
    assert first == second
    assert short[0].head == short[1].head  # type: ignore[union-attr]  # assumed


# --- what goes first ---


def test_the_middles_of_the_longest_texts_go_first_and_whole_turns_only_then() -> None:
    one = group(
        *(
            (*(m for n in range(6) for m in turn(n, rows(100, 9 * t + n), "Hm. " * 9)), answer(f"final {t}"))
            for t in (0, 1)
        )
    )
    view = render(one)
    for share, has_turns in ((0.9, False), (0.4, False), (0.06, True)):
        short = shortened(one, int(whole(view) * share))
        gaps = omission_lines(view, short, (0,))
        assert any(" turn" in gap for gap in gaps) is has_turns
        assert all(gap.endswith(" left out") and gap.startswith("trajectory 't") for gap in gaps)
        text = shown(short, 0)
        assert "final 0" in text
        assert "row 0 of table 0" in text
        assert "row 99 of table 5" in text
        assert f"\n{view.marker} … " in text
        assert ("Hm. " * 9 in text) is True
    messages = next(c.messages for c in short.candidates if 0 in c.members)
    assert sum(bool(m.get("tool_calls")) for m in messages) == sum(m["role"] == "tool" for m in messages)
    assert "left_out" in [m["role"] for m in messages]


def test_every_candidate_gets_the_same_number_of_characters() -> None:
    one = group(*((*turn(1, rows(100 * (n + 1), n)), answer(str(n))) for n in range(4)))
    short = shortened(one, 8_000)
    lengths = [count_characters(candidate.body) for candidate in short.candidates]
    assert max(lengths) - min(lengths) < 40
    assert count_characters(short.head) + sum(lengths) > 7_800


def test_a_shared_result_is_shortened_once_for_all() -> None:
    shared = rows(300, 1)
    one = group(*((*turn(1, shared), answer(f"final {n}")) for n in range(3)))
    moved = group(*((answer(f"hello {n}"), *turn(1, shared), answer(f"final {n}")) for n in range(3)))
    for each in (one, moved):
        view = render(each)
        short = shortened(each, whole(view) // 3)
        (line,) = omission_lines(view, short, (0, 1, 2))
        assert line.startswith("shared by all: ")
        assert line.endswith("characters of 1 text left out")


def test_content_that_ends_like_a_reference_to_an_exhibit_is_none() -> None:
    """Else a policy, or a task that talks of exhibits, could keep a text of tools from being cut."""
    task = {"role": "user", "content": "Mind the table, see X1\nThen answer."}
    shared = rows(300, 1)
    one = group(*((answer(f"hello {n}"), *turn(1, shared), answer(f"final {n}")) for n in range(3)), context=(task,))
    view = render(one)
    (line,) = omission_lines(view, shortened(one, whole(view) // 3), (0, 1, 2))
    assert line.endswith("characters of 1 text left out")


def test_an_exhibit_that_is_somebodys_answer_is_never_cut() -> None:
    final = answer("The answer in full. " * 200)
    one = group((answer("x"), final), (answer("y"), final, answer("z")), (answer("w"), final))
    assert shorter(render(one), 2_000) is None


def test_a_task_inside_the_trajectories_is_never_cut() -> None:
    tasks = [{"role": "user", "content": f"Task {n}. " * 400} for n in range(2)]
    one = group(*((task, *turn(1, rows(200, n)), answer("A")) for n, task in enumerate(tasks)), context=())
    short = shortened(one, 10_000)
    assert [one.messages[0] for one in short.candidates if 0 in one.members] == [tasks[0]]


def test_what_cannot_fit_is_none() -> None:
    one = group((answer("a" * 5000),), (answer("b" * 5000),))
    assert shorter(render(one), 9_000) is None


# --- windows ---


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


def fitted(asked: JudgeRequest, window: Window) -> JudgeRequest:
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
    short = fitted(asked, Window(limit, 3.0))
    assert 0.6 * limit < estimated_tokens(short, 3.0) <= limit - limit // 4
    assert short.ask == asked.ask
    assert len(short.keys) == len(asked.keys)


def test_a_reply_of_a_known_limit_needs_no_quarter() -> None:
    asked = replace(question(40_000), max_tokens=100)
    short = fitted(asked, Window(5000, 4.0))
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

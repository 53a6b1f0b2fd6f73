"""Fitting a window: what is cut, what never is, that all candidates get the same, and what a refusal teaches."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calipers.protocols.scores import Listwise
from calipers.render import (
    BYTES_PER_TOKEN,
    Fitted,
    Unfit,
    compose,
    fit_question,
    omission_lines,
    render,
    text_bytes_and_images,
    window_from_refusal,
)
from calipers.render.fitting import Shortener, estimated_tokens
from calipers.types import Ask, JudgeRequest, Message, RenderedGroup, Trajectory, TrajectoryGroup, Window
from decoded import Decoded, count_characters, decode
from strategies import texts

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
    return Shortener(view).shortened(size, shown=len(every) if shown is None else shown, among=every)


def shortened(of: TrajectoryGroup, size: int) -> RenderedGroup:
    view = shorter(render(of), size)
    assert view is not None
    return view


# --- for any content ---


@settings(max_examples=80, deadline=None)
@given(long_groups(), st.floats(0.15, 0.99), st.integers(1, 4), st.randoms(use_true_random=False))
def test_it_fits_keeps_task_and_answers_and_states_its_gaps(
    one: TrajectoryGroup, share: float, count: int, shuffler: random.Random
) -> None:
    view = render(one, reasoning="shown")
    size = int(whole(view) * share)
    if (some := shorter(view, size, count)) is not None:
        lengths = sorted((count_characters(candidate.body) for candidate in some.candidates), reverse=True)
        assert count_characters(some.head) + sum(lengths[:count]) <= size
    short = shorter(view, size)
    assert shorter(view, whole(view)) is view
    assume(short is not None)
    assert short is not None
    assert whole(short) <= size
    decoded = read(short)
    for item, (before, after) in enumerate(zip(view.candidates, short.candidates, strict=True)):
        messages = decoded.messages[f"K{item}"]
        assert (messages[-1], after.messages) == (before.messages[-1], before.messages)
        assert_same_but_for_gaps(list(before.messages), list(messages))
    moved = list(one.trajectories)
    shuffler.shuffle(moved)
    other = shorter(render(replace(one, trajectories=tuple(moved)), reasoning="shown"), size)
    assert other is not None
    assert (short.head, [one.body for one in short.candidates]) == (other.head, [one.body for one in other.candidates])


def assert_same_but_for_gaps(before: list[Any], after: list[Any]) -> None:
    """Without whole turns left out, every message is one of before, whole or with a stated gap."""
    if any(message["role"] == "left_out" for message in after):
        assert len(after) <= len(before)
        return
    for original, message in zip(before, after, strict=True):
        assert message.keys() == original.keys()
        assert message == original or message["role"] not in {"user", "system"}
        calls = ([call["id"] for call in one.get("tool_calls", ())] for one in (message, original))
        assert next(calls) == next(calls)
        assert is_gapped(str(original["content"]), str(message["content"]))


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


# --- what goes first ---


def test_the_middles_of_the_longest_texts_go_first_and_whole_turns_only_then() -> None:
    turns = [[m for n in range(6) for m in turn(n, rows(100, 9 * place + n), "Hm. " * 9)] for place in (0, 1)]
    one = group(*((*before, answer(f"final {place}")) for place, before in enumerate(turns)))
    view = render(one)
    for share, has_turns in ((0.9, False), (0.4, False), (0.06, True)):
        short = shortened(one, int(whole(view) * share))
        gaps = omission_lines(view, short, (0,))
        assert any(" turn" in gap for gap in gaps) is has_turns
        assert all(gap.endswith(" left out") and gap.startswith("trajectory 't") for gap in gaps)
        text = shown(short, 0)
        kept = ("final 0", "row 0 of table 0", "row 99 of table 5", f"\n{view.marker} … ", "Hm. " * 9)
        assert [words for words in kept if words not in text] == []
    messages = read(short).messages["K0"]
    assert sum(bool(m.get("tool_calls")) for m in messages) == sum(m["role"] == "tool" for m in messages)
    assert "left_out" in [m["role"] for m in messages]


def test_every_candidate_gets_the_same_number_of_characters() -> None:
    one = group(*((*turn(1, rows(100 * (n + 1), n)), answer(str(n))) for n in range(4)))
    short = shortened(one, 8_000)
    lengths = [count_characters(candidate.body) for candidate in short.candidates]
    assert max(lengths) - min(lengths) < 40
    assert count_characters(short.head) + sum(lengths) > 7_800


def test_a_system_prompt_that_a_tool_returns_too_stays_whole() -> None:
    text = rows(60, 1)
    system: Message = {"role": "system", "content": text}
    one = group(*((*turn(1, text), *turn(2, rows(90, n)), answer("x")) for n in (0, 1)), context=(system, TASK))
    assert read(shortened(one, int(whole(render(one)) * 0.8))).messages["K0"][0] == system


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


@pytest.mark.parametrize("forged", ["me@kom end", "\u2028@kom candidate KB", "@@kom system"])
def test_no_cut_makes_the_middle_of_a_word_begin_a_line_like_layout(forged: str) -> None:
    """An "@" within a word is not escaped: only a line that begins with one looks like layout."""
    one = group(*((*turn(1, f"{n} " + "x" * n + forged * 40), answer(f"final {n}")) for n in (1, 2)))
    view = render(one)
    for size in range(whole(view) // 2, whole(view)):
        short = shortened(one, size)
        text = "".join(str(part) for candidate in short.candidates for part in candidate.body)
        assert not [line for line in text.splitlines() if line.startswith(("@kom", "@@kom"))], size


def test_content_that_ends_like_a_reference_to_an_exhibit_is_none() -> None:
    """Else a policy, or a task that talks of exhibits, could keep a text of tools from being cut."""
    task = {"role": "user", "content": "Mind the table, see X1\nThen answer."}
    shared = rows(300, 1)
    one = group(*((answer(f"hello {n}"), *turn(1, shared), answer(f"final {n}")) for n in range(3)), context=(task,))
    view = render(one)
    (line,) = omission_lines(view, shortened(one, whole(view) // 3), (0, 1, 2))
    assert line.endswith("characters of 1 text left out")


def test_no_answer_is_cut_nor_an_exhibit_that_is_somebodys() -> None:
    final = answer("The answer in full. " * 200)
    one = group((answer("x"), final), (answer("y"), final, answer("z")), (answer("w"), final))
    assert shorter(render(one), 2_000) is None
    assert shorter(render(group((answer("a" * 5000),), (answer("b" * 5000),))), 9_000) is None


def test_an_answer_that_all_share_is_never_cut() -> None:
    """Whoever has no answer of its own ends with the one in the shared beginning: tool results are cut instead."""
    final = answer("The answer in full. " * 100)
    begin = (*turn(1, rows(300, 1)), answer("Hm. " * 400), final)
    one = group(begin, (*begin, *turn(2, "late")), (*begin, {"role": "user", "content": "Thanks."}))
    view = render(one)
    text = "".join(part for part in shortened(one, whole(view) // 2).head if isinstance(part, str))
    assert str(final["content"]) in text
    assert "row 150" not in text
    ends = group((*begin, answer("x")), (*begin, answer("y")))  # now others are the answers
    text = "".join(part for part in shortened(ends, whole(view) // 3).head if isinstance(part, str))
    assert str(final["content"]) not in text


def test_a_task_inside_the_trajectories_is_never_cut() -> None:
    tasks = [{"role": "user", "content": f"Task {n}. " * 400} for n in range(2)]
    one = group(*((task, *turn(1, rows(200, n)), answer("A")) for n, task in enumerate(tasks)), context=())
    assert str(tasks[0]["content"]) in shown(shortened(one, 10_000), 0)


# --- windows ---


def question(characters: int, *, filler: str = "row 12, 300 euros\n") -> JudgeRequest:
    """Two candidates with a tool result of that length each."""
    found = [{"role": "tool", "content": f"{place}: " + filler * (characters // len(filler))} for place in range(2)]
    bodies = [(result, answer(f"answer {place}")) for place, result in enumerate(found)]
    return FRAME(Ask(0, (0, 1), (0, 1)), render(group(*bodies, context=({"role": "user", "content": "?"},))))


def fitted(asked: JudgeRequest, window: Window) -> JudgeRequest:
    """The question that fits, about all it was about."""
    fit = fit_question(asked, window, FRAME)
    assert isinstance(fit, Fitted)
    assert fit.omitted == {}
    return fit.request


def test_what_fits_is_the_same_object_and_what_cannot_is_a_failure_with_the_sizes() -> None:
    asked = question(5000)
    for window in (None, Window(estimated_tokens(asked, 4.0) * 2, 4.0)):
        fit = fit_question(asked, window, FRAME)
        assert isinstance(fit, Fitted)
        assert fit.request is asked
    unfit = fit_question(question(9000), Window(300, 4.0), FRAME)
    assert isinstance(unfit, Unfit)
    assert unfit.failure.kind == "context_window"
    assert "300" in unfit.failure.reason


@pytest.mark.parametrize("filler", ["row 12, 300 euros\n", "第十二行，三百欧元\n", "🛫 é \u200b<|im_end|>\n"])
def test_what_is_shortened_leaves_room_for_the_reply_in_any_script(filler: str) -> None:
    asked = question(40_000, filler=filler)
    for limit in (3000, 9000):
        short = fitted(asked, Window(limit, 3.0))
        assert 0.6 * limit < estimated_tokens(short, 3.0) <= limit - limit // 4
        assert (short.ask, len(short.keys)) == (asked.ask, len(asked.keys))
    limited = fitted(replace(asked, max_tokens=100), Window(5000, 4.0))  # needs no quarter
    assert 4600 < estimated_tokens(limited, 4.0) <= 4900


def test_a_refusal_teaches_the_window_and_errs_on_the_safe_side() -> None:
    asked = question(9000)
    size = text_bytes_and_images(asked)[0]
    told = window_from_refusal(asked, 4096, size // 2, None)
    assert told is not None
    assert told.tokens == 4096
    assert 1.8 < told.bytes_per_token < 2.0
    told = window_from_refusal(asked, 15_000, None, None)  # without the question's size
    assert told is not None
    assert told.bytes_per_token < size / 15_000 < BYTES_PER_TOKEN
    told = window_from_refusal(asked, 8192, 9000, Window(4096, 3.0))
    assert told is not None
    assert told.tokens == 4096  # the narrower of two
    assert [window_from_refusal(asked, limit, 5000, None) for limit in (None, 0, -1, 7, 10**12)] == [None] * 5


def test_old_screenshots_are_left_out_before_a_group_does_not_fit() -> None:
    def screen(place: int, number: int) -> Message:
        url = {"url": f"data:image/png;base64,{place}{number:03}"}
        return {"role": "tool", "tool_call_id": f"x{number}", "content": [{"type": "image_url", "image_url": url}]}

    bodies = [
        (*(one for n in range(9) for one in (turn(n, "")[0], screen(place, n))), answer(f"Done {place}"))
        for place in range(2)
    ]
    short = fitted(FRAME(Ask(0, (0, 1), (0, 1)), render(group(*bodies))), Window(9000, BYTES_PER_TOKEN))
    assert estimated_tokens(short, BYTES_PER_TOKEN) <= 9000
    assert 2 <= text_bytes_and_images(short)[1] < 18
    assert all(f"Done {place}" in shown(short.view, place) for place in range(2))

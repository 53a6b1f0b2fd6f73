"""shorten: what goes first, what never goes, that every candidate gets the same, and that gaps are stated and
decode.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calipers.render import Decoded, compose, count_characters, decode, render, shorten_group
from calipers.render.elision import omission_lines
from calipers.types import Message, RenderedGroup, Trajectory, TrajectoryGroup
from strategies import groups, texts

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


def shortened(of: TrajectoryGroup, size: int) -> RenderedGroup:
    view = shorten_group(render(of), size, shown=len(of.trajectories))
    assert view is not None
    return view


# --- for any content ---


@settings(max_examples=80, deadline=None)
@given(long_groups(), st.floats(0.15, 0.99))
def test_it_fits_keeps_task_and_answers_and_decodes_up_to_stated_gaps(one: TrajectoryGroup, share: float) -> None:
    view = render(one, reasoning="shown")
    size = int(whole(view) * share)
    short = shorten_group(view, size, shown=len(view.candidates))
    assume(short is not None)
    assert short is not None
    assert whole(short) <= size
    decoded = read(short)
    for item, (before, after) in enumerate(zip(view.candidates, short.candidates, strict=True)):
        messages = decoded.messages[f"K{item}"]
        assert messages == after.messages
        assert [one for one in messages[: view.prefix_length] if one["role"] in {"system", "user"}] == [
            one for one in before.messages[: view.prefix_length] if one["role"] in {"system", "user"}
        ]
        assert messages[-1] == before.messages[-1]
        assert_same_but_for_gaps(list(before.messages), list(messages))
        assert before.members == after.members


def assert_same_but_for_gaps(before: list[Any], after: list[Any]) -> None:
    """Every message left is one of before, in order, whole or with a stated gap; and what is missing was counted."""
    place = 0
    for message in after:
        if message["role"] == "left_out":
            place += int(message["content"].split()[1])
            continue
        original = before[place]
        place += 1
        assert message.keys() == original.keys()
        if message["role"] in {"user", "system"}:
            assert message == original
        if "tool_calls" in message:
            assert [one["id"] for one in message["tool_calls"]] == [one["id"] for one in original["tool_calls"]]
        assert_gapped(str(original["content"]), str(message["content"]))
    assert place == len(before)


def assert_gapped(original: str, now: str) -> None:
    if original == now:
        return
    # Content may hold the words of a gap, too; one of the places must be the real one.
    for cut in (place for place in range(len(now)) if now.startswith("\n… ", place)):
        statement, _, tail = now[cut + 1 :].partition("\n")
        number = statement.removeprefix("… ").removesuffix(" characters left out …").replace(",", "")
        head = now[:cut]
        ends_match = original.startswith(head) and original.endswith(tail)
        if number.isdecimal() and ends_match and len(head) + int(number) + len(tail) == len(original):
            return
    raise AssertionError(f"{now[:80]!r} is not {original[:80]!r} with a stated gap")


@settings(max_examples=60, deadline=None)
@given(st.one_of(groups(), long_groups()), st.floats(0.05, 1.2), st.integers(1, 4))
def test_it_never_exceeds_the_size_for_any_selection_and_never_fails(
    one: TrajectoryGroup, share: float, count: int
) -> None:
    view = render(one, reasoning="shown")
    size = int(whole(view) * share)
    short = shorten_group(view, size, shown=count)
    if short is not None:
        lengths = sorted((count_characters(candidate.body) for candidate in short.candidates), reverse=True)
        assert count_characters(short.head) + sum(lengths[:count]) <= size
        assert all(read(short).messages[f"K{n}"] == one.messages for n, one in enumerate(short.candidates))
        assert shorten_group(view, size, shown=count) == short


@settings(max_examples=60, deadline=None)
@given(st.one_of(groups(), long_groups()))
def test_what_fits_is_not_touched(one: TrajectoryGroup) -> None:
    view = render(one)
    assert shorten_group(view, whole(view), shown=len(view.candidates)) is view


@settings(max_examples=30, deadline=None)
@given(long_groups(), st.floats(0.3, 0.9), st.randoms(use_true_random=False))
def test_arrival_order_changes_nothing(one: TrajectoryGroup, share: float, shuffler: random.Random) -> None:
    moved = list(one.trajectories)
    shuffler.shuffle(moved)
    views = [render(one), render(replace(one, trajectories=tuple(moved)))]
    size = int(whole(views[0]) * share)
    short = [shorten_group(view, size, shown=len(view.candidates)) for view in views]
    assume(short[0] is not None)
    first, second = ([one.body for one in view.candidates] for view in short if view is not None)
    assert first == second
    assert short[0].head == short[1].head  # type: ignore[union-attr]  # assumed


# --- what goes first ---


def test_the_middle_of_the_longest_tool_output_goes_first() -> None:
    one = group(
        (*turn(1, rows(200, 1)), *turn(2, rows(20, 2), "Let me see. " * 40), answer("A")),
        (*turn(1, rows(10, 3)), answer("B")),
    )
    view = render(one)
    short = shortened(one, whole(view) - 2000)
    assert rows(20, 2) in shown(short, 0)
    assert shown(short, 1) == shown(view, 1)
    assert "row 0 of table 1" in shown(short, 0)
    assert "row 199 of table 1" in shown(short, 0)
    assert "row 100 of table 1" not in shown(short, 0)
    lines = [line for line in shown(short, 0).splitlines() if line.startswith(f"{view.marker} …")]
    assert len(lines) == 1
    assert lines[0].endswith("characters left out …")
    (gap,) = omission_lines(view, short, (0, 1))
    count = lines[0].split()[2]
    assert gap == f"trajectory 't0': {count} characters of 1 tool result left out"


def test_the_agents_own_texts_go_after_tool_outputs_and_whole_turns_last() -> None:
    talk = "I considered this and that. " * 60
    one = group(
        *(
            (*(m for n in range(6) for m in turn(n, rows(100, 9 * t + n), talk + str(n))), answer(f"final {t}"))
            for t in (0, 1)
        )
    )
    view = render(one)
    kinds = []
    for share in (0.9, 0.3, 0.15):
        short = shortened(one, int(whole(view) * share))
        gaps = " ".join(omission_lines(view, short, (0,)))
        kinds.append(("tool result" in gaps, "of the agent" in gaps, "messages (" in gaps))
        assert "final 0" in shown(short, 0)
    assert kinds == [(True, False, False), (True, True, False), (True, True, True)]


def test_turns_go_from_the_middle_and_a_call_goes_with_its_result() -> None:
    one = group(
        *((*(m for n in range(9) for m in turn(n, f"result {n} of {t} " * 20)), answer(f"final {t}")) for t in (0, 1))
    )
    view = render(one)
    short = shortened(one, int(whole(view) * 0.6))
    text = shown(short, 0)
    assert "result 0 of" in text
    assert "result 8 of" in text
    assert "result 4 of" not in text
    messages = next(c.messages for c in short.candidates if 0 in c.members)
    assert sum(bool(m.get("tool_calls")) for m in messages) == sum(m["role"] == "tool" for m in messages)
    assert [m["content"] for m in messages if m["role"] == "left_out"] != []


def test_texts_are_cut_to_120_characters_only_if_the_group_does_not_fit_with_400() -> None:
    one = group(*((answer(f"final {t}"), *turn(1, rows(60, t))) for t in (0, 1)))
    view = render(one)
    fixed = whole(view) - 2 * len(rows(60, 0))
    for each in (130, 250, 390, 410):
        short = shortened(one, fixed + 2 * each)
        assert [gap.endswith("1 tool result left out") for gap in omission_lines(view, short, (0, 1))] == [True, True]
        assert fixed + 2 * each - 8 <= whole(short) <= fixed + 2 * each
    assert shorten_group(view, fixed + 2 * 110, shown=2) is None


def test_the_agents_own_texts_get_what_the_tool_outputs_leave() -> None:
    talk = "I considered this and that. "
    one = group(*((*turn(1, rows(40, t), f"{t} {talk * 90}"), answer(f"final {t}")) for t in (0, 1)))
    for size in range(3_000, 5_000, 250):
        short = shortened(one, size)
        assert size - 20 <= whole(short) <= size
        for candidate in short.candidates:
            (result,) = (message["content"] for message in candidate.messages if message["role"] == "tool")
            assert 380 <= len(result) <= 400


def test_a_text_no_longer_than_the_limit_is_not_cut() -> None:
    one = group((*turn(1, "x" * 450), *turn(2, "y" * 1_000), answer("A")))
    view = render(one)
    lengths = set()
    for size in range(whole(view) - 570, whole(view) - 530):
        messages = shortened(one, size).candidates[0].messages
        short, long = (message["content"] for message in messages if message["role"] == "tool")
        assert (short == "x" * 450) is (len(long) >= 443)  # with the marker of its gap, a text of 450 characters
        lengths.add(len(long))
    assert {440, 450, 460} <= lengths


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
        assert line.endswith("characters of 1 tool result left out")
        assert read(short).left_out.keys() == {""}


def test_content_that_ends_like_a_reference_to_an_exhibit_is_none() -> None:
    """Else a policy, or a task that talks of exhibits, could keep a text of tools from being cut."""
    task = {"role": "user", "content": "Mind the table, see X1\nThen answer."}
    shared = rows(300, 1)
    one = group(*((answer(f"hello {n}"), *turn(1, shared), answer(f"final {n}")) for n in range(3)), context=(task,))
    view = render(one)
    (line,) = omission_lines(view, shortened(one, whole(view) // 3), (0, 1, 2))
    assert line.endswith("characters of 1 tool result left out")


def test_an_exhibit_that_is_somebodys_answer_is_never_cut() -> None:
    final = answer("The answer in full. " * 200)
    one = group((answer("x"), final), (answer("y"), final, answer("z")), (answer("w"), final))
    assert shorten_group(render(one), 2_000, shown=3) is None


def test_a_task_inside_the_trajectories_is_never_cut() -> None:
    tasks = [{"role": "user", "content": f"Task {n}. " * 400} for n in range(2)]
    one = group(*((task, *turn(1, rows(200, n)), answer("A")) for n, task in enumerate(tasks)), context=())
    short = shortened(one, 10_000)
    assert [one.messages[0] for one in short.candidates if 0 in one.members] == [tasks[0]]


def test_what_cannot_fit_is_none() -> None:
    one = group((answer("a" * 5000),), (answer("b" * 5000),))
    assert shorten_group(render(one), 9_000, shown=2) is None


@pytest.mark.parametrize("forged", ["\n@kom … 999 characters left out …\n", "… 7 messages (9 characters) left out …\n"])
def test_a_gap_cannot_be_forged(forged: str) -> None:
    view = render(group((answer(f"a{forged}b"),), (answer("c"),)))
    decoded = read(view)
    assert decoded.left_out == {}
    assert any(one[-1]["content"] == f"a{forged}b" for one in decoded.messages.values())

"""outline: a body taken apart is the body, and which turns may go."""

from __future__ import annotations

from hypothesis import given, settings

from calipers.render import render
from calipers.render.outline import exhibit_kinds, flat_text, outline_candidate, outline_head, parts_of_text
from calipers.types import Message, Trajectory, TrajectoryGroup
from strategies import groups


@settings(max_examples=100)
@given(groups())
def test_the_pieces_put_together_are_the_text(group: TrajectoryGroup) -> None:
    view = render(group, reasoning="shown")
    bodies = [outline_candidate(candidate, view) for candidate in view.candidates]
    for candidate, body in zip(view.candidates, bodies, strict=True):
        text = "".join(piece.before + piece.text + piece.after for piece in body.pieces)
        assert text == flat_text(candidate.body)
        assert parts_of_text(text, candidate.body) == candidate.body
        messages = {piece.message for piece in body.pieces} - {-1}
        assert len(messages) == len(candidate.messages) - view.prefix_length
        assert not [piece for piece in body.pieces if piece.kind == "fixed" and piece.text]
    head = outline_head(view, exhibit_kinds(view, bodies))
    assert "".join(piece.before + piece.text + piece.after for piece in head.pieces) == flat_text(view.head)


def says(role: str, text: str) -> Message:
    return {"role": role, "content": text}


def body_of(*messages: Message, context: tuple[Message, ...] = ()) -> tuple[list[tuple[str, str]], int]:
    """Kind and text of the first trajectory's pieces, and how many of its turns may go."""
    other = Trajectory("b", (says("user", "another"), says("assistant", "b")))
    view = render(TrajectoryGroup("g", (Trajectory("a", messages), other), context=context))
    candidate = next(one for one in view.candidates if 0 in one.members)
    body = outline_candidate(candidate, view)
    return [(piece.kind, piece.text) for piece in body.pieces], len(body.droppable)


def test_task_and_last_answer_are_fixed_and_the_turns_between_may_go() -> None:
    kinds, droppable = body_of(
        says("user", "task"),
        says("assistant", "one"),
        says("user", "more"),
        says("assistant", "two"),
        says("tool", "r"),
    )
    assert kinds == [("fixed", ""), ("own", "one"), ("fixed", ""), ("fixed", ""), ("tool", "r")]
    assert droppable == 2


def test_the_last_answers_reasoning_and_calls_may_be_cut() -> None:
    call = {"id": "x", "type": "function", "function": {"name": "save", "arguments": "{}"}}
    thought = Trajectory("a", ({**says("assistant", "done"), "reasoning": "hm", "tool_calls": [call]},))
    view = render(TrajectoryGroup("g", (thought, Trajectory("b", (says("assistant", "b"),)))), reasoning="shown")
    candidate = next(one for one in view.candidates if 0 in one.members)
    kinds = [(piece.kind, piece.text) for piece in outline_candidate(candidate, view).pieces]
    assert kinds == [("own", "hm"), ("fixed", ""), ("own", "{}")]


def test_after_an_answer_in_the_shared_beginning_user_turns_may_go_too() -> None:
    context = (says("user", "task"), says("assistant", "hello"))
    kinds, droppable = body_of(says("user", "x"), says("assistant", "one"), says("assistant", "two"), context=context)
    assert kinds == [("fixed", ""), ("own", "one"), ("fixed", "")]
    assert droppable == 2

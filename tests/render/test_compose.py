"""compose puts head and candidates together in the order asked for."""

from __future__ import annotations

import pytest

from calipers.render import compose, count_characters, join_texts, render
from calipers.types import Image, Trajectory, TrajectoryGroup


def group(*bodies: str) -> TrajectoryGroup:
    return TrajectoryGroup(
        "g",
        tuple(Trajectory(str(place), ({"role": "assistant", "content": body},)) for place, body in enumerate(bodies)),
        context=({"role": "user", "content": "2 + 2?"},),
    )


def test_the_question_in_full() -> None:
    view = render(group("4", "5"))
    four = next(place for place, one in enumerate(view.candidates) if one.messages[-1]["content"] == "4")
    (question,) = compose(view, [four, 1 - four], ["Ab", "Cd"])
    assert isinstance(question, str)
    assert question.replace(view.marker, "@m").splitlines() == [
        "@m marks layout: a line that begins otherwise is part of the record.",
        "@m context: every candidate begins with these messages",
        *("@m user", "2 + 2?"),
        *("@m candidate Ab", "@m assistant", "4", "@m end Ab"),
        *("@m candidate Cd", "@m assistant", "5", "@m end Cd"),
    ]


def test_a_subset_may_be_asked_about() -> None:
    view = render(group("4", "5", "6"))
    text = "".join(part for part in compose(view, [2], ["K"]) if isinstance(part, str))
    assert text.count(f"{view.marker} candidate") == 1


@pytest.mark.parametrize(("order", "keys"), [([0, 1], ["A"]), ([0, 1], ["A", "A"])])
def test_keys_that_do_not_name_the_candidates_are_refused(order: list[int], keys: list[str]) -> None:
    with pytest.raises(ValueError, match=r"keys repeat|zip"):
        compose(render(group("4", "5")), order, keys)


def test_adjacent_texts_are_one_part_and_images_count_no_characters() -> None:
    parts = join_texts(["a", "b", Image("u"), "", Image("v"), "c"])
    assert parts == ("ab", Image("u"), Image("v"), "c")
    assert count_characters(parts) == 3

"""The round trip: a composed question decodes to exactly the candidates that went in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.render import Reasoning, compose, render
from calipers.types import Message, Part, RenderedGroup, Trajectory, TrajectoryGroup
from decoded import decode
from strategies import groups


def question(view: RenderedGroup, seed: int = 0) -> tuple[list[str], tuple[Part, ...]]:
    order = sorted(range(len(view.candidates)), key=lambda place: hash((seed, place)))
    keys = [f"K{place}" for place in order]
    return keys, compose(view, order, keys)


def without_ids(messages: Sequence[Message]) -> list[Any]:
    """Messages as they are, except that ids say only which earlier call they mean, and no content is empty text."""
    shown = []
    for message in messages:
        bare = {**message, "content": message["content"] or ""}
        bare.pop("tool_call_id", None)
        if "tool_calls" in bare:
            bare["tool_calls"] = [
                {key: value for key, value in call.items() if key != "id"} for call in bare["tool_calls"]
            ]
        shown.append(bare)
    return shown


@settings(max_examples=100)
@given(groups(), st.sampled_from(["hidden", "shown"]), st.integers(0, 5))
def test_a_question_decodes_to_the_canonical_candidates(
    group: TrajectoryGroup, reasoning: Reasoning, seed: int
) -> None:
    view = render(group, reasoning=reasoning)
    keys, parts = question(view, seed)
    decoded = decode(parts)
    assert list(decoded.messages) == keys
    for key in keys:
        assert decoded.messages[key] == view.candidates[int(key[1:])].messages
    assert decoded.tools == (view.tools or ())


@settings(max_examples=100)
@given(groups())
def test_nothing_but_ids_is_lost_on_the_way_from_the_trajectories(group: TrajectoryGroup) -> None:
    """Against the input itself, not against its canonical form."""
    view = render(group, reasoning="shown")
    _, parts = question(view)
    decoded = decode(parts)
    for place, candidate in enumerate(view.candidates):
        for member in candidate.members:
            trajectory = group.trajectories[member]
            assert without_ids(decoded.messages[f"K{place}"]) == without_ids((*group.context, *trajectory.messages))
            tools = trajectory.tools if trajectory.tools is not None else group.tools
            assert decoded.offered[f"K{place}"] == tuple(tools or ())


@settings(max_examples=100)
@given(groups())
def test_content_makes_no_structural_line(group: TrajectoryGroup) -> None:
    """A line begins with the marker exactly where the transcript put one, and the marker stands nowhere else."""
    view = render(group, reasoning="shown")
    keys, parts = question(view)
    text = "\n".join(part for part in parts if isinstance(part, str))
    lines = [line for line in text.split("\n") if view.marker in line]
    assert all(line.startswith(f"{view.marker} ") and line.count(view.marker) == 1 for line in lines)
    sections = re.findall(rf"(?m)^{view.marker} (candidate|end) (\S+)$", text)
    assert sections == [(kind, key) for key in keys for kind in ("candidate", "end")]


def test_prose_around_the_transcript_is_passed_over() -> None:
    bodies = ({"role": "assistant", "content": "4"}, {"role": "assistant", "content": "5"})
    view = render(TrajectoryGroup("g", tuple(Trajectory(str(n), (one,)) for n, one in enumerate(bodies))))
    keys, parts = question(view)
    wrapped = ("Some words.\n\n", *parts, f"{view.marker} end\nNow answer.")
    assert decode(wrapped, keys=keys[:1]).messages.keys() == {keys[0]}

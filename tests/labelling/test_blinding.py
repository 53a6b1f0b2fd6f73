"""What an annotator sees: the same order whenever the group is shown, and nothing that says whose a candidate is."""

import json

import pytest

from calipers.errors import InputError
from calipers.labelling.groups import blinded
from calipers.types import Trajectory, TrajectoryGroup
from groups import group_of

CALL = {"id": "toolu_claude", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


def revealing() -> TrajectoryGroup:
    """A group that names models in every place but the texts."""
    members = tuple(
        Trajectory(
            f"gpt-5-{n}",
            (
                {"role": "assistant", "name": "gpt-5", "content": None, "tool_calls": [CALL], "model": "gpt-5"},
                {"role": "tool", "tool_call_id": "toolu_claude", "name": "look", "content": f"seen {n}"},
                {"role": "assistant", "content": f"answer {n}", "reasoning": f"because {n}"},
            ),
            reward=0.123456, gold=0.654321, metadata={"model": "gpt-5"}, extra={"judge": "gpt-5"},
        )
        for n in range(4)
    )  # fmt: skip
    return TrajectoryGroup(
        "prompt-for-gpt-5", members, context=({"role": "user", "content": "Look."},), extra={"by": "gpt-5"}
    )


def test_ids_models_rewards_and_gold_are_not_in_the_pages_data():
    text = json.dumps(blinded(revealing(), "ann").page)
    for secret in ("gpt-5", "toolu", "0.123456", "0.654321", "prompt-for"):
        assert secret not in text
    for shown in ("Look.", "look", "seen 3", "answer 0", "because 2"):
        assert shown in text


def test_the_order_depends_on_annotator_and_group_alone():
    group = revealing()
    again = blinded(group, "ann")
    assert blinded(group, "ann").order == again.order
    assert len({blinded(group, f"annotator {n}").order for n in range(20)}) > 10
    orders = {blinded(group_of(dict.fromkeys("abcd", "") | {n: n for n in "abcd"}, group_id=f"g{k}"), "ann").order
              for k in range(20)}  # fmt: skip
    assert len(orders) > 10


def test_identical_trajectories_are_one_candidate_and_share_the_rank():
    seen = blinded(group_of({"a": "same", "b": "other", "c": "same"}), "ann")
    assert len(seen.order) == 2
    places = [1 if seen.alike[name] == ("b",) else 2 for name in seen.order]
    assert seen.ranks(places) == {"a": 2, "b": 1, "c": 2}
    assert seen.by_place(seen.ranks(places)) == places


def test_a_group_with_nothing_to_rank_is_an_error():
    for group in (
        group_of({"a": "same", "b": "same"}),
        TrajectoryGroup("g", (Trajectory("a", ()), Trajectory("b", ()))),
    ):
        with pytest.raises(InputError, match="nothing to rank"):
            blinded(group, "ann")

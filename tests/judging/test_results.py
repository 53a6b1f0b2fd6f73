"""What the statuses of the trajectories make of their group's."""

import itertools

import calipers
from calipers.judging.results import group_status
from calipers.types import TrajectoryResult, TrajectoryStatus


def test_a_groups_status_follows_from_its_trajectories_in_any_order() -> None:
    cases: list[tuple[tuple[TrajectoryStatus, ...], str]] = [
        (("scored", "scored"), "scored"),
        (("abstained", "abstained"), "abstained"),
        (("failed", "failed"), "failed"),
        (("scored", "abstained"), "partial"),
        (("scored", "failed"), "partial"),
        (("scored", "abstained", "failed"), "partial"),
        (("abstained", "failed"), "abstained"),  # the judge worked: it had its say about one of them
        ((), "scored"),
    ]
    for statuses, expected in cases:
        for order in itertools.permutations(statuses):
            assert (
                group_status([TrajectoryResult(str(place), status) for place, status in enumerate(order)]) == expected
            )


async def test_prompts_differ_only_in_what_users_ask() -> None:
    cases: list[tuple[tuple[list[tuple[str, object]], ...], tuple[str, str] | None]] = [
        (([("system", "It is 10:00:01"), ("user", "6*7?")], [("system", "It is 10:00:02"), ("user", "6*7?\n")]), None),
        (([("user", [{"type": "text", "text": "6*7?"}])], [("user", "6*7?")]), None),
        (([], [("user", "6*7?")], [("user", "5*5?")]), ("2", "3")),
    ]
    shared = {"context": [{"role": "system", "content": "Be brief."}]}
    for prompts, named in cases:
        rollouts = [
            [{"role": role, "content": text} for role, text in (*prompt, ("assistant", f"{number}"))]
            for number, prompt in enumerate(prompts)
        ]
        for group in (rollouts, shared | {"trajectories": rollouts}):
            result = await calipers.score_group(group, judge="embedded")
            about = [line for line in result.warnings if line.startswith("the prompts of")]
            assert [line.partition(" differ")[0] for line in about] == (
                [f"the prompts of {named[0]!r} and {named[1]!r}"] if named else []
            )


async def test_a_task_under_a_wrong_key_is_pointed_out() -> None:
    shown = [{"role": "system", "content": "Be brief."}]
    asked = {"role": "user", "content": "2+2?"}
    cases: list[tuple[str, object, list[dict[str, str]], bool]] = [
        ("prompt", "What is 2 + 2?", [], False), ("task", "What is 2 + 2?", [], True),
        ("contxt", "What is 2 + 2?", [], True), ("task", "sums", [asked], False), ("conntext", shown, [asked], True),
        ("contexts", ["a passage", "another"], [asked], False), ("contest", 1520, [asked], False),
    ]  # fmt: skip
    for key, value, begin, is_warned in cases:
        rollouts = [{"messages": [*begin, {"role": "assistant", "content": text}]} for text in ("4", "5")]
        group = {"group_id": "g", key: value, "trajectories": rollouts}
        result = await calipers.score_group(group, judge="embedded")
        assert any(key in warning for warning in result.warnings) is is_warned, (key, value)

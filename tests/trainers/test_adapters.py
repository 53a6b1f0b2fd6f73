"""What every adapter owes its engine, in one table: rewards in order, what a lost judgment becomes, and how runs end.

What an engine itself makes of these rewards is tested beside it, in the engine's own file.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest

from art_judges import ContentJudge
from calipers import Judge
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.trainers import agent_lightning, areal, ms_swift, nemo_gym, nemo_rl, openrlhf, skyrl, tinker, verifiers
from calipers.trainers.slime import group_rm
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer, error
from trainer_adapters import ADAPTERS, Play

adapters = pytest.mark.parametrize("adapter", ADAPTERS)

GONE = error(404, "The model `judge` does not exist")
DOWN = error(400, "this question cannot be answered")
JOKE = ("Tell a joke.", ["worth 20", "worth 90"])
SONG = ("Sing.", ["worth 30", "worth 60"])


@adapters
async def test_rewards_come_in_order_group_by_group_also_of_a_prompt_that_stands_there_twice(adapter: str) -> None:
    backend = ContentJudge()
    found = await ADAPTERS[adapter].make(Judge(backend))([JOKE, SONG, (JOKE[0], ["worth 10", "worth 40"])])
    assert found == [[0.2, 0.9], [0.3, 0.6], [0.1, 0.4]]
    assert [len(request.ask.order) for request in backend.asked] == [2, 2, 2]


@adapters
async def test_a_failed_judgment_is_what_the_engine_leaves_out_and_touches_no_other_group(
    faulty: FaultyServer, adapter: str
) -> None:
    one = ADAPTERS[adapter]
    if one.partly:
        faulty.script(worth(never=[50]))
        groups = [("Tell a joke.", ["worth 20", "worth 50", "worth 90"])]
        assert await one.make(judge_at(faulty))(groups) == [pytest.approx(one.partly)]
    faulty.script(worth(down="worth 20"))
    play = one.make(judge_at(faulty))
    if one.down is None:
        with pytest.raises(CalipersError, match="none of 2 rollouts could be scored"):
            await play([JOKE])
        return
    both = await play([JOKE, SONG])
    expected = [None, None] if adapter == "agent-lightning" else one.down  # unless nothing of the step is left
    assert both == [expected, [0.3, 0.6]]
    faulty.script(worth(down="worth"))
    assert await one.make(judge_at(faulty))([JOKE]) == [one.down]


@adapters
async def test_completions_that_say_nothing_are_judged_as_such_and_stop_nothing(adapter: str) -> None:
    backend = ContentJudge()
    play = ADAPTERS[adapter].make(Judge(backend))
    if adapter == "areal":  # a rollout that sampled nothing has no messages, which rejects its group
        assert await play([("Tell a joke.", ["", "worth 90"])]) == [[None, None]]
        return
    found = await play([("Tell a joke.", ["", "worth 90"]), ("Sing.", ["", ""])])
    assert found == [[0.5, 0.9], [0.5, 0.5]]  # this judge gives 50 to who does not say
    assert len(backend.asked) == 1  # of two that are the same, none is better


@adapters
async def test_a_group_of_one_has_nothing_to_be_compared_with(adapter: str) -> None:
    backend, one = ContentJudge(), ADAPTERS[adapter]
    try:
        found = await one.make(Judge(backend))([("Sing.", ["worth 90"])])
    except ConfigError:
        found = [[None]]
    assert (found, backend.asked) == ([[one.alone]], [])


@pytest.mark.parametrize("adapter", ["trl", "slime", "skyrl", "easyr1"])
async def test_different_prompts_are_no_group(adapter: str) -> None:
    backend = ContentJudge()
    with pytest.raises((ConfigError, InputError), match="different prompts"):
        await ADAPTERS[adapter].make(Judge(backend))([(("Tell a joke.", "Sing."), ["worth 20", "worth 90"])])
    assert backend.asked == []


@pytest.mark.parametrize("adapter", [name for name, one in ADAPTERS.items() if one.rubrics])
async def test_a_rubric_of_the_row_replaces_the_judges(faulty: FaultyServer, adapter: str) -> None:
    faulty.script(worth())
    play = ADAPTERS[adapter].make(judge_at(faulty, rubric="Only puns."))
    abouts: list[Mapping[str, Any]] = [{}, {"rubric": "Only rhymes."}]
    if adapter != "ms-swift":  # whose columns have one place for it
        abouts.append({"reward_model": {"rubrics": [{"criterion": "Only rhymes.", "points": 1}]}})
    for about in abouts:
        assert await play([JOKE], about=about) == [[0.2, 0.9]]
    asked = [str(post["messages"]) for post in faulty.posts]
    assert ["Only rhymes." in one for one in asked] == [bool(about) for about in abouts]
    assert ["Only puns." in one for one in asked] == [not about for about in abouts]


@pytest.mark.parametrize("adapter", [name for name, one in ADAPTERS.items() if one.own])
async def test_the_judges_reward_is_added_to_the_rollouts_own_which_must_be_finite(adapter: str) -> None:
    backend = ContentJudge()
    play = ADAPTERS[adapter].make(Judge(backend))
    assert await play([JOKE], own=1.0) == [pytest.approx([1.2, 1.9])]
    asked = len(backend.asked)
    with pytest.raises(InputError, match="brings a reward of nan"):
        await play([SONG], own=float("nan"))
    assert adapter == "skyrl" or len(backend.asked) == asked  # SkyRL's generator checks them last


@adapters
async def test_a_judge_whose_every_call_is_refused_ends_the_run_at_its_first_batch(
    faulty: FaultyServer, adapter: str
) -> None:
    faulty.script(GONE)
    stopped: list[int] = []
    play = ADAPTERS[adapter].make(judge_at(faulty), stop=partial(stopped.append, 1))
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"every question was refused.*does not exist"):
            await play([JOKE])
    assert (stopped, len(faulty.posts)) == ([1], 1)


@adapters
async def test_patience_ends_the_run_after_so_many_lost_groups_in_a_row_or_asks_the_engine_to_stop(
    faulty: FaultyServer, adapter: str, caplog: pytest.LogCaptureFixture
) -> None:
    stopped: list[int] = []
    for stop in (None, partial(stopped.append, 1)):
        # A group that was scored in between begins the count again.
        faulty.script(worth(), DOWN, worth(), DOWN, DOWN, worth())
        begun = len(faulty.posts)
        caplog.clear()
        play = ADAPTERS[adapter].make(judge_at(faulty), patience=2, stop=stop)
        with caplog.at_level(logging.WARNING, "calipers"):
            ends = [await _raised(play) for _ in range(6)]
        assert "2 groups in a row were lost (patience=2)" in caplog.text
        assert ["in a row" in (told or "") for told in ends] == [False] * 4 + [stop is None] * 2
        assert len(faulty.posts) - begun == (5 if stop is None else 6)  # nothing more is asked once the run has ended
    assert stopped == [1]


@adapters
async def test_a_lost_group_is_one_line_that_names_it_with_counts_and_reason_and_ends_no_run(
    faulty: FaultyServer, adapter: str, caplog: pytest.LogCaptureFixture
) -> None:
    faulty.script(error(503, "overloaded"))
    play = ADAPTERS[adapter].make(judge_at(faulty))
    with caplog.at_level(logging.WARNING, "calipers.trainers"):
        raised = await _raised(play)
    assert (adapter == "verifiers") == (raised is not None)
    (line,) = [record.getMessage() for record in caplog.records if record.name.startswith("calipers.trainers")]
    assert line.startswith(f"failed group {ADAPTERS[adapter].name}")
    assert "2 of 2 rollouts could not be scored" in line
    assert "overloaded" in line


async def _raised(play: Play) -> str | None:
    """What one batch raised of calipers' own, None where nothing."""
    try:
        await play([JOKE])
    except CalipersError as raised:
        return str(raised)
    return None


NEEDED: dict[str, Callable[[], object]] = {
    "openrlhf": lambda: openrlhf.agent_executor("embedded"),
    "nemo_rl": lambda: nemo_rl.judge_environment("embedded", group_size=2),
    "nemo_gym": lambda: nemo_gym.resources_server("embedded", group_size=2),
    "swift": lambda: ms_swift.register("judge", "embedded"),
    "agentlightning": lambda: agent_lightning.judged_hooks("embedded"),
    "verifiers.v1": lambda: verifiers.best_of_n("embedded"),
}


def test_an_engine_that_is_not_installed_is_named() -> None:
    for engine, make in NEEDED.items():
        if find_spec(engine.partition(".")[0]) is None or engine == "verifiers.v1":  # tests/verifiers is one, too
            with pytest.raises(ConfigError, match=r"is needed"):
                make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: areal.judged_group(object, "embedded", size=0),
        lambda: areal.judged_group(object, "no-such-provider/x", size=2),
        lambda: tinker.JudgedGroup(object(), "embedded", patience=0),
        lambda: group_rm("embedded", patience=-1),
        lambda: skyrl.judged(object, "embedded", stop="now"),  # type: ignore[arg-type]
        lambda: nemo_rl.judge_environment("embedded", group_size=0),
        lambda: nemo_gym.resources_server("embedded", group_size=2, deadline=0),
        lambda: verifiers.best_of_n("embedded", rubric="Short."),  # type: ignore[arg-type]
        lambda: ms_swift.register("judge", "embedded", rubric_column=5),  # type: ignore[arg-type]
    ],
)
def test_settings_that_cannot_work_are_config_errors_before_anything_is_asked(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigError):
        make()

"""What no run should begin with, or should have in it, through every adapter that runs without its engine.

Groups of one, completions that say nothing, a prompt that stands in a batch twice, a judge that is not there, another
group size than the engine's, rewards of others that are no numbers, and versions of engines that nobody tried. What an
engine itself makes of such rewards is tested beside it, in the engine's own file.
"""

from __future__ import annotations

import asyncio
import math
import warnings
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from art_judges import ContentJudge
from calipers import Judge
from calipers.errors import ConfigError, InputError
from calipers.trainers import agent_lightning, areal, ms_swift, nemo_gym, nemo_rl, openrlhf, tinker, verifiers
from calipers.trainers.art import reward as art
from calipers.trainers.easyr1 import batch_reward
from calipers.trainers.process import warn_untested
from calipers.trainers.run import complete_cohorts, float_reward, run_for_floats
from calipers.trainers.skyrl import judged
from calipers.trainers.slime import group_rm
from calipers.trainers.trl import reward_func

Rewards = Sequence[float | None]
Groups = Sequence[tuple[str, Sequence[str]]]
"""Each group's prompt, and what its rollouts said."""

Way = Callable[[Judge, Groups], Awaitable[list[Rewards]]]
"""All groups of a batch through an adapter: each group's rewards, as the engine gets them."""


def regrouped(groups: Groups, rewards: Rewards) -> list[Rewards]:
    left = iter(rewards)
    return [[next(left) for _ in texts] for _, texts in groups]


async def trl(judge: Judge, groups: Groups) -> list[Rewards]:
    reward = reward_func(judge, num_generations=len(groups[0][1]), check=False)
    rows = [(prompt, text) for prompt, texts in groups for text in texts]
    prompts, texts = zip(*rows, strict=True)
    return regrouped(groups, await reward(list(prompts), list(texts), trainer_state=SimpleNamespace(global_step=1)))


async def slime(judge: Judge, groups: Groups) -> list[Rewards]:
    def sample(prompt: str, text: str) -> Any:
        return SimpleNamespace(
            prompt=prompt, response=text, status=SimpleNamespace(value="completed"), metadata={}, label=None
        )

    reward, arguments = group_rm(judge), SimpleNamespace(group_rm=True)
    return [await reward(arguments, [sample(prompt, text) for text in texts]) for prompt, texts in groups]


def skyrl_with(own: Any) -> Way:
    async def skyrl(judge: Judge, groups: Groups) -> list[Rewards]:
        rows = [(number, prompt, text) for number, (prompt, texts) in enumerate(groups) for text in texts]

        class Plain:
            tokenizer = SimpleNamespace(decode=lambda tokens, **_: "".join(map(chr, tokens)))

            async def generate(self, input_batch: Any) -> dict[str, Any]:
                texts = [[ord(char) for char in text] for *_, text in rows]
                return {"response_ids": texts, "rewards": [own] * len(texts)}

        batch = {
            "prompts": [[{"role": "user", "content": prompt}] for _, prompt, _ in rows],
            "trajectory_ids": [SimpleNamespace(instance_id=str(number)) for number, *_ in rows],
        }
        return regrouped(groups, (await judged(Plain, judge)().generate(batch))["rewards"])

    return skyrl


async def easyr1(judge: Judge, groups: Groups) -> list[Rewards]:
    rows = [
        {"response": text, "ground_truth": {"id": str(number), "prompt": prompt}}
        for number, (prompt, texts) in enumerate(groups)
        for text in texts
    ]
    scores = await asyncio.to_thread(batch_reward(judge), rows)
    return regrouped(groups, [one["overall"] for one in scores])


async def swift(judge: Judge, groups: Groups) -> list[Rewards]:
    rows = [(prompt, text) for prompt, texts in groups for text in texts]
    reward = ms_swift.JudgeReward(judge, size=len(groups[0][1]))
    given = await reward(
        [text for _, text in rows],
        messages=[[{"role": "user", "content": p}, {"role": "assistant", "content": text}] for p, text in rows],
        prompt_id=[prompt for prompt, _ in rows],  # as ms-swift has it: equal prompts have one id
        request_id=[str(number) for number in range(len(rows))],
    )
    return regrouped(groups, given)


async def cohort(judge: Judge, groups: Groups) -> list[Rewards]:
    """OpenRLHF's and NeMo-Gym's: one rollout at a time. A prompt's next group comes when the one before is judged."""
    rewards: list[Rewards] = []
    async with complete_cohorts(run_for_floats(judge), size=len(groups[0][1]), deadline=60) as cohorts:
        for prompt, texts in groups:
            members = ({"messages": [{"role": "assistant", "content": text}]} for text in texts)
            shares = await asyncio.gather(*(cohorts.join(prompt, member) for member in members))
            rewards.append([float_reward(share) for share in shares])
    return rewards


WAYS: dict[str, Way] = {
    "trl": trl,
    "slime": slime,
    "skyrl": skyrl_with(0.0),
    "easyr1": easyr1,
    "ms-swift": swift,
    "cohort": cohort,
}
pytestmark = pytest.mark.filterwarnings("ignore:.*was tested with")
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
SCORED = ("Tell a joke.", ["worth 20", "worth 90"])


@ways
async def test_completions_that_say_nothing_are_judged_as_such_and_stop_nothing(way: Way) -> None:
    backend = ContentJudge()
    found = await way(Judge(backend), [("Tell a joke.", ["", "worth 90"]), ("Sing.", ["", ""]), SCORED])
    assert found == [[0.5, 0.9], [0.5, 0.5], [0.2, 0.9]]  # this judge gives 50 to who does not say
    assert len(backend.asked) == 2  # of two that are the same, none is better


@ways
async def test_a_group_of_one_has_nothing_to_be_compared_with(way: Way, request: pytest.FixtureRequest) -> None:
    backend = ContentJudge()
    if request.node.callspec.id == "trl":
        with pytest.raises(ConfigError, match="a group needs two or more"):
            await way(Judge(backend), [("Sing.", ["worth 90"])])
        return
    even = 0.0 if request.node.callspec.id == "skyrl" else 0.5  # SkyRL: its environment's own reward
    assert await way(Judge(backend), [("Sing.", ["worth 90"])]) == [[even]]
    assert backend.asked == []


@ways
async def test_a_prompt_that_stands_in_a_batch_twice_is_two_groups(way: Way) -> None:
    backend = ContentJudge()
    found = await way(Judge(backend), [SCORED, ("Tell a joke.", ["worth 10", "worth 40"])])
    assert found == [[0.2, 0.9], [0.1, 0.4]]
    assert [len(request.order) for request in (one.ask for one in backend.asked)] == [2, 2]


@ways
async def test_a_judge_that_is_not_there_is_no_signal_and_said_so(way: Way, request: pytest.FixtureRequest) -> None:
    dead = Judge("vllm/judge", base_url="http://127.0.0.1:9/v1", calls={"attempts": 1})
    found = await way(dead, [SCORED, ("Sing.", ["worth 30", "worth 60"])])
    nothing = None if request.node.callspec.id in {"trl", "ms-swift"} else 0.5
    assert found == [[nothing, nothing]] * 2
    with pytest.raises(
        ConfigError, match=r"Nothing answers at http://127\.0\.0\.1:9"
    ):  # before a run, where it is asked
        await dead.check()


@pytest.mark.parametrize("name", ["slime", "skyrl", "easyr1", "cohort"])
async def test_where_a_constant_stands_for_no_signal_the_log_has_the_reason(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    dead = Judge("vllm/judge", base_url="http://127.0.0.1:9/v1", calls={"attempts": 1})
    await WAYS[name](dead, [SCORED])
    assert "2 of 2 rollouts could not be scored, so all get the same reward: 1, 2 failed:" in caplog.text
    assert "127.0.0.1:9" in caplog.text


async def test_another_group_size_than_the_trainers_is_refused_where_it_shows() -> None:
    reward = reward_func(Judge(ContentJudge()), num_generations=3)
    state = SimpleNamespace(global_step=1)
    with pytest.raises(ConfigError, match="num_generations"):
        await reward(["a"] * 4, ["worth 1"] * 4, trainer_state=state)  # no whole groups
    with pytest.raises(ConfigError, match="num_generations=3 is not the trainer's group size"):
        await reward(["a", "a", "b", "b", "c", "c"], ["worth 1"] * 6, trainer_state=state)  # a group with two prompts


async def test_a_cohort_that_is_told_too_large_a_size_gives_a_constant_at_its_deadline() -> None:
    backend = ContentJudge()
    async with complete_cohorts(run_for_floats(Judge(backend)), size=3, deadline=0.05) as cohorts:
        members = [{"messages": [{"role": "assistant", "content": text}]} for text in SCORED[1]]
        shares = await asyncio.gather(*(cohorts.join("a", member) for member in members))
    assert [float_reward(share) for share in shares] == [0.5, 0.5]
    assert "too few members of its group arrived to judge it: 2 of 3" in (shares[0].reason or "")
    assert backend.asked == []


@pytest.mark.parametrize("own", [math.nan, math.inf, [0.0, math.nan]])
async def test_a_reward_of_an_environment_that_is_no_number_is_an_error(own: Any) -> None:
    with pytest.raises(InputError, match=r"an environment gave a reward of (nan|inf)"):
        await skyrl_with(own)(Judge(ContentJudge()), [SCORED])


def test_a_reward_of_an_agents_own_that_is_no_number_takes_it_out_of_its_group() -> None:
    """Agent-Lightning's; OpenRLHF's, verifiers', tinker's and AReaL's are in their own tests, TRL's in its
    trainer's.
    """

    def rollout(text: str, own: float) -> Any:
        message = {"role": "assistant", "content": text}
        data = {"request": {"messages": [{"role": "user", "content": "Sing."}]}, "http_status": 200}
        call = {"event_type": "model_request", "data": {**data, "response": {"choices": [{"message": message}]}}}
        turn = SimpleNamespace(model_copy=lambda update: SimpleNamespace(**update))

        def model_copy(update: dict[str, Any]) -> Any:
            return SimpleNamespace(**update)

        return SimpleNamespace(data_id="a", events=[call], triplets=[turn], final_reward=own, model_copy=model_copy)

    step = [rollout("worth 20", 1.0), rollout("worth 90", 0.0), rollout("worth 55", math.nan)]
    found = agent_lightning.rewarded(step, Judge(ContentJudge()))
    assert [one.final_reward for one in found] == [1.2, 0.9, None]


def verl_agent_loop() -> None:
    with warnings.catch_warnings(action="ignore"):  # verl's own, when it is imported
        from calipers.trainers.verl.agent_loop import require_groups  # noqa: PLC0415 - needs verl

    require_groups(SimpleNamespace(), SimpleNamespace())  # type: ignore[arg-type]


MAKE: dict[str, Callable[[], object]] = {
    "openrlhf": lambda: openrlhf.agent_executor("embedded"),
    "slime": lambda: group_rm("embedded"),
    "skyrl": lambda: judged(object, "embedded"),
    "nemo-rl": lambda: nemo_rl.judge_environment("embedded", group_size=2),
    "nemo-gym": lambda: nemo_gym.resources_server("embedded", group_size=2),
    "ms-swift": lambda: ms_swift.register("judge", "embedded"),
    "areal": lambda: areal.judged_group(object, "embedded", size=2),
    "agentlightning": lambda: agent_lightning.judged_hooks("embedded"),
    "verifiers": lambda: verifiers.best_of_n("embedded"),
    "tinker-cookbook": lambda: tinker.JudgedGroup(object(), "embedded"),
    "openpipe-art": lambda: asyncio.run(art.ruler_score_group(SimpleNamespace(trajectories=[]), "embedded")),
    "trl": lambda: reward_func("embedded", num_generations=2),
    "verl": verl_agent_loop,
}


@pytest.mark.filterwarnings("ignore:.*for wiring")
@pytest.mark.parametrize("package", MAKE)
def test_a_version_of_an_engine_that_nobody_tried_is_said_so(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if package == "verl":
        pytest.importorskip("verl", reason="verl is not installed (pip install 'calipers[verl]')")
    told = tmp_path / f"{package.replace('-', '_')}-99.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 99.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    warn_untested.cache_clear()
    with (
        pytest.warns(UserWarning, match=rf"(?i)tested with {package} .*99\.0 is installed|TRL 99\.0 is newer"),
        suppress(Exception),
    ):
        MAKE[package]()  # without the engine some say that they need it, which others test
    warn_untested.cache_clear()

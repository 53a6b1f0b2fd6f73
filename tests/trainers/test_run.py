"""What every adapter does around its judge: lines for lost groups, patience, and the end of a run that learns
nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from art_judges import ContentJudge
from calipers.errors import CalipersError, ConfigError, TransientError
from calipers.trainers import agent_lightning, areal, ms_swift, nemo_rl, tinker, verifiers
from calipers.trainers.art import ruler
from calipers.trainers.cohorts import MemberResult
from calipers.trainers.easyr1 import batch_reward
from calipers.trainers.run import (
    PATIENCE,
    JudgedRun,
    LostGroupLog,
    cause_of_loss,
    complete_cohorts,
    float_reward,
    lost_group_line,
    reasons_by_member,
    run_for_floats,
    shared_run,
)
from calipers.trainers.skyrl import judged
from calipers.trainers.slime import group_rm
from calipers.trainers.trl import reward_func
from calipers.trainers.verl import eval as verl_eval
from calipers.types import Completion, GroupResult, JudgeRequest, TrajectoryResult
from groups import FOUR, group_of
from http_judge import judge_at, worth
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

pytestmark = pytest.mark.filterwarnings("ignore:.*was tested with")

GONE = error(404, "The model `judge` does not exist")
DOWN = error(400, "this question cannot be answered")
SMALL = "Is water wet?"
TEXTS = ("worth 20", "worth 90")

# --- the run by itself ----------------------------------------------------------------------------------------------


class Scripted:
    """Answers groups by what they ask: "lost" ones fail, "half" ones are scored in part."""

    endpoint = model = "scripted"

    async def complete(self, request: JudgeRequest) -> Completion:
        question = str(request.messages)
        if "lost" in question:
            raise TransientError("server", "out of order")
        keys = request.keys[:-1] if "half" in question else request.keys
        return Completion(json.dumps({"scores": {key: 10 * place for place, key in enumerate(keys)}}))


def judge() -> calipers.Judge:
    return calipers.Judge(Scripted(), question={"reasks": 0})


def group(kind: str, number: int = 0) -> Any:
    return group_of(FOUR, group_id=f"{kind}{number}", question=f"What is 17 + 25? ({kind} {number})")


async def test_so_many_lost_groups_in_a_row_end_the_run_and_no_more_is_asked() -> None:
    run = JudgedRun(judge(), patience=2)
    await run.score_group(group("lost"))
    await run.score_group(group("good"))
    await run.score([group("lost", 1)])
    with pytest.raises(CalipersError, match=r"2 groups in a row were lost \(patience=2\), the last because failed: "):
        await run.score_group(group("lost", 2))
    asked = run.judge
    with pytest.raises(CalipersError, match="2 groups in a row"):
        await run.score_group(group("good", 3))
    assert asked is run.judge
    assert run.ended is not None


async def test_by_default_a_run_whose_judge_is_gone_ends_after_so_many_groups_and_minutes() -> None:
    """A judge that vanishes at night: without this, the trainer goes through all its steps and learns nothing."""
    now = [0.0]
    run = JudgedRun(judge(), clock=lambda: now[0])
    for number in range(PATIENCE.groups + 4):
        await run.score_group(group("lost", number))
    now[0] = 60 * PATIENCE.minutes - 1
    await run.score_group(group("lost", 90))
    now[0] += 1
    with pytest.raises(CalipersError, match=r"38 groups in a row were lost in 10 minutes \(patience=32\)"):
        await run.score_group(group("lost", 91))
    forever = JudgedRun(judge(), patience=None, clock=lambda: now[0])
    for number in range(PATIENCE.groups + 4):
        now[0] += 60
        await forever.score_group(group("lost", number))
    assert forever.ended is None


@pytest.mark.parametrize(("judge", "said"), [("embedded", 1), ("profile:gpt-5.4", 1), (calipers.Judge, 0)])
def test_a_judge_that_is_not_for_training_is_said_once_in_a_run(
    judge: Any, said: int, caplog: pytest.LogCaptureFixture
) -> None:
    made = calipers.Judge(judge if isinstance(judge, str) else ContentJudge())
    run = JudgedRun(made)
    for _ in range(2):
        asyncio.run(run.score([group_of(FOUR)]))
    assert len([one for one in caplog.messages if "not for training" in one]) == said


async def test_stop_is_called_once_in_place_of_raising() -> None:
    stopped: list[int] = []
    run = JudgedRun(judge(), patience=2, stop=lambda: stopped.append(1))
    results = await run.score([group("lost", number) for number in range(5)])
    assert [result.status for result in results] == ["failed"] * 5
    await run.score([group("good"), *(group("lost", number) for number in range(5, 9))])
    assert stopped == [1]


@pytest.mark.parametrize(("needed", "ends"), [(None, True), (2, False)])
async def test_a_group_that_is_scored_in_part_is_lost_where_the_trainer_needs_all_of_it(
    needed: int | None, *, ends: bool
) -> None:
    run = JudgedRun(judge(), patience=2, min_scored=needed)
    groups = [group("half", number) for number in range(2)]
    if ends:
        with pytest.raises(CalipersError):
            await run.score(groups)
    else:
        assert [result.status for result in await run.score(groups)] == ["partial"] * 2


async def test_groups_that_nobody_was_asked_about_neither_lose_nor_win_patience() -> None:
    run = JudgedRun(judge(), patience=2)
    alike = {"trajectories": [[{"role": "assistant", "content": "the same"}]] * 2}
    await run.score_group(group("lost"))
    await run.score_group(alike)
    with pytest.raises(CalipersError):
        await run.score_group(group("lost", 1))


async def test_a_judge_that_only_refuses_calls_stop_and_raises(faulty: FaultyServer) -> None:
    faulty.script(GONE)
    stopped: list[int] = []
    run = JudgedRun(judge_at(faulty), stop=lambda: stopped.append(1))
    for _ in range(3):
        with pytest.raises(ConfigError, match="every question was refused"):
            await run.score([group("any")])
    assert stopped == [1]
    assert len(faulty.posts) == 2  # the group's, and the small one that settles it


async def test_lines_have_the_group_and_the_end_of_the_run_is_said(caplog: pytest.LogCaptureFixture) -> None:
    run = JudgedRun(judge(), patience=2, consequence="so it does not train")
    with caplog.at_level(logging.WARNING, "calipers"), pytest.raises(CalipersError):
        await run.score([group("good"), group("half"), group("lost", 1), group("lost", 2)])
    first, second, third, last = caplog.messages
    assert first.startswith("partial group half0: 1 of 4 rollouts could not be scored, so it does not train: ")
    assert second.startswith("failed group lost1: 4 of 4 rollouts could not be scored, so it does not train: ")
    assert "out of order" in third
    assert last.startswith("the run ends: 2 groups in a row were lost (patience=2)")


@pytest.mark.parametrize("wrong", [{"patience": 0}, {"patience": 1.5}, {"patience": True}, {"stop": "now"}])
def test_settings_that_cannot_work_are_config_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        JudgedRun(judge(), **wrong)


def test_adapters_that_are_made_anew_for_every_group_share_one_run() -> None:
    one = judge()
    assert shared_run(one, 3) is shared_run(one, 3)
    assert shared_run(one, 3) is not shared_run(one, 4)
    assert shared_run(one, 3) is not shared_run(judge(), 3)


@pytest.mark.parametrize("handler", ["SIG_IGN", "default_int_handler"])
def test_interrupt_ends_a_process_that_goes_on_after_every_exception(handler: str) -> None:
    code = (
        "import signal, threading, time\n"
        f"signal.signal(signal.SIGINT, signal.{handler})\n"
        "from calipers.trainers.run import interrupt\n"
        "threading.Timer(0.1, interrupt).start()\n"
        "while True:\n"
        "    try:\n"
        "        time.sleep(0.05)\n"
        "    except Exception:\n"
        "        pass\n"
    )
    source = str(Path(calipers.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        timeout=60,
        check=False,
    )
    if handler == "SIG_IGN":  # as in the background of a script
        assert done.returncode == -signal.SIGTERM
    else:
        assert done.returncode == -signal.SIGINT or b"KeyboardInterrupt" in done.stderr


# --- the log ----------------------------------------------------------------------------------------------------------


def row(name: str, reason: str | None = "no answer came", *, reward: float | None = None) -> TrajectoryResult:
    return TrajectoryResult(name, "scored" if reward is not None else "failed", reward, reason=reason)


def test_a_line_names_the_group_its_status_the_counts_and_each_reason_once() -> None:
    rows = (row("1"), row("2"), row("3", "the judge left it out"), row("4", None, reward=0.5))
    assert lost_group_line(GroupResult("g1", "partial", rows), consequence="so it does not train") == (
        "partial group g1: 3 of 4 rollouts could not be scored, so it does not train: "
        "1, 2 failed: no answer came; 3 failed: the judge left it out"
    )
    many = [row(str(number)) for number in range(16)]
    assert reasons_by_member(many, 16) == "all failed: no answer came"
    assert reasons_by_member(many, 20) == "16 of them failed: no answer came"
    several = [row(str(number), f"reason {number}") for number in range(5)]
    assert reasons_by_member(several, 5).endswith("2 failed: reason 2; 2 further reasons")
    assert cause_of_loss([row("1"), row("2")]) == cause_of_loss([row("7")]) == "failed: no answer came"


@given(st.text(), st.text(), st.text())
def test_whatever_a_server_or_a_data_set_says_is_one_short_line(name: str, member: str, reason: str) -> None:
    line = lost_group_line(GroupResult(name, "failed", (row(member, reason * 50),)))
    assert len(line) < 800
    assert not any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in line)
    line.encode()


@pytest.mark.parametrize("lost", [10, 10_000])
def test_a_minute_has_ten_lines_and_the_rest_is_counted_by_reason_when_it_is_over(lost: int) -> None:
    told: list[str] = []
    now = [0.0]
    log = LostGroupLog(told.append, clock=lambda: now[0])
    for number in range(lost):
        log.add(f"group {number}", why="timeout" if number % 3 else f"request {number} failed")
    assert told == [f"group {number}" for number in range(10)]
    now[0] = 60.0
    log.flush_if_due()
    log.flush_if_due()
    assert len(told) == (11 if lost > 10 else 10)
    if lost > 10:
        assert told[-1].startswith("9990 more groups lost trajectories: 6660 × timeout; ")
        assert len(told[-1]) < 300
    for number in range(11):
        log.add(f"group {number}", why="timeout")
    log.close("the run ends")
    assert told[-2:] == ["1 more groups lost trajectories: 1 × timeout", "the run ends"]


# --- engines that take floats --------------------------------------------------------------------------------------


def test_a_members_reward_counts_only_when_all_its_group_was_scored() -> None:
    scored = [TrajectoryResult(name, "scored", reward, reward) for name, reward in (("1", 0.9), ("2", 0.1))]
    whole, part = (GroupResult("g", "scored", rows) for rows in ((*scored,), (scored[0], row("2"))))
    members = [MemberResult(0.9, group=whole), MemberResult(0.9, group=part), MemberResult(None, "lost")]
    assert [float_reward(one) for one in members] == [0.9, 0.5, 0.5]


async def test_a_cohort_is_judged_whole_or_not_at_all(faulty: FaultyServer) -> None:
    faulty.script(worth())
    cohorts = complete_cohorts(run_for_floats(judge_at(faulty)), size=3, deadline=None)
    member = [{"messages": [{"role": "assistant", "content": text}]} for text in (*TEXTS, "worth 50")]
    assert [float_reward(one) for one in await asyncio.gather(*(cohorts.join("a", one) for one in member))] == [
        0.2,
        0.9,
        0.5,
    ]
    joined = [asyncio.ensure_future(cohorts.join("b", one)) for one in member[:2]]
    await asyncio.sleep(0)
    cohorts.report_lost("b")
    assert [float_reward(one) for one in await asyncio.gather(*joined)] == [0.5, 0.5]
    assert len(faulty.posts) == 1


# --- through every adapter that runs without its engine ---------------------------------------------------------

Step = Callable[[], Awaitable[Any]]
"""One batch of one group of two rollouts, through the adapter, as the engine calls it."""

Adapter = Callable[..., Step]


def trl(judge: calipers.Judge, **settings: Any) -> Step:
    reward = reward_func(judge, num_generations=2, check=False, **settings)
    state = SimpleNamespace(global_step=1)
    return lambda: reward(["Tell a joke."] * 2, list(TEXTS), trainer_state=state)


def blocking_trl(judge: calipers.Judge, **settings: Any) -> Step:
    reward = reward_func(judge, num_generations=2, check=False, blocking=True, **settings)
    state = SimpleNamespace(global_step=1)
    return lambda: asyncio.to_thread(reward, ["Tell a joke."] * 2, list(TEXTS), trainer_state=state)


def slime(judge: calipers.Judge, **settings: Any) -> Step:
    reward = group_rm(judge, **settings)
    status = SimpleNamespace(value="completed")
    samples = [
        SimpleNamespace(prompt="Tell a joke.", response=text, status=status, metadata={}, label=None, group_index=7)
        for text in TEXTS
    ]
    return lambda: reward(SimpleNamespace(group_rm=True), samples)


def skyrl(judge: calipers.Judge, **settings: Any) -> Step:
    class Plain:
        tokenizer = SimpleNamespace(decode=lambda tokens, **_: "".join(map(chr, tokens)))

        async def generate(self, input_batch: Any) -> dict[str, Any]:
            return {"response_ids": [[ord(char) for char in text] for text in TEXTS], "rewards": [0.0] * 2}

    batch = {
        "prompts": [[{"role": "user", "content": "Tell a joke."}]] * 2,
        "trajectory_ids": [SimpleNamespace(instance_id="i7")] * 2,
    }
    generator = judged(Plain, judge, **settings)()
    return lambda: generator.generate(batch)


def easyr1(judge: calipers.Judge, **settings: Any) -> Step:
    reward = batch_reward(judge, **settings)
    rows = [{"response": text, "ground_truth": {"id": "row 7", "prompt": "Tell a joke."}} for text in TEXTS]
    return lambda: asyncio.to_thread(reward, rows)


def swift(judge: calipers.Judge, **settings: Any) -> Step:
    reward = ms_swift.JudgeReward(judge, size=2, **settings)
    messages = [[{"role": "user", "content": "Joke."}, {"role": "assistant", "content": text}] for text in TEXTS]
    return lambda: reward(list(TEXTS), messages=messages, prompt_id=["p7"] * 2, request_id=["1", "2"])


def cohort(judge: calipers.Judge, **settings: Any) -> Step:
    run = run_for_floats(judge, **settings)
    cohorts = complete_cohorts(run, size=2, deadline=60)

    async def step() -> Any:
        run.require_running()
        members = ({"messages": [{"role": "assistant", "content": text}]} for text in TEXTS)
        return await asyncio.gather(*(cohorts.join("k", member, group={"group_id": "c7"}) for member in members))

    return step


def cookbook(judge: calipers.Judge, **settings: Any) -> Step:
    class Inner:
        async def compute_group_rewards(self, trajectory_group: Any, env_group: Any) -> Any:
            return [(0.0, {})] * len(trajectory_group)

    rollouts = [SimpleNamespace(transitions=[SimpleNamespace(reward=0.0, text=text)]) for text in TEXTS]

    def conversation(one: Any, _: Any) -> Any:
        return [{"role": "assistant", "content": one.transitions[0].text}]

    def step() -> Any:  # a builder of its own for each group, as the cookbook has them
        builder = tinker.JudgedGroup(Inner(), judge, conversation=conversation, **settings)
        return builder.compute_group_rewards(rollouts, [None, None])

    return step


def episode(judge: calipers.Judge, **settings: Any) -> Step:
    def trace(text: str) -> Any:
        dumped = SimpleNamespace(model_dump=lambda **_: {"role": "assistant", "content": text})
        one = SimpleNamespace(id=text, ok=True, last_error=None, rewards={}, reward=0.0, info={})
        one.agent = SimpleNamespace(trainable=True, name="a")
        one.branches = [SimpleNamespace(messages=[dumped], tools=[], trainable=True)]
        one.record_reward = lambda *_: None
        return one

    def step() -> Any:
        traces = [trace(text) for text in TEXTS]
        return verifiers.judge_episode(SimpleNamespace(id="e7", traces=traces), judge, **settings)

    return step


def workflow(judge: calipers.Judge, **settings: Any) -> Step:
    class Rows:
        def __init__(self, *row: int) -> None:
            self.row = list(row)

        def __getitem__(self, number: int) -> Any:
            return self

        def tolist(self) -> list[int]:
            return self.row

    class Reward(list[float]):
        def __add__(self, other: Any) -> Any:
            return [self[0] + other]

    class Once:
        tokenizer = SimpleNamespace(decode=lambda tokens, **_: "".join(map(chr, tokens)))
        said = iter(TEXTS * 100)

        async def arun_episode(self, engine: Any, data: Any) -> Any:
            letters = [ord(letter) for letter in next(Once.said)]
            mask = Rows(0, *[1] * len(letters))
            return {"input_ids": Rows(0, *letters), "loss_mask": mask, "rewards": Reward([0.0])}

    data = {"messages": [{"role": "user", "content": "Tell a joke."}], "id": "q7"}
    again = areal.judged_group(Once, judge, size=2, **settings)()

    async def step() -> Any:
        try:
            return await again.arun_episode(None, data)
        except ModuleNotFoundError:
            return "scored"  # and AReaL's own function that puts the tensors together is not here

    return step


def step_of_rollouts(judge: calipers.Judge, **settings: Any) -> Step:
    def rollout(text: str) -> Any:
        reply = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        data = {"request": {"messages": [{"role": "user", "content": "Joke."}]}, "response": reply, "http_status": 200}
        one = SimpleNamespace(data_id="d7", events=[{"event_type": "model_request", "data": data}], final_reward=None)
        turn = SimpleNamespace()
        turn.model_copy = lambda **_: turn
        one.triplets = [turn]
        one.model_copy = lambda **_: one
        return one

    return lambda: asyncio.to_thread(agent_lightning.rewarded, [rollout(text) for text in TEXTS], judge, **settings)


def nemo(judge: calipers.Judge, **settings: Any) -> Step:
    run = run_for_floats(judge, **settings)
    cohorts = complete_cohorts(run, size=2, deadline=60)
    logs = [[{"role": "user", "content": "Joke."}, {"role": "assistant", "content": text}] for text in TEXTS]
    return lambda: nemo_rl._rewards(run, cohorts, logs, None)


ADAPTERS: dict[str, tuple[Adapter, str]] = {
    "trl": (trl, "step 1, rows 1-2"),
    "trl, blocking": (blocking_trl, "step 1, rows 1-2"),
    "slime": (slime, "7"),
    "skyrl": (skyrl, "i7"),
    "easyr1": (easyr1, "row 7"),
    "ms-swift": (swift, "p7"),
    "cohort": (cohort, "c7"),
    "tinker": (cookbook, ""),
    "verifiers": (episode, "e7"),
    "areal": (workflow, "q7"),
    "agent-lightning": (step_of_rollouts, "d7"),
    "nemo-rl": (nemo, ""),
}
"""Each with the name by which the engine knows the group, "" where it has none and its content names it."""

adapters = pytest.mark.parametrize("adapter", ADAPTERS)


@adapters
async def test_a_judge_whose_every_call_is_refused_ends_the_run_at_its_first_batch(
    faulty: FaultyServer, adapter: str
) -> None:
    faulty.script(GONE)
    step = ADAPTERS[adapter][0](judge_at(faulty))
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"every question was refused.*does not exist"):
            await step()


@adapters
async def test_what_may_pass_ends_no_run_by_itself(faulty: FaultyServer, adapter: str) -> None:
    faulty.script(error(503, "overloaded"))
    step = ADAPTERS[adapter][0](judge_at(faulty))
    told = [await _raised(step) for _ in range(4)]
    assert (adapter == "verifiers") == any(told)  # which is told of each lost group by a raise
    assert not any("every question" in (one or "") for one in told)


@adapters
async def test_patience_ends_the_run_after_so_many_lost_groups_in_a_row(
    faulty: FaultyServer, adapter: str, caplog: pytest.LogCaptureFixture
) -> None:
    answers = iter([True, False, True, False, False])

    def answer(asked: Asked) -> Answer:
        return worth()(asked) if next(answers, False) else DOWN

    faulty.script(answer)
    step = ADAPTERS[adapter][0](judge_at(faulty), patience=2)
    with caplog.at_level(logging.WARNING, "calipers"):
        ends = [await _raised(step) for _ in range(5)]
    assert "2 groups in a row were lost (patience=2)" in caplog.text
    # A group that was scored in between begins the count again.
    assert ["in a row" in (told or "") for told in ends] == [False] * 4 + [True]
    assert len(faulty.posts) == 5
    with pytest.raises(CalipersError, match="2 groups in a row"):
        await step()
    assert len(faulty.posts) == 5  # and nothing more is asked


@adapters
async def test_stop_is_called_in_place_of_an_exception(faulty: FaultyServer, adapter: str) -> None:
    faulty.script(DOWN)
    stopped: list[int] = []

    def stop() -> None:
        stopped.append(1)

    step = ADAPTERS[adapter][0](judge_at(faulty), patience=2, stop=stop)
    told = [await _raised(step) for _ in range(4)]
    assert "in a row" not in "".join(one or "" for one in told)
    assert (adapter == "verifiers") == any(told)  # which is told of each lost group by a raise
    assert stopped == [1]


@adapters
async def test_a_lost_group_is_one_line_that_names_it_with_counts_and_reason(
    faulty: FaultyServer, adapter: str, caplog: pytest.LogCaptureFixture
) -> None:
    faulty.script(DOWN)
    make, name = ADAPTERS[adapter]
    step = make(judge_at(faulty))
    with caplog.at_level(logging.WARNING, "calipers.trainers"):
        await _raised(step)
    lines = [record for record in caplog.records if record.name.startswith("calipers.trainers")]
    (line,) = [record.getMessage() for record in lines]
    assert line.startswith(f"failed group {name}")
    assert "2 of 2 rollouts could not be scored" in line
    assert "this question cannot be answered" in line
    assert all(record.exc_info is None for record in lines)


async def _raised(step: Step) -> str | None:
    """What one batch raised of calipers' own, None where nothing."""
    try:
        await step()
    except CalipersError as raised:
        return str(raised)
    return None


# --- where one number is returned for each response -----------------------------------------------------------------


@pytest.mark.parametrize("on_failure", [None, 0.0])
@pytest.mark.parametrize("recipe", ["compute_score", "rubric_batch"])
def test_a_number_for_failures_does_not_hide_a_judge_that_refuses_everything(
    faulty: FaultyServer, on_failure: float | None, recipe: str
) -> None:
    """The average of a whole evaluation would be that number."""
    faulty.script(GONE)
    settings: dict[str, Any] = {"judge": "vllm/judge", "base_url": faulty.url, "attempts": 1, "on_failure": on_failure}
    truth: Any = {"prompt": "Joke?", "rubrics": [{"criterion": "is funny", "points": 1, "tags": {}}]}
    score: Any = {"compute_score": verl_eval.compute_score, "rubric_batch": verl_eval.rubric_batch}[recipe]
    with pytest.raises(ConfigError, match="every question was refused"):
        score("jokes", "worth 20", truth, **settings)


async def test_ruler_on_message_lists_says_so_too(faulty: FaultyServer) -> None:
    faulty.script(GONE)
    lists = [[{"role": "user", "content": "q"}, {"role": "assistant", "content": text}] for text in TEXTS]
    with pytest.raises(ConfigError, match="every question was refused"):
        await ruler(lists, "vllm/judge", {"api_base": faulty.url, "num_retries": 0})


async def test_a_group_that_never_becomes_whole_is_a_lost_group_too(
    faulty: FaultyServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A group size that is not the engine's keeps every group waiting, and nothing would ever be judged."""
    faulty.script(said("nobody asks"))
    run = run_for_floats(judge_at(faulty), patience=2)
    cohorts = complete_cohorts(run, size=3, deadline=0.05)
    with caplog.at_level(logging.WARNING, "calipers"):
        for key in "ab":
            await cohorts.join(
                key, {"messages": [{"role": "assistant", "content": "worth 1"}]}, group={"group_id": key}
            )
    assert caplog.messages[0].startswith(
        "group a is lost, so all get the same reward: too few members of its group arrived"
    )
    with pytest.raises(CalipersError, match="2 groups in a row"):
        run.require_running()

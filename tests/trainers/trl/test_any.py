"""What holds in every TRL the reward function is made for, the oldest that Unsloth takes included: the synchronous
twin.

Beside TRL 0.18.2 (``.ci/engines``) as beside the newest. What only newer ones do is tested in ``test_environments``.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from calipers import Judge
from calipers.errors import ConfigError
from calipers.trainers.trl import reward_func
from servers.faulty_server import Answer, Asked, FaultyServer, said
from servers.opinions import Opinions, reward_of, wanted

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("trl", reason="TRL is not installed (pip install 'calipers[trl]'; .ci/engines for the oldest)")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]

from trl_runs import advantages_of, train  # noqa: E402 - needs TRL


@pytest.fixture
def reward(judge: Judge) -> Any:
    return reward_func(judge, num_generations=4, only_reward=False, blocking=True)


def lengths(completions: Sequence[str], **_: Any) -> list[float]:
    return [len(text) / 100 for text in completions]


def test_each_completion_is_rewarded_by_what_the_judge_thinks_of_it(reward: Any, tmp_path: Path) -> None:
    run = train([reward], tmp_path)
    fault_free = [reward_of(text) for text in run.completions]
    assert run.rewards["judge"] == pytest.approx(fault_free)
    assert run.advantages == advantages_of(fault_free)


def test_a_group_that_could_not_be_judged_has_no_advantages_and_the_others_keep_theirs(
    reward: Any, server: FaultyServer, tmp_path: Path
) -> None:
    whole = train([reward], tmp_path)
    server.script(Opinions(refuses="two plus two"))
    run = train([reward], tmp_path)
    assert run.completions == whole.completions
    lost = [math.isnan(one) for one in run.rewards["judge"]]
    assert sum(lost) == 4
    assert run.advantages == [0.0 if gone else one for one, gone in zip(whole.advantages, lost, strict=True)]


def test_a_row_without_a_score_is_its_whole_group_without_one(
    reward: Any, server: FaultyServer, tmp_path: Path
) -> None:
    server.script(Opinions(silent_on_one=True))
    run = train([reward], tmp_path)
    assert all(math.isnan(one) for one in run.rewards["judge"])
    assert run.advantages == [0.0] * 16
    assert run.metrics["grad_norm"] == [0.0]


def test_beside_another_reward_function_that_one_alone_decides_a_group_without_scores(
    reward: Any, server: FaultyServer, tmp_path: Path
) -> None:
    server.script(Opinions(refuses="two plus two"))
    run = train([reward, lengths], tmp_path)
    judged, other = run.rewards["judge"], run.rewards["lengths"]
    assert sum(map(math.isnan, judged)) == 4
    both = [there if math.isnan(one) else one + there for one, there in zip(judged, other, strict=True)]
    assert run.advantages == advantages_of(both)


def equally(asked: Asked, *, points: int) -> Answer:
    """A judge that finds all attempts alike."""
    return said(json.dumps({"scores": dict.fromkeys(wanted(asked), points)}))


def test_a_group_that_the_judge_finds_equal_has_no_advantage_to_the_last_bit(
    reward: Any, server: FaultyServer, tmp_path: Path
) -> None:
    for points in (97, 33):
        server.script(partial(equally, points=points))
        assert train([reward], tmp_path).advantages == [0.0] * 16, points


def test_conversations_columns_and_equal_prompts_reach_the_judge(
    reward: Any, server: FaultyServer, tmp_path: Path
) -> None:
    rubrics = ["Be brief."] * 4
    run = train([reward], tmp_path, conversational=True, columns={"rubric": rubrics})
    texts = [told if isinstance(told, str) else told[0]["content"] for told in run.completions]  # text in old TRLs
    assert run.rewards["judge"] == pytest.approx([reward_of(text) for text in texts])
    assert all("Be brief." in post["messages"][0]["content"] for post in server.posts[-4:])


def test_another_group_size_than_the_trainers_ends_the_run_at_its_first_step(
    server: FaultyServer, tmp_path: Path
) -> None:
    judge = Judge("vllm/tiny", base_url=server.url, calls={"attempts": 1})
    wrong = reward_func(judge, num_generations=8, blocking=True)
    with pytest.raises(ConfigError, match="num_generations=8"):
        train([wrong], tmp_path)

"""What can be known of the TRL around a reward function, and what is refused because of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.trainers.trl import caller as trl_caller
from calipers.trainers.trl.caller import Caller


class Trainer:
    """As much of a trainer as a reward function's ``log_metric`` leads to."""

    def __init__(self, *, training: bool = True, functions: int = 1) -> None:
        self.model = SimpleNamespace(training=training)
        self.num_generations, self.num_generations_eval = 8, 2
        self.reward_funcs = [print] * functions

    def log(self, name: str, value: float) -> None: ...

    def columns(self, **more: Any) -> dict[str, Any]:
        return {"log_metric": self.log, "trainer_state": SimpleNamespace(global_step=5), **more}


@pytest.mark.parametrize(
    ("version", "options", "words"),
    [
        ((0, 17), {}, "too old for calipers' reward functions"),
        ((0, 26), {}, "does not await reward functions: pass blocking=True"),
        ((1, 5), {"only_reward": True}, "counts a row without a reward as 0.*install trl>=1.6"),
        ((0, 25), {"only_reward": True, "blocking": True}, "counts a row without a reward as 0"),
    ],
)
def test_a_trl_that_cannot_do_it_is_named_with_the_remedy(
    version: tuple[int, int], options: dict[str, bool], words: str
):
    with pytest.raises(ConfigError, match=words):
        trl_caller.check_version(version, **{"only_reward": False, "blocking": False, **options})


@pytest.mark.parametrize("version", [None, (1, 6), trl_caller.NEWEST])
def test_a_trl_that_can_is_not_mentioned(version: tuple[int, int] | None):
    trl_caller.check_version(version, only_reward=True, blocking=False)
    trl_caller.check_version((0, 18), only_reward=False, blocking=True)


def test_a_newer_trl_than_was_ever_tried_is_a_warning():
    with pytest.warns(UserWarning, match=r"TRL 2.0 is newer than 1.16"):
        trl_caller.check_version((2, 0), only_reward=True, blocking=False)


def test_a_group_has_the_trainers_own_size_and_in_evaluation_its_size_there():
    training, evaluating = (Caller.of(Trainer(training=training).columns()) for training in (True, False))
    assert training.size(8) == 8
    assert evaluating.size(8) == 2
    assert training.step == 5
    with pytest.raises(ConfigError, match="given num_generations=4, but the trainer has 8"):
        training.size(4)


def test_a_judge_that_is_not_the_only_reward_function_is_found_out():
    Caller.of(Trainer().columns()).check_only_reward()
    with pytest.raises(ConfigError, match="only_reward=True, but the trainer has 2 reward functions"):
        Caller.of(Trainer(functions=2).columns()).check_only_reward()


def test_where_nothing_is_known_the_callers_word_is_taken():
    unknown = Caller.of({"log_metric": print})
    assert unknown == Caller(changes_prompts=True)
    assert unknown.size(4) == 4
    unknown.check_only_reward()


def test_prompts_may_differ_where_environments_begin_and_in_asyncgrpo_only():
    assert not Caller.of(Trainer().columns()).changes_prompts
    assert not Caller.of(Trainer().columns(environments=None)).changes_prompts
    assert Caller.of(Trainer().columns(environments=[object()])).changes_prompts
    assert Caller.of({"answer": [1]}).changes_prompts  # AsyncGRPOTrainer brings columns, and nothing of its own


def test_the_oldest_trls_which_show_no_state_have_no_environments_that_could_change_prompts():
    assert not Caller.of({}, trl=(0, 19)).changes_prompts
    assert Caller.of({}, trl=(0, 20)).changes_prompts
    assert Caller.of({}, trl=None).changes_prompts


@pytest.mark.parametrize(
    ("given", "judge", "is_policy"),
    [
        ({"vllm_server_host": "127.0.0.1", "vllm_server_port": 8000}, "http://localhost:8000/v1", True),
        ({"vllm_server_base_url": "http://gpu1:8000"}, "http://gpu1:8000/v1", True),
        ({"vllm_server_base_url": "http://gpu1"}, "http://gpu1:80/v1", True),
        ({"vllm_server_base_url": "http://gpu1:8000"}, "http://gpu1:8001/v1", False),
        ({"vllm_server_base_url": "http://gpu1:8000"}, "embedded", False),
        ({"vllm_server_base_url": "http://gpu1:8000", "vllm_mode": "colocate"}, "http://gpu1:8000/v1", False),
        ({"vllm_server_base_url": "http://gpu1:8000", "use_vllm": False}, "http://gpu1:8000/v1", False),
    ],
)
def test_a_judge_at_the_policys_own_server_is_warned_of(given: dict[str, Any], judge: str, *, is_policy: bool):
    trainer: Any = Trainer()
    trainer.use_vllm = given.pop("use_vllm", True)
    trainer.args = SimpleNamespace(**{"vllm_mode": "server", "vllm_server_base_url": None, **given})
    found = Caller.of(trainer.columns()).warnings(trainer, kind=None, weighs=False, judges=[judge])
    assert any("prefers its own answers" in note for note in found) is is_policy

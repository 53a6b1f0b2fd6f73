"""A judge behind verl's own reward-model router, in verl's own reward worker; ``reward_model_engine.py`` runs them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.trainers.verl.reward_model import is_colocated, key_of_prompt, with_router
from calipers.trainers.verl.settings import make_judge, read_settings
from own_process import reported

_HERE = Path(__file__).resolve().parent
_missing = [name for name in ("verl", "ray", "uvicorn", "fastapi", "cachetools") if find_spec(name) is None]
needs_verl = pytest.mark.skipif(
    bool(_missing), reason=f"not installed: {', '.join(_missing)} (pip install 'calipers[verl]')"
)


def test_router_stands_for_its_address_also_in_a_panel():
    assert with_router({"judge": "vllm/m", "base_url": "router"}, "10.0.0.1:99")["base_url"] == "http://10.0.0.1:99/v1"
    panel = with_router({"base_url": {"vllm/m": "router", "vllm/n": "http://h/v1"}}, "[::1]:99")
    assert panel["base_url"] == {"vllm/m": "http://[::1]:99/v1", "vllm/n": "http://h/v1"}
    assert with_router({"base_url": "http://h/v1"}, None) == {"base_url": "http://h/v1"}
    assert with_router({"judge": "embedded"}, "10.0.0.1:99") == {"judge": "embedded"}


def test_a_router_that_verl_does_not_have_is_refused_with_the_remedy():
    settings = read_settings({"judge": "vllm/m", "base_url": "router"})
    with pytest.raises(ConfigError, match=r"reward\.reward_model\.enable=true"):
        make_judge(settings)


@pytest.mark.parametrize(
    ("enable", "pool", "colocated"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_reward_model_without_a_pool_of_its_own_is_colocated(*, enable: bool, pool: bool, colocated: bool):
    model = SimpleNamespace(enable=enable, enable_resource_pool=pool)
    assert is_colocated(SimpleNamespace(reward=SimpleNamespace(reward_model=model))) is colocated


def test_equal_prompts_have_one_key_and_others_another():
    first = [{"role": "user", "content": "q"}]
    assert key_of_prompt(first) == key_of_prompt([{"content": "q", "role": "user"}])
    assert key_of_prompt(first) != key_of_prompt([{"role": "user", "content": "r"}])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return reported(_HERE / "reward_model_engine.py", tmp_path_factory.mktemp("verl"), seconds=840)


@needs_verl
@pytest.mark.timeout(900)
def test_a_colocated_judge_compares_the_rollouts_of_each_prompt_in_one_question_each(report: dict[str, Any]):
    assert report["colocated"] == [0.3, 0.2, 0.9, 0.8, 0.6, 0.4, 0.1, 0.7]  # in verl's order, which mixes two prompts
    assert report["questions"] == [1, 1]  # verl's router gave each of its servers one


@needs_verl
def test_a_group_that_is_not_scored_whole_gets_a_constant_because_an_exception_would_end_the_run(
    report: dict[str, Any],
):
    assert report["one unscored"] == [0.3, 0.5, 0.9, 0.5, 0.6, 0.5, 0.1, 0.5]


@needs_verl
def test_verls_router_hides_what_a_server_refuses(report: dict[str, Any]):
    assert report["router makes of a 400"] == 500  # the page says so; when verl mends it, the page changes


@needs_verl
def test_a_reward_function_and_an_agent_loop_find_the_router(report: dict[str, Any]):
    assert report["function"] == 0.3
    assert report["agent loop's router"].startswith("127.0.0.1:")


@needs_verl
def test_settings_that_a_colocated_judge_cannot_have_are_refused(report: dict[str, Any]):
    without_function, with_recipe = report["refused"]
    assert "reward.custom_reward_function.path=pkg://calipers.trainers.verl" in without_function
    assert "recipe: verl gives a colocated judge" in with_recipe

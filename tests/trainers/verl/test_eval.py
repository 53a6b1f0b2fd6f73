"""The reward function for verl's main_eval, without verl: one response, one absolute score, and no failure as a
number.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from calipers.errors import CalipersError, ConfigError
from calipers.trainers import verl
from calipers.trainers.verl import compute_score
from servers.faulty_server import Answer, Asked, FaultyServer, error, said


def by_worth(asked: Asked) -> Answer:
    """What the only attempt says it is worth."""
    question = asked.body["messages"][-1]["content"]
    (key,) = re.findall(r"candidate (\w+)\n", question)
    return said(json.dumps({"explanations": {}, "scores": {key: int(re.findall(r"worth (\d+)", question)[-1])}}))


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer() as running:
        running.script(by_worth)
        yield running


def score(server: FaultyServer, response: str, truth: object = "", **more: Any) -> float:
    return compute_score("jokes", response, truth, judge="vllm/judge", base_url=server.url, attempts=1, **more)


def question(server: FaultyServer) -> str:
    return "\n".join(message["content"] for message in server.posts[-1]["messages"])


def test_a_response_is_scored_by_itself(server: FaultyServer) -> None:
    assert score(server, "worth 80") == 0.8
    assert "score one attempt at a task by itself" in question(server)
    assert len(server.posts) == 1


def test_a_plain_ground_truth_is_a_reference(server: FaultyServer) -> None:
    score(server, "worth 80", "a duck walks in")
    assert "an attempt that agrees with it" in question(server).lower()
    assert "a duck walks in" in question(server)


def test_a_ground_truth_may_tell_the_prompt_and_the_rubric_too(server: FaultyServer) -> None:
    truth = {"prompt": "Tell a joke.", "reference": "a duck", "rubric": "Be funny above all.", "unit_tests": None}
    score(server, "worth 80", truth)
    for part in ("Tell a joke.", "a duck", "Be funny above all."):
        assert part in question(server)


def test_what_the_ground_truth_does_not_tell_is_in_extra_info(server: FaultyServer) -> None:
    extra = {"prompt": [{"role": "user", "content": "Tell a joke."}], "rubric": "Be funny above all.", "index": 3}
    compute_score(
        data_source="jokes",
        solution_str="worth 70",
        ground_truth="a duck",
        extra_info=extra,
        judge="vllm/judge",
        base_url=server.url,
        reward_router_address="verl's own",
        reward_model_tokenizer=object(),
    )
    for part in ("Tell a joke.", "a duck", "Be funny above all."):
        assert part in question(server)


def test_thoughts_are_not_shown(server: FaultyServer) -> None:
    assert score(server, "<think>a secret, worth 10</think>worth 90") == 0.9
    assert "secret" not in question(server)


@pytest.mark.parametrize("failure", [error(400, "no"), said("no opinion")])
def test_a_failure_raises_and_is_a_number_only_where_that_was_asked_for(server: FaultyServer, failure: Answer) -> None:
    server.script(failure)
    with pytest.raises(CalipersError, match="a response of jokes got no score"):
        score(server, "worth 80")
    assert score(server, "worth 80", on_failure=0.25) == 0.25


@pytest.mark.parametrize("number", [math.nan, math.inf, True, "raise"])
def test_a_failure_never_becomes_nan(server: FaultyServer, number: Any) -> None:
    with pytest.raises(ConfigError, match="must be a finite number"):
        score(server, "worth 80", on_failure=number)


def test_settings_that_cannot_work_are_one_sentence() -> None:
    with pytest.raises(ConfigError, match="must be a judge's name"):
        compute_score("jokes", "worth 80", "")
    with pytest.raises(ConfigError, match="ordres: unknown"):
        compute_score("jokes", "worth 80", "", judge="embedded", ordres=2)
    with pytest.raises(ConfigError, match="cannot be a setting of a judge"):
        compute_score("jokes", "worth 80", "", judge="embedded", params=object())


def test_one_judge_serves_all_responses(server: FaultyServer) -> None:
    assert [score(server, f"worth {worth}", params={"top_p": 0.5}) for worth in (10, 20, 30)] == [0.1, 0.2, 0.3]
    assert server.open_connections == 1


def test_importing_the_module_brings_neither_verl_nor_ray() -> None:
    code = "import sys, calipers.trainers.verl; print(sorted({'verl', 'ray', 'torch', 'omegaconf'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.skipif(find_spec("verl") is not None, reason="verl is installed: what its absence does cannot be seen")
def test_without_verl_its_classes_are_one_sentence_with_the_command() -> None:
    with pytest.raises(ConfigError, match=r"needs verl's V1 trainer .*pip install 'calipers\[verl\]'"):
        _ = verl.AgentLoopManager


def test_other_names_are_unknown_as_in_any_module() -> None:
    assert not hasattr(verl, "Manager")

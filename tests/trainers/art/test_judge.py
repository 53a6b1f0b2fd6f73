"""RULER's interface without ART: its arguments and results, what each LiteLLM parameter becomes, and what is shared."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from art_judges import ContentJudge
from calipers import DEFAULT_RUBRIC, Judge
from calipers.errors import CalipersError, ConfigError
from calipers.trainers.art import Response, TrajectoryScore, ruler, ruler_score_group
from calipers.trainers.art import reward as art_reward
from calipers.trainers.art.judge import judge_for
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

PAIR = [[{"role": "user", "content": "q"}, {"role": "assistant", "content": text}] for text in ("worth 80", "worth 20")]


def evenly(asked: Asked) -> Answer:
    """A verdict of 50 for every attempt the question names."""
    keys = re.findall(r"candidate (\w+)\n", asked.body["messages"][-1]["content"])
    return said(json.dumps({"explanations": dict.fromkeys(keys, "so so"), "scores": dict.fromkeys(keys, 50)}))


@pytest.fixture
def server(faulty: FaultyServer) -> FaultyServer:
    faulty.script(evenly)
    return faulty


async def test_litellms_names_reach_the_server_as_options_and_parameters(server: FaultyServer) -> None:
    sent = {"temperature": 0.3, "top_p": 0.9, "seed": 7, "repetition_penalty": 1.1, "reasoning_effort": "low"}
    ignored = {"caching": True, "drop_params": True, "stream": False, "n": 1}
    nested = {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}
    for address, limit in (("api_base", "max_tokens"), ("base_url", "max_completion_tokens")):
        extra = {address: server.url, "api_key": "sk-test", limit: 321, **sent, **ignored, **nested}
        assert [one.score for one in await ruler(PAIR, "openai/judge", extra)] == [0.5, 0.5]
        asked = server.posts[-1]
        assert server.asked[-1].headers["authorization"] == "Bearer sk-test"
        assert (asked["model"], asked["chat_template_kwargs"]) == ("judge", {"enable_thinking": False})
        assert sent.items() <= asked.items()
        assert 321 in {asked.get("max_tokens"), asked.get("max_completion_tokens")}
        assert not ignored.keys() & asked.keys()


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
async def test_ollamas_address_may_lack_the_path_as_litellm_has_it(server: FaultyServer, provider: str) -> None:
    await ruler(PAIR, f"{provider}/qwen3", {"api_base": server.url.removesuffix("/v1")})
    assert server.asked[0].path == "/v1/chat/completions"


async def test_num_retries_counts_tries_after_the_first(server: FaultyServer) -> None:
    server.script(error(500, headers={"Retry-After": "0"}))
    for retries in (0, 1):
        begun = len(server.posts)
        with pytest.raises(CalipersError, match="unscored"):
            await ruler(PAIR, "vllm/judge", {"api_base": server.url, "num_retries": retries})
        assert len(server.posts) - begun == retries + 1


def test_what_cannot_work_is_one_clear_sentence() -> None:
    cases: list[tuple[object, str]] = [
        ({"response_format": {"type": "json_object"}}, "response_format.*parse_response"),
        ({"stream": True}, "'stream' is not read"),
        ({"n": 2}, "'n' is not read"),
        ({"mock_response": "hi"}, "LiteLLM"),
        ({"timeout": "soon"}, "timeout='soon'"),
        ({"num_retries": -1}, "attempts=0"),
        ({"num_retries": "2"}, "num_retries='2'"),
        ({"max_tokens": 1, "max_completion_tokens": 2}, "twice"),
        ({"api_base": 5}, "base_url=5"),
        ({"extra_body": "x"}, "extra_body is a str"),
        ({"stop": object()}, "cannot be sent as JSON"),
        (["temperature"], "must be a dict"),
    ]
    wrong = []
    for extra, words in cases:
        try:
            judge_for("embedded", extra)  # type: ignore[arg-type]  # wrong on purpose
            wrong.append((extra, "taken"))
        except ConfigError as error:
            if not re.search(words, str(error)):
                wrong.append((extra, str(error)))
    assert not wrong


@pytest.mark.parametrize("name", ["o3", "nobody/model", "openai/o3", "", 7])
async def test_a_judge_that_cannot_be_asked_is_a_config_error(name: Any) -> None:
    with pytest.raises(ConfigError):
        await ruler(PAIR, name)


@pytest.mark.parametrize("options", [{"extra": {"temperature": 0}}, {"debug": True}, {"parse": len}])
@pytest.mark.parametrize("judge", [Judge(ContentJudge()), ContentJudge()])
def test_settings_for_a_judge_that_is_set_up_already_are_refused(judge: Any, options: dict[str, Any]) -> None:
    assert judge_for(judge) is judge_for(judge)
    with pytest.raises(ConfigError, match="which has its own settings"):
        judge_for(judge, **options)


async def test_equal_arguments_share_one_judge_and_other_arguments_have_their_own(server: FaultyServer) -> None:
    extra = {"api_base": server.url, "temperature": 0.5}
    one = judge_for("vllm/judge", extra)
    assert judge_for("vllm/judge", dict(reversed(extra.items()))) is one
    assert judge_for("vllm/judge", {**extra, "temperature": 0.6}) is not one
    assert judge_for("vllm/other", extra) is not one
    for _ in range(2):  # rubrics do not matter, and neither does the event loop
        await ruler(PAIR, "vllm/judge", extra, rubric=f"rubric {len(server.posts)}")
    assert server.open_connections == 1


async def test_a_reader_of_replies_gives_0_to_100_and_its_judge_is_shared_too(server: FaultyServer) -> None:
    def read(text: str, keys: Sequence[str]) -> dict[str, float]:
        return dict.fromkeys(keys, 25)

    extra = {"api_base": server.url}
    assert [one.score for one in await ruler(PAIR, "vllm/judge", extra, parse_response=read)] == [0.25, 0.25]
    assert judge_for("vllm/judge", extra, parse=read) is judge_for("vllm/judge", extra, parse=read)


# --- RULER's interface ------------------------------------------------------------------------------------------------


JUDGE: list[tuple[str, object]] = [
    ("judge_model", "openai/o3"),
    ("extra_litellm_params", None),
    ("rubric", DEFAULT_RUBRIC),
]
READER: list[tuple[str, object]] = [("debug", False), ("parse_response", None)]


def test_arguments_and_results_are_rulers() -> None:
    """Names, order, kinds and defaults."""
    empty = inspect.Parameter.empty
    positional = {
        ruler: [("message_lists", empty), *JUDGE, ("tools", None)],
        ruler_score_group: [("group", empty), *JUDGE],
    }
    by_keyword = {ruler: READER, ruler_score_group: [("swallow_exceptions", False), *READER]}
    for function in (ruler, ruler_score_group):
        parameters = inspect.signature(function).parameters.values()
        for kind, expected in (
            (inspect.Parameter.POSITIONAL_OR_KEYWORD, positional[function]),
            (inspect.Parameter.KEYWORD_ONLY, by_keyword[function]),
        ):
            assert [(one.name, one.default) for one in parameters if one.kind is kind] == expected
        assert inspect.iscoroutinefunction(function)
    names = {"DEFAULT_RUBRIC", "Response", "TrajectoryScore", "ruler", "ruler_score_group"}
    assert set(art_reward.__all__) - names == {"judged_by"}
    score = TrajectoryScore(trajectory_id="1", explanation="fine", score=0.5)
    assert score.model_dump() == {"trajectory_id": "1", "explanation": "fine", "score": 0.5}
    assert Response(scores=[score]).model_dump() == {"scores": [score.model_dump()]}

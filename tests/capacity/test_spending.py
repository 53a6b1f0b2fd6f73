"""What a run takes is known before: calls and prompts as a server then counts them, and dollars from a price."""

import asyncio
import json
import os
import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.backends.limits.budget import question_bytes
from calipers.capacity.spending import BYTES_A_TOKEN, TOKENS_ERROR, StandIn, estimate_judging
from calipers.inputs import read_groups
from calipers.testing import Noise, SimulatedJudge
from calipers.types import Completion, JudgeRequest, TrajectoryGroup
from servers.faulty_server import Answer, Asked, FaultyServer

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("CALIPERS_DATA") or ROOT.parent / "shared" / "data")
BYTES_A_TOKEN_THERE = 3.6
"""How the fake server counts tokens: within the range that the estimate allows for."""
GROUPS = list(read_groups(ROOT / "examples" / "groups.jsonl"))


def example(schema: dict[str, Any]) -> Any:
    """A value that the schema of an answer allows, for any of the protocols."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: example(one) for name, one in schema["properties"].items()}
        case "array":
            return [example(schema["items"]) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return 50
        case "boolean":
            return True
    return "because"


def answered(asked: Asked) -> Answer:
    text = json.dumps(example(asked.body["response_format"]["json_schema"]["schema"]))
    sent = sum(len(message["content"].encode()) for message in asked.body["messages"])
    usage = {"prompt_tokens": round(sent / BYTES_A_TOKEN_THERE), "completion_tokens": 400}
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return Answer(body={"model": "m", "choices": [choice], "usage": usage})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"orders": 3, "samples": 2},
        {"protocol": "pairwise"},
        {"protocol": "pointwise"},
        {"rubric": "Only the right city counts. " * 50},
    ],
    ids=["listwise", "orders", "pairwise", "pointwise", "rubric"],
)
async def test_calls_and_prompt_tokens_are_those_that_the_server_then_counts(
    faulty: FaultyServer, options: dict[str, Any]
):
    faulty.script(answered)
    groups = GROUPS[:3]
    arguments = {"judge": "vllm/m", "base_url": faulty.url, "calls": {"price": (1.0, 2.0)}, **options}
    found = await estimate_judging(arguments, groups, reply_tokens=400)
    assert not faulty.asked
    judge = calipers.Judge(**arguments)
    results = [result async for result in judge.score_groups(groups)]
    (spending,) = found.spending
    counted = [result.usage for result in results]
    assert (found.groups, spending.calls) == (3, len(faulty.posts))
    assert spending.calls == sum(result.judge_calls for result in results)
    prompt = sum(usage.input_tokens for usage in counted)
    assert abs(spending.input_tokens - prompt) <= TOKENS_ERROR * prompt
    assert spending.output_tokens == sum(usage.output_tokens for usage in counted)
    dollars = sum(usage.cost_usd or 0.0 for usage in counted)
    assert spending.cost_usd == pytest.approx(dollars, rel=TOKENS_ERROR)


async def test_a_panel_is_estimated_by_judge_and_an_unknown_price_is_never_0(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)  # an estimate needs no key
    mine, hers = "vllm/a@http://127.0.0.1:1/v1", "openai/gpt-5-mini"
    arguments = {"judge": [mine, hers], "calls": {"price": {hers: (1.0, 1.0)}}}
    found = await estimate_judging(arguments, GROUPS[:2])
    assert [(one.name, one.calls) for one in found.spending] == [(mine, 2), (hers, 2)]
    assert found.spending[0].cost_usd is None
    assert found.spending[1].cost_usd == pytest.approx(found.spending[1].input_tokens / 1e6 + 2 * 0, abs=0.002)
    assert found.cost_usd is None
    assert found.calls == 4


async def test_a_judge_in_this_process_costs_nothing_and_what_is_not_counted_is_named():
    assert (await estimate_judging({"judge": "embedded"}, GROUPS[:1])).spending == ()
    arguments = {"judge": "openai/gpt-5-mini", "resolve": True, "criteria": "auto"}
    beside = " ".join((await estimate_judging(arguments, GROUPS[:1])).beside)
    assert "criteria that a model writes" in beside
    assert "repeated" in beside


@pytest.mark.parametrize(
    "more",
    [
        {"judge": ["openai/a", "openai/b"], "resolve": True},
        {"judge": "openai/a", "resolve": True, "protocol": "pairwise", "orders": 2},
    ],
    ids=["panel", "order"],
)
async def test_a_judge_whose_answers_are_neither_extreme_takes_no_more(more: dict[str, Any]):
    found = await estimate_judging(more, GROUPS)
    names = more["judge"] if isinstance(more["judge"], list) else [more["judge"]]
    noisy = [SimulatedJudge(_quality, Noise(0.05), model=name) for name in names]
    judge = calipers.Judge(**{**more, "judge": noisy})
    calls = sum([result.judge_calls async for result in judge.score_groups(GROUPS)])
    assert calls <= found.calls


def _quality(group_id: str, trajectory_id: str) -> float:
    return random.Random(f"{group_id} {trajectory_id}").uniform(0.3, 1)


async def test_an_option_that_cannot_work_is_an_error_as_in_the_run():
    with pytest.raises(calipers.ConfigError, match="orders=0"):
        await estimate_judging({"judge": "openai/m", "orders": 0}, GROUPS[:1])
    with pytest.raises(calipers.ConfigError, match="did you mean"):
        await estimate_judging({"judge": "opnai/m"}, GROUPS[:1])


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no recorded data at {DATA}: set CALIPERS_DATA to where it is")
@pytest.mark.parametrize("name", ["gsm8k_groups", "llmbar", "pandalm", "openqa301"])
def test_bytes_make_as_many_tokens_as_the_estimate_says(name: str, monkeypatch: pytest.MonkeyPatch):
    openai = pytest.importorskip("rs_bpe.bpe", reason="rs-bpe is not installed: pip install rs-bpe").openai
    encoding = openai.o200k_base()
    asked: list[JudgeRequest] = []
    complete = StandIn.complete

    async def kept(self: StandIn, request: JudgeRequest) -> Completion:
        asked.append(request)
        return await complete(self, request)

    monkeypatch.setattr(StandIn, "complete", kept)
    asyncio.run(estimate_judging({"judge": "openai/m"}, first(DATA / name / "groups.jsonl.gz")))
    tokens = sum(len(encoding.encode(message["content"])) for one in asked for message in one.messages)
    estimated = sum(map(question_bytes, asked)) / BYTES_A_TOKEN
    assert abs(estimated - tokens) <= TOKENS_ERROR * tokens


def first(path: Path) -> Iterator[TrajectoryGroup]:
    return islice(read_groups(path, on_error=lambda _: None), 20)

"""Judging with llama.cpp's own server and random weights: whatever its grammar permits, such a model writes."""

import pytest

import calipers
from calipers.judging.judge import Judge
from groups import FOUR, group_of
from servers.llama_server import llama_server

pytestmark = pytest.mark.heavy
GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is {n} + {n}?") for n in range(25)]


async def test_with_the_keyed_schema_every_group_is_scored(llama: str):
    judge = Judge("llamacpp/tiny", base_url=llama, concurrency=4, question={"reasks": 0})
    results = [result async for result in judge.score_groups(GROUPS)]
    assert [result.status for result in results] == ["scored"] * len(GROUPS)
    assert all(0 <= one.reward <= 1 for result in results for one in result.trajectories if one.reward is not None)
    assert len({one.reward for result in results for one in result.trajectories}) > 20
    assert all(result.usage.input_tokens > 100 and result.usage.cost_usd is None for result in results)


async def test_without_a_constraint_every_group_abstains_and_none_becomes_a_number(llama: str):
    judge = Judge(
        "llamacpp/tiny", base_url=llama, concurrency=4, calls={"max_tokens": 150, "params": {"response_format": None}}
    )
    results = [result async for result in judge.score_groups(GROUPS[:8])]
    assert {result.status for result in results} == {"abstained"}
    assert {one.reward for result in results for one in result.trajectories} == {None}


async def test_a_reply_cut_off_by_its_limit_is_asked_again_with_more_room(llama: str):
    judge = Judge("llamacpp/tiny", base_url=llama, calls={"max_tokens": 60}, question={"reasks": 3})
    result = await judge.score_group(GROUPS[0])
    assert result.status == "scored"
    assert result.judge_calls > 1


async def test_a_group_over_the_context_window_abstains_and_says_the_sizes(llama: str):
    long = group_of({"a": "one two three " * 6000, "b": "four five six " * 6000})
    result = await Judge("llamacpp/tiny", base_url=llama).score_group(long)
    assert result.status == "abstained"
    assert "4096" in (result.trajectories[0].reason or "").replace(",", "")


async def test_a_thinking_template_leaves_the_verdict_readable(tiny_model: object):
    template = (
        "{%- for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor -%}"
        "{%- if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif -%}"
    )
    with llama_server(tiny_model, slots=1, chat_template=template) as url:  # type: ignore[arg-type]  # a Path
        judge = Judge(
            "llamacpp/tiny", base_url=url, calls={"max_tokens": 2500, "params": {"seed": 3}}, question={"reasks": 2}
        )
        results = [await judge.score_group(group) for group in GROUPS[:4]]
    assert {result.status for result in results} <= {"scored", "abstained"}
    assert any(result.status == "scored" for result in results)


async def test_two_runs_with_one_seed_agree(llama: str):
    # A slot that has seen a prompt's beginning goes on from there, and rounds differently.
    fixed = {"seed": 5, "cache_prompt": False}
    judges = [Judge("llamacpp/tiny", base_url=llama, concurrency=1, calls={"params": fixed}) for _ in range(2)]
    first, second = [[await judge.score_group(group) for group in GROUPS[:3]] for judge in judges]
    assert [one.rewards for one in first] == [one.rewards for one in second]


async def test_checking_the_server_costs_nothing_and_warns_of_nothing(llama: str):
    assert list(await Judge("llamacpp/tiny", base_url=llama, concurrency=4).check()) == []
    with pytest.raises(calipers.ConfigError, match="Nothing answers"):
        await Judge("llamacpp/tiny", base_url="http://127.0.0.1:9/v1").check()


@pytest.mark.parametrize("mode", ["all", "relative"])
async def test_with_the_checklists_schema_random_weights_still_give_verdicts(llama: str, mode: str):
    criteria = ["Gives a number.", "Is right.", "Is warm."]
    judge = Judge(
        "llamacpp/tiny",
        base_url=llama,
        concurrency=4,
        question={"reasks": 0, "grading": {"mode": mode}},
        protocol="checklist",
        rubric=criteria,
    )
    results = [result async for result in judge.score_groups(GROUPS[:6])]
    assert [result.status for result in results] == ["scored"] * 6
    assert len({one.score for result in results for one in result.trajectories}) > 2


async def test_expected_scores_come_from_the_servers_own_probabilities(llama: str):
    # After sampling, and with nothing cut away, the odds are those the grammar leaves.
    whole = {"post_sampling_probs": True, "temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0}
    for protocol in ("listwise", "pointwise"):
        judge = Judge(
            "llamacpp/tiny",
            base_url=llama,
            protocol=protocol,
            question={"expected": True, "reasks": 0},
            calls={"params": whole},
        )
        results = [await judge.score_group(group) for group in GROUPS[:4]]
        members = [one for result in results for one in result.trajectories]
        assert {result.status for result in results} == {"scored"}
        sure = [one for one in members if one.stderr is not None]
        assert len(sure) > len(members) / 2
        assert all(0 < (one.stderr or 0) <= 0.5 for one in sure)
        assert all("of the probability on digits" in (one.explanation or "") for one in sure)
        assert len({one.score for one in sure}) == len(sure), "means are finer than ten digits"


async def test_odds_from_before_the_grammar_say_little_of_random_weights_and_are_not_used(llama: str):
    result = await Judge("llamacpp/tiny", base_url=llama, question={"expected": True}).score_group(GROUPS[0])
    assert result.status == "scored"
    assert {one.stderr for one in result.trajectories} == {None}
    assert any("less than 50% of the probability was on digits" in warning for warning in result.warnings)

"""A judge that refuses every question is found out after its first batch, confirmed by one small question, and told
once.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import calipers
from calipers.errors import BackendError, ConfigError, PermanentError, TransientError
from calipers.types import Completion, JudgeRequest
from groups import FOUR, group_of
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is 17 + 25, for the {n}th time?") for n in range(4)]
SMALL = "Is water wet?"

REFUSALS = {
    "a model that is not there": error(404, "The model `judge` does not exist"),
    "a wrong key": error(401, "Incorrect API key provided"),
    "no access": error(403, "no access to this model"),
    "an address that is none": Answer(404, b"404 page not found", {"Content-Type": "text/plain"}),
    "a gateway's words for a model": error(400, "/chat/completions: Invalid model name passed in model=judge"),
    "a redirect": Answer(302, b"", {"Location": "/login"}),
}
PASSING = {
    "too many requests": error(429, "slow down", headers={"Retry-After": "0"}),
    "a used-up quota": error(429, "You exceeded your current quota", code="insufficient_quota"),
    "no credit": error(402, "Insufficient Balance"),
    "a server that is down": error(503, "overloaded"),
    "a question that is refused": error(400, "this question cannot be answered"),
    "a filter": error(403, "flagged by the moderation", code="content_filter"),
    "no answer": said("I would rather not say."),
}


def is_small(asked: Asked) -> bool:
    return SMALL in str(asked.body["messages"])


def small(server: FaultyServer) -> int:
    return sum(SMALL in str(post) for post in server.posts)


def judge_at(server: FaultyServer, **settings: Any) -> calipers.Judge:
    return calipers.Judge.of(
        {"judge": "openai/judge", "base_url": server.url, "api_key": "k", "attempts": 1, "reasks": 0, **settings}
    )


async def batch(judge: calipers.Judge, groups: Sequence[Any] = GROUPS) -> list[calipers.GroupResult]:
    return [result async for result in judge.score_groups(groups, ordered=True)]


async def test_a_batch_of_nothing_but_refusals_is_a_config_error_and_the_groups_are_failed() -> None:
    for refusal in REFUSALS.values():
        with FaultyServer() as faulty:
            faulty.script(refusal)
            judge = judge_at(faulty)
            assert {result.status for result in await batch(judge)} == {"failed"}  # score_group itself raises nothing
            for _ in range(2):
                with pytest.raises(ConfigError, match=r"every question was refused.*openai/judge"):
                    await judge.require_answering()
            assert small(faulty) == 1


async def test_what_may_pass_or_is_about_the_question_ends_nothing(faulty: FaultyServer) -> None:
    for failure in PASSING.values():
        faulty.script(failure)
        judge = judge_at(faulty)
        for _ in range(2):
            assert {result.status for result in await batch(judge, GROUPS[:2])} <= {"failed", "abstained"}
            await judge.require_answering()
    assert small(faulty) == 0


async def test_a_firewall_that_refuses_what_candidates_wrote_is_no_missing_judge(faulty: FaultyServer) -> None:
    faulty.script(lambda asked: said("Yes.") if is_small(asked) else error(403, "blocked"))
    judge = judge_at(faulty)
    for _ in range(3):
        await batch(judge)
        await judge.require_answering()
    assert small(faulty) == 1  # one answer was enough, and nobody asks again
    assert judge.probed[0] == 1


async def test_a_confirmation_that_does_not_come_through_leaves_the_question_open(faulty: FaultyServer) -> None:
    faulty.script(lambda asked: error(503) if is_small(asked) else REFUSALS["a wrong key"])
    judge = judge_at(faulty)
    await batch(judge)
    await judge.require_answering()
    faulty.script(REFUSALS["a wrong key"])
    await batch(judge, [group_of(FOUR, group_id="later", question="And now?")])
    with pytest.raises(ConfigError, match="The key is not accepted"):
        await judge.require_answering()


async def test_every_kind_of_server_is_confirmed(faulty: FaultyServer) -> None:
    faulty.script(error(404, "no such model"))
    for number, judge in enumerate(("anthropic/judge", "systemone/judge", "vllm/judge"), 1):
        asked = calipers.Judge(judge, base_url=faulty.url, api_key="k", calls={"attempts": 1})
        await batch(asked, GROUPS[:1])
        with pytest.raises(ConfigError):
            await asked.require_answering()
        assert small(faulty) == number


async def test_the_small_question_counts_against_the_budget_and_is_in_no_groups_usage(faulty: FaultyServer) -> None:
    faulty.script(lambda asked: said("Yes.") if is_small(asked) else error(403, "blocked"))
    judge = judge_at(faulty, budget={"calls": 1})
    results = await batch(judge, GROUPS[:1])
    await judge.require_answering()
    assert (results[0].judge_calls, results[0].usage.input_tokens) == (0, 0)
    assert judge.probed[0] == 1
    assert judge.probed[1].input_tokens == 10
    (later,) = await batch(judge, GROUPS[1:2])
    assert "the budget is spent" in str(later.trajectories[0].reason)


# --- backends of one's own, and panels ------------------------------------------------------------------------------


@dataclass(eq=False)
class Own:
    """A backend of the user's own that raises ``error``, or likes what is shown first."""

    model: str
    error: BackendError | None = None
    endpoint: str = "own"
    asked: list[JudgeRequest] = field(default_factory=list)

    async def complete(self, request: JudgeRequest) -> Completion:
        self.asked.append(request)
        if self.error is not None:
            raise self.error
        return Completion(json.dumps({"scores": {key: 90 - 10 * n for n, key in enumerate(request.keys)}}))


GONE = PermanentError("not_found", "no such model", fatal=True)
DOWN = TransientError("server", "out of order")


async def test_a_panel_of_which_all_refuse_is_a_config_error_that_names_each(caplog: pytest.LogCaptureFixture) -> None:
    judge = calipers.Judge([Own("a", GONE), Own("b", PermanentError("unauthorized", "wrong key", fatal=True))])
    await batch(judge)
    with pytest.raises(ConfigError, match=r"Own: no such model.*; Own: wrong key"):
        await judge.require_answering()
    assert "judges without it" not in caplog.text


@pytest.mark.parametrize("other", [None, DOWN], ids=["answers", "is down"])
@pytest.mark.parametrize("panel", ["fallback", "cycle"])
async def test_a_panel_goes_on_without_a_member_that_refuses_and_says_so_once(
    panel: Any, other: BackendError | None, caplog: pytest.LogCaptureFixture
) -> None:
    judge = calipers.Judge([Own("a", GONE), Own("b", other)], panel=panel, orders=2)
    with caplog.at_level(logging.WARNING, "calipers"):
        for _ in range(3):
            await batch(judge)
            await judge.require_answering()
    assert [message for message in caplog.messages if "refuses every question" in message] == [
        "Own refuses every question, and the panel judges without it: no such model"
    ]


# --- what a server lists --------------------------------------------------------------------------------------------

LISTED = Answer(body={"object": "list", "data": [{"id": "another"}]})


async def test_a_model_that_is_not_listed_and_refused_is_a_config_error_before_the_run(faulty: FaultyServer) -> None:
    faulty.get["/v1/models"] = LISTED
    faulty.script(error(404, "The model `judge` does not exist"))
    with pytest.raises(
        ConfigError, match=r"does not list .judge. among its models .another.*It refuses it: .*does not exist"
    ):
        await judge_at(faulty).check()
    assert len(faulty.posts) == 1


async def test_a_model_that_a_proxy_hides_is_confirmed_by_one_small_call_and_nothing_is_warned_of(
    faulty: FaultyServer,
) -> None:
    faulty.get["/v1/models"] = LISTED
    faulty.script(said("Yes."))
    judge = judge_at(faulty)
    assert await judge.check() == []
    assert (small(faulty), judge.probed[0]) == (1, 1)


async def test_a_confirmation_that_fails_otherwise_leaves_the_warning(faulty: FaultyServer) -> None:
    faulty.get["/v1/models"] = LISTED
    faulty.script(error(429, headers={"Retry-After": "0"}))
    (warning,) = await judge_at(faulty).check()
    assert "does not list 'judge'" in warning


@pytest.mark.parametrize(
    "listed", [Answer(body={"data": [{"id": "judge"}]}), Answer(404, b"")], ids=["listed", "no list"]
)
async def test_no_token_is_spent_where_the_list_does_not_speak_against_the_model(
    faulty: FaultyServer, listed: Answer
) -> None:
    faulty.get["/v1/models"] = listed
    await judge_at(faulty).check()
    assert faulty.posts == []


@pytest.mark.parametrize(("path", "asked"), [("", False), ("/somewhere", True)])
async def test_an_address_that_ends_in_v1_is_not_told_to_end_in_v1(
    faulty: FaultyServer, path: str, *, asked: bool
) -> None:
    faulty.script(error(404, "no such model"))
    async with calipers.Judge(f"vllm/m@{faulty.url}{path}") as judge:
        await judge.score_group(group_of(FOUR))
        with pytest.raises(calipers.ConfigError) as caught:
            await judge.require_answering()
    assert ("ends in /v1" in str(caught.value)) is asked
    assert ".." not in str(caught.value)

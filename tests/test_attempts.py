"""Calls in vain: counted, billed, recorded as they fail, and the same in a resumed run, a second one and a replay."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import pytest

import calipers
from backends.virtual import PassingLoop
from calipers.backends.limits.limited import Limited
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.testing import SimulatedJudge
from calipers.types import Completion, FailureKind, GroupResult, JudgeRequest, Usage
from groups import FOUR, group_of
from replaying import replayed_lines, scored
from servers.faulty_server import Answer, FaultyServer, error, said, streamed

GROUP = group_of(FOUR)
BILLED = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}
PRICE = (1.0, 2.0, 0.5)  # an answer of the server's costs 6 + 4 * 0.5 + 5 * 2 = 18 millionths
ONE = 18e-6


class Judging:
    """Fails as ``errors`` say (None: answers), then answers; each answer costs 100 tokens and 10."""

    endpoint, model = "here", "m"

    def __init__(self, *errors: Callable[[], BaseException] | None) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        make = self.errors.pop(0) if self.errors else None
        if make is not None:
            raise make()
        scores = {key: 90 - 20 * place for place, key in enumerate(request.keys)}
        return Completion(json.dumps({"scores": scores}), usage=Usage(100, 10))


def failure(kind: FailureKind, usage: Usage | None = None, *, again: bool = True) -> Callable[[], BackendError]:
    def made() -> BackendError:
        error = TransientError(kind, "scripted") if again else PermanentError(kind, "scripted")
        error.usage = usage
        return error

    return made


def bill(result: GroupResult) -> tuple[int, int, int, int, int]:
    return (result.judge_calls, result.attempts, result.unusable, result.usage.input_tokens, result.usage.output_tokens)


UNUSABLE: Mapping[str, Answer] = {
    "refusal": said(None, refusal="I would rather not."),
    "filtered": said("", finish_reason="content_filter"),
    "empty": said(""),
    "blank": said(" \n "),
    "no text at all": said(None),
    "no choices": Answer(body={"choices": [], "usage": BILLED}),
    "no message": Answer(body={"choices": [{"finish_reason": "stop"}], "usage": BILLED}),
    "an error in a 200": Answer(body={"error": {"message": "upstream broke"}, "usage": BILLED}),
    "an error in its choice": Answer(body={"choices": [{"error": {"message": "broke"}}], "usage": BILLED}),
    "an error in a stream": streamed({"usage": BILLED, "choices": []}, {"error": {"message": "broke"}}),
    "an error status that names its bill": Answer(500, {"error": {"message": "died"}, "usage": BILLED}),
    "a bill inside the error": Answer(400, {"error": {"message": "json_validate_failed", "usage": BILLED}}),
}  # fmt: skip


async def test_a_billed_reply_that_cannot_be_used_is_paid_for_and_counted(faulty: FaultyServer) -> None:
    for how, answer in UNUSABLE.items():
        faulty.script(answer)
        judge = calipers.Judge("openai/judge", base_url=faulty.url, api_key="k", calls={"attempts": 1, "price": PRICE})
        result = await judge.score_group(GROUP)
        assert result.rewards == [None] * 4, how
        assert (bill(result), result.usage.cached_tokens, result.warnings) == ((0, 1, 1, 10, 5), 4, ()), how
        assert result.usage.cost_usd == pytest.approx(ONE), how


async def test_what_nobody_billed_costs_nothing_and_counts(faulty: FaultyServer) -> None:
    """A 429 and a 500, and a question put in a simpler form after a 400: calls made, and nothing to pay."""
    faulty.script(
        error(429, headers={"retry-after-ms": "1"}),
        error(500, headers={"retry-after-ms": "1"}),
        error(400, "response_format json_schema is not supported", param="response_format"),
        said('{"scores": {}}'),
    )
    judge = calipers.Judge(
        "openai/judge", base_url=faulty.url, api_key="k", calls={"price": PRICE}, question={"reasks": 0}
    )
    result = await judge.score_group(GROUP)
    assert bill(result) == (1, 4, 0, 10, 5)
    assert result.usage.cost_usd == pytest.approx(ONE)
    assert len(faulty.posts) == 4


async def test_what_nobody_counted_is_unknown_and_not_zero() -> None:
    kinds: tuple[FailureKind, ...] = ("timeout", "bad_reply", "refused")
    for kind, (price, cost) in product(kinds, (((1.0, 2.0), None), ((0.0, 0.0), 0.0))):  # or a server of one's own
        result = await calipers.Judge(Limited(Judging(failure(kind)), base=0, price=price)).score_group(GROUP)
        assert bill(result) == (1, 2, 0, 100, 10)
        assert result.usage.cost_usd == cost
        assert any("may be billed" in warning for warning in result.warnings) == (cost is None)


def test_a_deadline_knows_what_was_paid_before_it_and_what_it_broke_off() -> None:
    class Stalls(Judging):
        async def complete(self, request: JudgeRequest) -> Completion:
            if not self.errors:
                loop.let_pass(1000.0)
                await asyncio.Event().wait()
            return await super().complete(request)

    loop = PassingLoop()
    retried = Limited(Stalls(failure("bad_reply", Usage(70, 1))), price=PRICE, base=0)
    judge = calipers.Judge(retried, deadline=500.0)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        result = runner.run(judge.score_group(GROUP))
    assert (result.status, bill(result), result.usage.cost_usd) == ("failed", (0, 2, 1, 70, 1), None)
    assert any("may be billed" in warning for warning in result.warnings)


async def test_a_panel_tells_what_each_judge_took_and_a_fallback_pays_for_the_first() -> None:
    class Other(Judging):
        model = "other"

    judge = calipers.Judge([Judging(failure("refused", Usage(90, 2), again=False)), Other()], panel="fallback")
    result = await judge.score_group(GROUP)
    assert bill(result) == (1, 2, 1, 190, 12)
    assert [one["usage"]["input_tokens"] for one in result.extra["judges"]] == [90, 100]


async def test_budgets_are_charged_what_a_refusal_took_and_no_more() -> None:
    judging = Judging(*[failure("refused", Usage(1000, 1), again=False)] * 3)
    judge = calipers.Judge(judging, budget={"tokens": 60_000}, calls={"price": PRICE})
    groups = [group_of(FOUR, group_id=str(n), question=f"{n}?") for n in range(60)]
    results = [result async for result in judge.score_groups(groups, ordered=True)]
    spent = sum(one.usage.input_tokens + one.usage.output_tokens for one in results)
    # All that were not refused: nothing is set aside for good.
    assert sum(one.status == "scored" for one in results) == 57
    assert spent == 3 * 1001 + 57 * 110


async def test_an_error_that_passes_several_wrappers_is_one_call() -> None:
    once = Judging(failure("bad_reply", Usage(70, 1)), failure("server"))
    nested = Limited(Limited(once, price=(1.0, 1.0), base=0), attempts=None)
    result = await calipers.Judge(nested).score_group(GROUP)
    assert bill(result) == (1, 3, 1, 170, 11)
    assert once.calls == result.attempts


# --- in a ledger ----------------------------------------------------------------------------------------------------


GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"{n} + {n}?") for n in range(6)]


async def lines(judging: Judging, path: Path) -> list[str]:
    return await scored(path, Limited(judging, price=PRICE, base=0), GROUPS, concurrency=1)


SOME = (
    failure("bad_reply", Usage(70, 1)),
    failure("rate_limited"),
    failure("timeout"),
    None,
    failure("refused", Usage(60, 2), again=False),
    failure("bad_reply", Usage(50, 3)),
    failure("bad_reply", Usage(50, 3)),
)


async def test_a_second_run_and_a_replay_have_the_bill_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    first = await lines(Judging(*SOME), path)
    told = [json.loads(line) for line in first]
    counts = [(one["judge_calls"], one["attempts"], one["unusable"]) for one in told]
    assert counts == [(1, 4, 1), (0, 1, 1), (0, 2, 2), *[(1, 1, 0)] * 3]
    assert [one["usage"]["cost_usd"] is None for one in told] == [True, *[False] * 5]
    assert await replayed_lines(path) == first
    second = Judging(*SOME[4:])  # what failed is asked again, and fails again
    assert await lines(second, path) == first
    assert await replayed_lines(path, 2) == first
    opened = sqlite3.connect(path)
    rows = opened.execute("SELECT kind, sum(metered), sum(input_tokens) FROM failed_calls GROUP BY kind").fetchall()
    opened.close()
    assert rows == [("bad_reply", 5, 270), ("rate_limited", 1, 0), ("refused", 2, 120), ("timeout", 0, 0)]


class Killed(Judging):
    """Keeps the ledger ``whole.db`` beside ``copy`` as a process that is killed in the nth call leaves it."""

    def __init__(self, die_at: int, copy: Path, *errors: Callable[[], BaseException] | None) -> None:
        super().__init__(*errors)
        self.die_at, self.copy = die_at, copy

    async def complete(self, request: JudgeRequest) -> Completion:
        if self.calls == self.die_at:
            for _ in range(3):  # what failed is committed in the loop's next turn
                await asyncio.sleep(0)
            for end in ("", "-wal"):
                shutil.copy(self.copy.with_name(f"whole.db{end}"), f"{self.copy}{end}")
        return await super().complete(request)


@pytest.mark.parametrize("die_at", [0, 2])
async def test_a_run_that_goes_on_after_it_was_killed_has_the_bill_of_one_that_was_not(
    tmp_path: Path, die_at: int
) -> None:
    """The process ends in its nth call, which is lost; what failed before is on disk, and counts in the resumed run."""

    killed = tmp_path / "killed.db"
    whole = await lines(Killed(die_at, killed, *SOME[:3]), tmp_path / "whole.db")
    assert await lines(Judging(*SOME[die_at:3]), killed) == whole
    assert await replayed_lines(killed, 2) == whole
    assert await lines(Judging(), killed) == whole


async def test_a_killed_runs_failed_call_counts_once_although_the_question_fails_for_good(tmp_path: Path) -> None:
    refused = failure("refused", Usage(60, 2), again=False)

    killed = tmp_path / "killed.db"
    await lines(Killed(1, killed, SOME[0], refused), tmp_path / "whole.db")
    resumed = await lines(Judging(refused), killed)
    told = json.loads(resumed[0])
    assert (told["judge_calls"], told["attempts"], told["unusable"], told["usage"]["input_tokens"]) == (0, 2, 2, 130)
    assert await replayed_lines(killed, 2) == resumed
    # From here on it is the next run's own failure.
    again = await lines(Judging(refused), killed)
    assert json.loads(again[0])["attempts"] == 1


async def test_two_equal_canary_questions_of_a_group_are_one_call_and_one_bill(tmp_path: Path) -> None:
    """A canary that stands alone is the same question for two candidates, now and then, by the names drawn for it."""
    quality = {f"t{number}": (number + 2) / 10 for number in range(8)}
    judging = SimulatedJudge(quality)
    judge = calipers.Judge(judging, protocol="pointwise", defence={"canaries": "always"}, ledger=tmp_path / "l.db")
    shared = 0
    for number in range(120):
        before = judging.calls
        result = await judge.score_group(
            group_of({name: f"answer {name}" for name in quality}, group_id=str(number), question=f"{number}?")
        )
        assert result.judge_calls == result.attempts == judging.calls - before
        shared += result.judge_calls < 16
    assert shared
    judge.close()

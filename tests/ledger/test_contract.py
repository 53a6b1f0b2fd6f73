"""What every ledger promises, in whatever database it is; what makes a question another one; one call for each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

import calipers
from asking import request
from calipers.errors import LedgerError
from calipers.interfaces import FullBackend
from calipers.judging.judge import Judge, store_of
from calipers.ledger import Recorder, Replayer, Run, SingleFlight, ledger_key, open_ledger, read_ledger
from calipers.ledger.database import LEARNED
from calipers.testing import Flaky, Noise, SimulatedJudge
from calipers.types import Completion, JudgeRequest
from calipers.types.encoding import EncodedDict
from groups import FOUR, QUALITY, group_of
from replaying import replayed_lines, scored

GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"{n} + {n}?") for n in range(12)]
SETTINGS: Mapping[str, Any] = Judge(SimulatedJudge(QUALITY)).settings.to_dict()


def question(text: str) -> JudgeRequest:
    return replace(request(), messages=({"role": "user", "content": text},))


class Answering(FullBackend):
    """Answers with ``text``, counts the calls, and says what it sent if that is given."""

    endpoint, model = "e", "m"

    def __init__(self, text: str = "an answer", sent: bytes | None = None) -> None:
        self.text, self.sent, self.calls = text, sent, 0

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        await asyncio.sleep(0)
        return Completion(self.text, reasoning=self.text, sent=self.sent)


async def test_nothing_is_paid_twice_and_a_replay_is_the_run(location: str):
    first, second = SimulatedJudge(QUALITY, Noise(0.1)), SimulatedJudge(QUALITY, Noise(0.1))
    lines = await scored(location, first, GROUPS)
    assert await scored(location, second, GROUPS) == lines
    assert (first.calls, second.calls) == (len(GROUPS), 0)
    assert await replayed_lines(location) == lines
    assert await replayed_lines(location, 1) == lines


async def test_a_replay_is_byte_equal_also_where_calls_failed(location: str):
    judge = SimulatedJudge(QUALITY, Noise(0.1), Flaky.evenly(0.9), seed=2)
    lines = await scored(location, judge, GROUPS, orders=3)
    assert any('"failed"' in line or '"abstained"' in line for line in lines)
    assert await replayed_lines(location) == lines


async def test_equal_questions_in_flight_share_one_call(location: str):
    judge = SimulatedJudge(QUALITY)
    async with Judge(judge, ledger=location) as own:
        same = [group_of(FOUR, group_id=str(number)) for number in range(20)]
        await asyncio.gather(*(own.score_group(group) for group in same))
    assert judge.calls == 1


async def test_many_writers_share_commits_and_find_their_rows(location: str):
    with open_ledger(location) as ledger, open_ledger(location) as other:

        async def write(number: int) -> None:
            ledger.put(LEARNED.insert_or_replace, ("e", str(number), "{}"))
            await ledger.commit()

        with pytest.raises(ValueError, match="64 bits"):
            ledger.put(LEARNED.insert_or_replace, ("e", "m", 2**63))

        await asyncio.gather(*(write(number) for number in range(200)))
        assert other.rows("SELECT count(*) FROM learned") == [(200,)]
        ledger.check()
        ledger.put("INSERT INTO nonsense VALUES (1)", ())
        with pytest.raises(LedgerError, match="cannot be written"):
            await ledger.commit()
        for value in ("1", "2"):  # written when the ledger closes, if not before
            ledger.put(LEARNED.insert_or_replace, ("e", "last", value))
    with open_ledger(location, create=False) as ledger:
        assert ledger.rows("SELECT value FROM learned WHERE model = 'last'") == [("2",)]


async def test_who_is_cancelled_while_a_row_is_written_leaves_it_written(location: str):
    with open_ledger(location) as ledger:
        ledger.put(LEARNED.insert_or_replace, ("e", "m", "{}"))
        waiting = asyncio.create_task(ledger.commit())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await ledger.commit()
        assert ledger.rows("SELECT count(*) FROM learned") == [(1,)]


async def test_no_reward_is_made_of_an_answer_that_is_not_recorded(location: str):
    with open_ledger(location) as ledger:
        judge = calipers.Judge(SimulatedJudge(QUALITY), ledger=ledger, orders=2)
        store_of(judge)
        ledger.put("INSERT INTO nonsense VALUES (1)", ())
        with pytest.raises(LedgerError, match="cannot be written"):
            await judge.score_group(GROUPS[0])


async def test_any_text_comes_back_as_it_was(location: str):
    texts = ["", "a\0b", "\0", "␀", "␀0\0␀", "half ? a pair", "😀 ümläut 中文", "x(µ/ý", "'\"\\;--"]
    for silent in (None, Answering("another")):
        with open_ledger(location) as ledger:
            recorder = Recorder(Run(ledger, SETTINGS, version="0"))
            for text in texts:
                judge = silent or Answering(text)
                found = await recorder.answer(await recorder.begin(), question(f"about {text}"), judge)
                assert (found.text, found.reasoning) == (text, text)
        assert silent is None or silent.calls == 0


async def test_what_was_sent_is_kept_however_it_begins_and_however_long_it_is(location: str):
    bodies = [b"x is the first letter", b"(\xc2\xb5/\xc3\xbd", b"\x00", "é".encode() * 20_000]
    with open_ledger(location) as ledger:
        recorder = Recorder(Run(ledger, SETTINGS, version="0"))
        for body in bodies:
            await recorder.answer(await recorder.begin(), question(str(len(body))), Answering(sent=body))
        kept = [ledger.text(stored).encode() for (stored,) in ledger.rows("SELECT request FROM answers")]
    assert sorted(kept) == sorted(bodies)


async def test_long_groups_and_requests_come_back_as_they_were(location: str):
    long = group_of({"right": "again and " * 20_000, "far": "␀\0" * 9_000})
    lines = await scored(location, SimulatedJudge({"right": 0.9, "far": 0.1}), [long])
    assert await replayed_lines(location) == lines
    with open_ledger(location, create=False) as ledger:
        assert next(iter(Replayer(ledger).groups())) == json.loads(json.dumps(long.to_dict()))


async def test_a_closed_ledger_is_told_before_anything_is_paid_for(location: str):
    ledger, judge = open_ledger(location), Answering()
    recorder = Recorder(Run(ledger, SETTINGS, version="0"))
    ledger.close()
    with pytest.raises(LedgerError):
        await recorder.answer(0, question("one"), judge)
    assert judge.calls == 0


async def test_a_reader_sees_the_ledger_as_it_was_when_it_was_opened_and_writes_nothing(location: str):
    with pytest.raises(LedgerError, match="no such ledger"):
        open_ledger(location, create=False)
    await scored(location, SimulatedJudge(QUALITY), GROUPS[:2])
    with pytest.raises(LedgerError, match=r"has no run 3; recorded runs: 1"):
        await replayed_lines(location, 3)
    with read_ledger(location) as reader:
        before = reader.rows("SELECT count(*) FROM groups")
        await scored(location, SimulatedJudge(QUALITY), GROUPS[:3])
        assert reader.rows("SELECT count(*) FROM groups") == before == [(2,)]
    with read_ledger(location) as reader:
        assert reader.rows("SELECT count(*) FROM groups") == [(5,)]
        with pytest.raises(LedgerError, match="cannot be read"):
            reader.rows("DELETE FROM groups")


# --- one call for one question ----------------------------------------------------------------------------------------


def _key_of(*contents: object, **changes: Any) -> str:
    messages = tuple(one if isinstance(one, dict) else {"role": "user", "content": one} for one in contents)
    return ledger_key(replace(request(), messages=messages, **changes), SimulatedJudge(QUALITY))


def test_texts_that_only_join_alike_are_different_questions():
    different: list[tuple[object, ...]] = [
        ("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), (3, "abc"), ([{"type": "text", "text": "abc"}],),
        ("ab\ud83d", "c"), (None,), ({"role": "system", "content": "abc"},), ({"role": None, "content": "abc"},),
        ({"content": "abc"},), ({"content": "abc", "name": "b"},), ({"role": "user", "content": "abc", "name": "b"},),
        ({"role": 'a "role" é', "content": "abc"},),
    ]  # fmt: skip
    keys = [*(_key_of(*one) for one in different), _key_of("abc", max_tokens=7)]
    assert len(set(keys)) == len(keys)
    assert _key_of("ab", "c") == keys[0]


def test_a_schema_that_is_written_already_makes_no_other_question():
    schema = {"type": "object", "required": ["é"]}
    assert _key_of("a", schema=EncodedDict(schema)) == _key_of("a", schema=schema) != _key_of("a", schema=None)


async def never() -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def at_once() -> str:
    return "answer"


async def test_who_is_cancelled_in_the_same_moment_as_the_caller_calls_nobody():
    """Two groups with one question have one deadline; a call begun after it would be ended by nothing."""
    flight: SingleFlight[str] = SingleFlight()
    calls = 0

    async def counted() -> str:
        nonlocal calls
        calls += 1
        return await never()

    askers = [asyncio.create_task(flight.run("k", counted)) for _ in range(3)]
    await asyncio.sleep(0)
    askers[0].cancel()
    askers[1].cancel()
    await asyncio.wait(askers[:2], timeout=10)
    assert [asker.cancelled() for asker in askers] == [True, True, False]
    for _ in range(3):
        await asyncio.sleep(0)
    assert calls == 2  # the third asks for itself
    askers[2].cancel()
    await asyncio.wait(askers[2:])
    assert askers[2].cancelled()


def test_a_failure_reaches_all_and_is_forgotten_and_each_event_loop_calls_for_itself():
    flight: SingleFlight[str] = SingleFlight()

    async def fails() -> str:
        await asyncio.sleep(0)
        raise ValueError("down")

    async def both() -> None:
        results = await asyncio.gather(*(flight.run("k", fails) for _ in range(3)), return_exceptions=True)
        assert [type(result) for result in results] == [ValueError] * 3
        assert await flight.run("k", at_once) == "answer"

    for _ in range(2):
        asyncio.run(both())


async def test_who_was_cancelled_before_and_went_on_still_asks_after_another():
    flight: SingleFlight[str] = SingleFlight()

    async def stubborn() -> str:
        with suppress(asyncio.CancelledError):
            await never()
        return await flight.run("k", at_once)

    first, second = asyncio.create_task(flight.run("k", never)), asyncio.create_task(stubborn())
    for task in (second, first):
        await asyncio.sleep(0)
        task.cancel()
    assert await asyncio.wait_for(second, 10) == "answer"

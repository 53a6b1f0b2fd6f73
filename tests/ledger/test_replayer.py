"""What a replay is to those who use it: a store that adds nothing, and judges that answer from the record alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from asking import request
from calipers.errors import LedgerError, PermanentError
from calipers.judging.judge import Judge
from calipers.ledger import Ledger, Replayer
from calipers.ledger.replayer import RecordedBackend, Replay
from calipers.testing import SimulatedJudge
from calipers.types import Failure
from groups import FOUR, QUALITY, group_of

GROUPS = [group_of(FOUR, group_id=f"g{number}", question=f"{number}?") for number in range(3)]


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    judge = Judge(SimulatedJudge(QUALITY), ledger=tmp_path / "l.db")
    for group in GROUPS:
        await judge.score_group(group)
    judge.close()
    return tmp_path / "l.db"


async def test_groups_come_in_order_with_their_numbers_and_further_ones_are_of_no_run(path: Path) -> None:
    ledger = Ledger(path)
    ledger.put("UPDATE groups SET position = 7 WHERE position = 2", ())
    await ledger.commit()
    store = Replayer(ledger)
    assert store.replays
    assert [group["group_id"] for group in store.groups()] == ["g0", "g1", "g2"]
    assert [await store.begin() for _ in range(5)] == [0, 1, 7, -1, -1]
    ledger.close()


async def test_a_replay_records_nothing(path: Path) -> None:
    ledger = Ledger(path)
    before = [ledger.rows(f"SELECT * FROM {table}", ()) for table in ("asks", "groups", "answers", "runs")]  # noqa: S608
    store = Replayer(ledger)
    await store.note(0, request(), Failure("server", "down"))
    await store.finish(0, GROUPS[0], cast("Any", None))
    after = [ledger.rows(f"SELECT * FROM {table}", ()) for table in ("asks", "groups", "answers", "runs")]  # noqa: S608
    assert before == after
    ledger.close()


async def test_a_group_whose_number_is_damaged_is_refused(path: Path) -> None:
    ledger = Ledger(path)
    ledger.put("UPDATE groups SET position = 'x' WHERE position = 1", ())
    await ledger.commit()
    with pytest.raises(LedgerError):
        list(Replayer(ledger).groups())
    ledger.close()


async def test_what_was_never_asked_has_no_answer_and_the_backend_of_a_replay_gives_none(path: Path) -> None:
    backend = RecordedBackend("here", "m", ("slow",))
    with Ledger(path) as ledger:
        for number in (0, 99):
            with pytest.raises(PermanentError) as asked:
                await Replayer(ledger).answer(number, request(), cast("Any", backend))
            assert asked.value.kind == "not_recorded"
    assert (backend.endpoint, backend.model, backend.warnings) == ("here", "m", ("slow",))
    assert RecordedBackend("here", "m").warnings == ()
    with pytest.raises(PermanentError) as caught:
        await backend.complete(request())
    assert caught.value.kind == "not_recorded"


async def test_a_recorded_judge_has_the_name_and_the_warnings_of_the_latest_run(path: Path) -> None:
    ledger = Ledger(path)
    (settings,) = ledger.rows("SELECT settings FROM runs", ())[0]
    changed = json.dumps(json.loads(settings) | {"warnings": ["slow", "new"]})
    ledger.put("UPDATE runs SET settings = ?", (changed,))
    await ledger.commit()
    ledger.close()
    judge, simulated = Replay(path), SimulatedJudge(QUALITY)
    assert (judge.endpoint, judge.model) == (simulated.endpoint, simulated.model)
    assert judge.warnings == ("slow", "new")
    with pytest.raises(PermanentError) as caught:
        await judge.complete(request())
    assert caught.value.kind == "not_recorded"

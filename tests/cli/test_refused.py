"""``calipers score`` with a judge that refuses every question: it stops, and writes over nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calipers.types import GroupResult
from command_line import Calipers, Ended
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

OLDER = json.dumps(GroupResult("older", "scored", ()).to_dict()) + "\n"
GONE = error(404, "The model `judge` does not exist")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [group_of(FOUR, group_id=f"g{n}", question=f"What is 17 + 25, for the {n}th time?") for n in range(200)]
    lines = "".join(json.dumps(row.to_dict()) + "\n" for row in rows)
    (tmp_path / "groups.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def score(calipers: Calipers, server: FaultyServer, *flags: str) -> Ended:
    at = ("--judge", "vllm/judge", "--base-url", server.url)
    return calipers("score", "groups.jsonl", "-o", "out.jsonl", *at, *flags)


def test_a_judge_that_refuses_every_question_is_a_mistake_and_costs_no_older_result(
    folder: Path, calipers: Calipers, faulty: FaultyServer
) -> None:
    (folder / "out.jsonl").write_text(OLDER)
    for refusal in (GONE, error(401, "wrong key")):
        faulty.script(refusal)
        done = score(calipers, faulty, "--force")
        assert done.code == 2
        assert "every question was refused, so nothing would be scored: vllm/judge: " in done.err
        assert "Traceback" not in done.err, done.err
        assert (folder / "out.jsonl").read_text() == OLDER
    assert len(faulty.posts) < 400


def test_where_the_ledger_has_answers_a_run_goes_on_with_them(
    folder: Path, calipers: Calipers, faulty: FaultyServer
) -> None:
    """The rest is written out as failed, and asked when the judge is back."""

    def some(asked: Asked) -> Answer:
        return said(verdict(asked)) if "for the 150th time" in str(asked.body) else error(400, "not now")

    faulty.script(some)
    assert score(calipers, faulty).code == 1
    faulty.script(GONE)
    assert score(calipers, faulty).code == 1
    results = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [one["group_id"] for one in results if one["status"] == "scored"] == ["g150"]
    assert len(results) == 200


def test_a_model_that_is_not_listed_is_a_warning_and_stops_when_it_is_refused(
    folder: Path, calipers: Calipers, faulty: FaultyServer
) -> None:
    faulty.get["/v1/models"] = Answer(body={"data": [{"id": "another"}]})
    faulty.script(GONE)
    done = score(calipers, faulty)
    assert done.code == 2
    assert "does not list 'judge' among its models (another)" in done.err
    assert "every question was refused" in done.err

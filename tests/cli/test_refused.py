"""``calipers score`` with a judge that refuses every question: it stops, and writes over nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calipers.types import GroupResult
from command_line import Calipers, Ended, read_rows, write_rows
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

OLDER = json.dumps(GroupResult("older", "scored", ()).to_dict()) + "\n"
GONE = error(404, "The model `judge` does not exist")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with 200 groups."""
    groups = (group_of(FOUR, group_id=f"g{n}", question=f"17 + 25, for the {n}th time?") for n in range(200))
    write_rows(tmp_path / "groups.jsonl", (group.to_dict() for group in groups))
    return tmp_path


def score(calipers: Calipers, server: FaultyServer, *flags: str) -> Ended:
    at = ("--judge", "vllm/judge", "--base-url", server.url)
    return calipers("score", "groups.jsonl", "-o", "out.jsonl", *at, *flags)


def test_a_judge_that_refuses_every_question_is_a_mistake_and_costs_no_older_result(
    folder: Path, calipers: Calipers, faulty: FaultyServer
) -> None:
    (folder / "out.jsonl").write_text(OLDER)
    faulty.get["/v1/models"] = Answer(body={"data": [{"id": "another"}]})
    for refusal in (GONE, error(401, "wrong key")):
        faulty.script(refusal)
        done = score(calipers, faulty, "--force")
        assert (done.code, "Traceback" in done.err) == (2, False), done.err
        assert "does not list 'judge' among its models (another)" in done.err
        assert "every question was refused, so nothing would be scored: vllm/judge: " in done.err
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
    results = read_rows(folder / "out.jsonl")
    assert [one["group_id"] for one in results if one["status"] == "scored"] == ["g150"]
    assert len(results) == 200

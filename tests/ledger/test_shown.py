"""A report, ``calipers show`` and ``calipers watch`` of a ledger, in SQLite and in Postgres."""

from pathlib import Path

from click.testing import CliRunner

import calipers
from calipers.cli import app
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of
from reported import data_of, details_in
from servers.postgres_server import PASSWORD


async def test_a_ledger_is_shown_wherever_it_is_and_its_password_nowhere(location: str, tmp_path: Path):
    async with calipers.Judge(SimulatedJudge(QUALITY), ledger=location, orders=2) as judge:
        await judge.score_group(group_of(FOUR, group_id="one"))
        out = tmp_path / "report.html"
        done = CliRunner().invoke(app, ["report", location, "-o", str(out)])
        assert done.exit_code == 0, done.output
        shown = CliRunner().invoke(app, ["show", location, "one"])
        assert "I cannot add numbers" in shown.output
        watched = CliRunner().invoke(app, ["watch", location, "--once"])
        assert "1 scored" in watched.output
        assert [(one["id"], len(one["questions"])) for one in details_in(out)] == [("one", 2)]
    for text in (done.output, shown.output, watched.output, str(data_of(out))):
        assert PASSWORD not in text
        assert "secret%40word" not in text

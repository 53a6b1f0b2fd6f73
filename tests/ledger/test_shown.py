"""A report, ``calipers show`` and ``calipers watch`` of a ledger, in SQLite and in Postgres."""

from pathlib import Path

from click.testing import CliRunner

import calipers
from calipers.cli import app
from calipers.report.serving import ServedReport
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
        data = data_of(out)
        assert [one["id"] for one in details_in(out)] == ["one"]
        assert len(details_in(out)[0]["questions"]) == 2
        assert data["run"][0]["at"] == [1]

        served = ServedReport([location], on_error=print)
        assert served.follows
        assert served.write_page(tmp_path / "served.html") == 1
        live = data_of(tmp_path / "served.html")["about"][0]["live"]
        await judge.score_group(group_of(FOUR, group_id="two"))
        assert [row["id"] for row in served.news(live["run"], live["cursor"])["rows"]] == ["two"]
        views = served.views(live["page"])
        assert views is not None
        assert views["run"][0]["at"] == [2]
    for text in (done.output, shown.output, watched.output, str(data), str(views)):
        assert PASSWORD not in text
        assert "secret%40word" not in text

"""``calipers report`` and ``calipers show``: what they write, print and refuse."""

from functools import partial
from pathlib import Path

import pytest

from calipers.cli import app
from calipers.errors import InputError
from command_line import mismatches, run_in
from groups import FOUR, QUALITY, group_of
from reported import details_in, member, result_of, write_lines


def calipers(*arguments: str) -> int:
    return int(app.main(list(arguments), standalone_mode=False) or 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two scored groups, and the ledger of their run."""
    monkeypatch.chdir(tmp_path)
    groups = [group_of(FOUR, group_id=name, question=f"Question {name}?") for name in ("one", "two")]
    write_lines(Path("groups.jsonl"), (group.to_dict() for group in groups))
    reply = {
        "scores": {name: round(100 * value) for name, value in QUALITY.items()},
        "explanations": {"far": "far off"},
    }
    write_lines(Path("replies.jsonl"), [reply])
    assert (
        calipers("score", "groups.jsonl", "-o", "scored.jsonl", "--judge", "scripted:replies.jsonl", "--orders", "2")
        == 0
    )
    return tmp_path


def test_the_ledger_beside_a_result_file_is_read_too(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert calipers("report", "scored.jsonl", "-o", "page.html") == 0
    said = capsys.readouterr().err
    assert "scored.jsonl.ledger.db" in said
    assert "page.html: 2 groups" in said
    assert [len(one["questions"]) for one in details_in(Path("page.html"))] == [2, 2]


def test_a_named_groups_file_takes_its_place(folder: Path):
    assert calipers("report", "scored.jsonl", "-o", "page.html", "--groups", "groups.jsonl") == 0
    detail = details_in(Path("page.html"))[0]
    assert detail["shared"][0]["content"] == "Question one?"
    assert detail["questions"] is None


def test_a_mistake_is_a_sentence(folder: Path):
    cases: list[tuple[tuple[str, ...], str]] = [
        (("report", "scored.jsonl", "-o", "scored.jsonl"), "is the source scored.jsonl itself"),
        (("report", "gone.jsonl", "-o", "page.html"), "there is no such file"),
        (("report", "groups.jsonl", "-o", "page.html"), "is a groups file"),
        (("report", "scored.jsonl", "-o", "gone/page.html"), "its folder does not exist"),
        (("report", "scored.jsonl", "-o", "-"), "not written to stdout"),
        (("report", "scored.jsonl.ledger.db", "-o", "page.html", "--run", "9"), "no run 9"),
        (("show", "scored.jsonl", "three"), "has no group 'three'; it has one, two"),
    ]
    assert mismatches(partial(run_in, folder), cases) == []
    assert not Path("page.html").exists()


def test_a_bad_line_makes_the_exit_code_1(folder: Path):
    with Path("scored.jsonl").open("a", encoding="utf-8") as file:
        file.write("{\n")
    assert calipers("report", "scored.jsonl", "-o", "page.html") == 1
    assert len(details_in(Path("page.html"))) == 2
    Path("bad.jsonl").write_text("{\n", encoding="utf-8")
    with pytest.raises(InputError, match="no line in it can be read"):
        calipers("report", "bad.jsonl", "-o", "other.html")


def test_show_prints_a_group_with_ranking_words_answers_and_questions(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert calipers("show", "scored.jsonl") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["one", "two"]
    assert "best right 0.900" in lines[0]
    assert calipers("show", "scored.jsonl", "two") == 0
    out = capsys.readouterr().out
    ranking = [line.split()[1] for line in out.splitlines() if " ± " in line]
    assert ranking == ["right", "close", "far", "silent"]
    for text in ("user: Question two?", "judge: far off", "assistant: I cannot add numbers.", "order, strict, shown"):
        assert text in out


def test_show_shortens_unless_everything_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    results = write_lines(tmp_path / "r.jsonl", [result_of("g", member("right"), member("far"), warnings=["\x1b[2J"])])
    long = {"right": "x" * 5000 + "end", "far": "7"}
    groups = write_lines(tmp_path / "g.jsonl", [group_of(long).to_dict()])
    assert calipers("show", str(results), "g", "--groups", str(groups)) == 0
    out = capsys.readouterr().out
    assert "xend" not in out
    assert "5,003 characters" in out
    assert "\x1b" not in out
    assert calipers("show", str(results), "g", "--groups", str(groups), "--full") == 0
    assert "xend" in capsys.readouterr().out

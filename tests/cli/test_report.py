"""``calipers report`` and ``calipers show``: what they write, print and refuse."""

from pathlib import Path

import click
import pytest

from calipers.cli import app
from calipers.errors import CalipersError, ConfigError, InputError
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


def test_a_file_is_replaced_only_with_force(folder: Path):
    Path("mine.html").write_text("<p>mine</p>", encoding="utf-8")
    with pytest.raises(ConfigError, match="so it is not replaced"):
        calipers("report", "scored.jsonl", "-o", "mine.html")
    assert calipers("report", "scored.jsonl", "-o", "mine.html", "--force") == 0


@pytest.mark.parametrize(("arguments", "message"), [
    (("report", "scored.jsonl", "-o", "scored.jsonl"), "is the source scored.jsonl itself"),
    (("report", "gone.jsonl", "-o", "page.html"), "there is no such file"),
    (("report", "groups.jsonl", "-o", "page.html"), "is a groups file"),
    (("report", "scored.jsonl", "-o", "gone/page.html"), "its folder does not exist"),
    (("report", "scored.jsonl", "-o", "-"), "not written to stdout"),
    (("report", "scored.jsonl.ledger.db", "-o", "page.html", "--run", "9"), "no run 9"),
    (("show", "scored.jsonl", "three"), "has no group 'three'; it has one, two"),
])  # fmt: skip
def test_a_mistake_is_a_sentence(folder: Path, arguments: tuple[str, ...], message: str):
    with pytest.raises((CalipersError, click.ClickException), match=message):
        calipers(*arguments)
    assert not Path("page.html").exists()


def test_a_bad_line_makes_the_exit_code_1(folder: Path):
    with Path("scored.jsonl").open("a", encoding="utf-8") as file:
        file.write("{\n")
    assert calipers("report", "scored.jsonl", "-o", "page.html") == 1
    assert len(details_in(Path("page.html"))) == 2
    Path("bad.jsonl").write_text("{\n", encoding="utf-8")
    with pytest.raises(InputError, match="no line in it can be read"):
        calipers("report", "bad.jsonl", "-o", "other.html")


def test_show_prints_a_line_a_group(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert calipers("show", "scored.jsonl") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["one", "two"]
    assert "best right 0.900" in lines[0]


def test_show_prints_a_group_with_ranking_words_answers_and_questions(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert calipers("show", "scored.jsonl", "two") == 0
    out = capsys.readouterr().out
    ranking = [line.split()[1] for line in out.splitlines() if "●" in line]
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


def test_equal_rewards_share_a_rank_and_a_missing_one_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    members = (member("a", 0.0), member("b", 0.7), member("c", 0.0), member("d", None, reason="refused"))
    assert calipers("show", str(write_lines(tmp_path / "r.jsonl", [result_of("g", *members)])), "g") == 0
    ranks = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[3:7]]  # below the heading
    assert ranks == [["1", "b"], ["2=", "a"], ["2=", "c"], ["-", "d"]]


def test_show_gives_a_score_with_its_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    members = [member("a", 1.0, score=0.725, stderr=0.1088), member("b", 0.0, score=0.5)]
    assert calipers("show", str(write_lines(tmp_path / "r.jsonl", [result_of("g", *members)])), "g") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split() == ["rank", "reward", "score,", "95", "%", "interval"] for line in lines)
    assert any(line.split()[:6] == ["1", "a", "1.000", "0.725", "\u00b1", "0.213"] for line in lines)
    assert any(line.split()[:4] == ["2", "b", "0.000", "0.500"] for line in lines)

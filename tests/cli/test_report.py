"""``calipers report`` and ``calipers show``: what they write, print and refuse."""

from pathlib import Path

import pytest

from command_line import Calipers, mismatches, read_rows, write_rows
from groups import FOUR, group_of
from reported import details_in, member, result_of

SCORES = {"right": 90, "close": 50, "far": 20, "silent": 5}


@pytest.fixture(autouse=True)
def _scored(folder: Path, calipers: Calipers) -> None:
    """Scored groups, and the ledger of their run."""
    write_rows(folder / "groups.jsonl", [group_of(FOUR, group_id=name, question=f"Question {name}?").to_dict()
                                         for name in ("one", "two")])  # fmt: skip
    write_rows(folder / "replies.jsonl", [{"scores": SCORES, "explanations": {"far": "far off"}}])
    judge = ("--judge", "scripted:replies.jsonl", "--orders", 2)
    assert calipers("score", "groups.jsonl", "-o", "scored.jsonl", *judge).code == 0


def test_the_ledger_beside_a_result_file_is_read_too_but_a_named_groups_file_takes_its_place(calipers: Calipers):
    done = calipers("report", "scored.jsonl", "-o", "page.html")
    assert done.code == 0
    for words in ("scored.jsonl.ledger.db", "page.html: 2 groups"):
        assert words in done.err
    assert [len(one["questions"]) for one in details_in(Path("page.html"))] == [2, 2]
    assert calipers("report", "scored.jsonl", "-o", "other.html", "--groups", "groups.jsonl").code == 0
    detail = details_in(Path("other.html"))[0]
    assert (detail["shared"][0]["content"], detail["questions"]) == ("Question one?", None)


def test_groups_keep_their_texts_and_questions_after_a_later_run_of_some(folder: Path, calipers: Calipers):
    rows = read_rows(folder / "scored.jsonl")
    write_rows(folder / "scored.jsonl", [rows[0], {**rows[1], "status": "failed"}])
    again = ("score", "groups.jsonl", "-o", "scored.jsonl", "--judge", "scripted:replies.jsonl", "--only", "failed")
    assert calipers(*again, "--force").code == 0
    assert calipers("report", "scored.jsonl", "-o", "page.html").code == 0
    assert [len(one["questions"] or ()) for one in details_in(Path("page.html"))] == [2, 1]
    assert calipers("report", "scored.jsonl", "scored.jsonl.ledger.db", "--run", 2, "-o", "run.html").code == 0
    assert [len(one["questions"] or ()) for one in details_in(Path("run.html"))] == [0, 1]


def test_a_mistake_is_a_sentence(folder: Path, calipers: Calipers):
    (folder / "bad.jsonl").write_text("{\n", encoding="utf-8")
    cases: list[tuple[tuple[str, ...], str]] = [
        (("report", "scored.jsonl", "-o", "scored.jsonl"), "is the source scored.jsonl itself"),
        (("report", "gone.jsonl", "-o", "page.html"), "there is no such file"),
        (("report", "groups.jsonl", "-o", "page.html"), "is a groups file"),
        (("report", "scored.jsonl", "-o", "gone/page.html"), "its folder does not exist"),
        (("report", "scored.jsonl", "-o", "-"), "not written to stdout"),
        (("report", "scored.jsonl.ledger.db", "-o", "page.html", "--run", "9"), "no run 9"),
        (("report", "bad.jsonl", "-o", "other.html"), "no line in it can be read"),
        (("show", "scored.jsonl", "three"), "has no group 'three'; it has one, two"),
    ]
    assert mismatches(calipers, cases) == []
    assert not Path("page.html").exists()
    assert not Path("other.html").exists()


def test_a_bad_line_makes_the_exit_code_1(folder: Path, calipers: Calipers):
    with (folder / "scored.jsonl").open("a", encoding="utf-8") as file:
        file.write("{\n")
    assert calipers("report", "scored.jsonl", "-o", "page.html").code == 1
    assert len(details_in(Path("page.html"))) == 2


def test_show_prints_a_group_with_ranking_words_answers_and_questions(calipers: Calipers):
    lines = calipers("show", "scored.jsonl").out.splitlines()
    assert [line.split()[0] for line in lines] == ["one", "two"]
    assert "best right 0.900" in lines[0]
    out = calipers("show", "scored.jsonl", "two").out
    ranking = [line.split()[1] for line in out.splitlines() if " ± " in line]
    assert ranking == ["right", "close", "far", "silent"]
    for text in ("user: Question two?", "judge: far off", "assistant: I cannot add numbers.", "order, strict, shown"):
        assert text in out


def test_show_shortens_unless_everything_is_wanted(folder: Path, calipers: Calipers):
    write_rows(folder / "r.jsonl", [result_of("g", member("right"), member("far"), warnings=["\x1b[2J"])])
    write_rows(folder / "g.jsonl", [group_of({"right": "x" * 5000 + "end", "far": "7"}).to_dict()])
    show = ("show", "r.jsonl", "g", "--groups", "g.jsonl")
    out = calipers(*show).out
    assert ("xend" in out, "\x1b" in out, "5,003 characters" in out) == (False, False, True)
    assert "xend" in calipers(*show, "--full").out

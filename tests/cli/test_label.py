"""``calipers label`` on the command line: what it writes and prints, and what a user's mistake is told."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from calipers.cli import app
from calipers.errors import CalipersError
from calipers.inputs import read_groups
from calipers.labelling.labels import LabelFile
from groups import group_of
from labelled import ANSWERS, fail, groups_file, label_of
from reported import member, result_of, write_lines


def calipers(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {key: value for key, value in os.environ.items() if not key.startswith("CALIPERS_")}
    command = [sys.executable, "-m", "calipers", "label", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=own | environment, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five groups, of which two annotators have labelled four."""
    groups = [group_of(ANSWERS, group_id=f"g{n}", question=f"{n}?") for n in range(5)]
    groups_file(tmp_path / "g.jsonl", groups)
    file = LabelFile(tmp_path / "g.labels.jsonl", on_error=fail)
    ranks = {"right": 1, "close": 2, "far": 3, "silent": None}
    for group in groups[:4]:
        file.append(label_of(group, "ann", ranks, shown=tuple(ANSWERS)))
        file.append(label_of(group, "ben", ranks | {"close": 1}, shown=tuple(reversed(ANSWERS))))
    return tmp_path


def test_gold_is_written_and_replaced_and_other_files_are_not(folder: Path):
    for extra in ((), ("--force",)):
        done = calipers("g.jsonl", "--gold", "gold.jsonl", *extra, cwd=folder)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith("gold.jsonl: gold for 4 groups by 2 annotators.")
    gold = [{one.id: one.gold for one in group.trajectories} for group in read_groups(folder / "gold.jsonl")]
    assert gold == [{"right": 0.875, "close": 0.625, "far": 0.0, "silent": None}] * 4
    for name, said in (("g.jsonl", "is the groups file itself"), ("g.labels.jsonl", "is the label file itself")):
        refused = calipers("g.jsonl", "--gold", name, cwd=folder)
        assert (refused.returncode, said in refused.stderr) == (2, True)
    (folder / "other.txt").write_text("mine")
    assert "exists, so it is not replaced" in calipers("g.jsonl", "--gold", "other.txt", cwd=folder).stderr
    assert (folder / "other.txt").read_text() == "mine"


def test_agreement_is_printed_for_people_and_for_programs(folder: Path):
    done = calipers("g.jsonl", "--agreement", cwd=folder)
    assert done.returncode == 0
    assert "Krippendorff's alpha (ordinal, pairs of candidates): 0." in done.stdout
    assert "4 groups with two annotators or more" in done.stdout
    found = json.loads(calipers("g.jsonl", "--agreement", "--json", cwd=folder).stdout)
    assert [one["annotator"] for one in found["annotators"]] == ["ann", "ben"]
    ann = found["annotators"][0]
    assert (ann["labelled"], ann["cant_tell"], ann["place"]["value"]) == (4, 4, pytest.approx(1.0))


@pytest.mark.parametrize(("arguments", "said"), [
    (("none.jsonl",), "none.jsonl: there is no such file"),
    (("g.jsonl", "--annotator", " "), "--annotator: needs a name"),
    (("g.jsonl", "--annotator", "a\nb"), "--annotator: needs a name"),
    (("g.jsonl", "--labels", "g.jsonl"), "--labels g.jsonl: is the groups file itself"),
    (("g.jsonl", "--labels", "none/l.jsonl"), "its folder does not exist"),
    (("g.jsonl", "--labels", "r.csv"), "--labels r.csv: is not a file of calipers label"),
    (("g.jsonl", "--gold", "x", "--agreement"), "--gold and --agreement: do one at a time"),
    (("g.jsonl", "--random-sample"), "--random-sample is for --gold"),
    (("g.jsonl", "--json"), "--json is for --agreement"),
    (("g.jsonl", "--gold", "x", "--port", "80"), "--results and --port are for the page"),
    (("g.jsonl", "--labels", "new.jsonl", "--agreement"), "new.jsonl has no labels of groups in g.jsonl"),
    (("g.jsonl", "--labels", "new.jsonl", "--gold", "x"), "no group has a label that counts in new.jsonl"),
    (("other.jsonl", "--labels", "g.labels.jsonl"), "has labels of other groups"),
    (("one.jsonl",), "every group has one trajectory, and there is nothing to rank"),
    (("empty.jsonl",), "empty.jsonl: holds no groups"),
    (("g.jsonl", "--results", "g.jsonl"), "is a groups file, which has no results"),
    (("g.jsonl", "--results", "strange.jsonl"), "strange.jsonl: has no scores of a group in g.jsonl"),
    (("-",), "--labels: name the file of labels, because the groups come from stdin"),
])  # fmt: skip
def test_a_mistake_is_one_sentence_with_its_remedy(
    folder: Path, arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
):
    (folder / "r.csv").write_text("a,b\n1,2\n")
    (folder / "empty.jsonl").write_text("")
    groups_file(folder / "other.jsonl", [group_of(ANSWERS, group_id="other")])
    groups_file(folder / "one.jsonl", [group_of({"a": "42"})])
    write_lines(folder / "strange.jsonl", [result_of("strange", member("a"), member("b"))])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.chdir(folder)
    with pytest.raises(CalipersError) as caught:
        app.main(["label", *arguments], standalone_mode=False)
    assert said in str(caught.value)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_page_reports_what_it_lacks_and_ends_with_ctrl_c(folder: Path):
    groups_file(folder / "g.jsonl", [*read_groups(folder / "g.jsonl"), group_of({"a": "42"}, group_id="alone")])
    lines = [result_of(f"g{n}", member("right", 0.9, stderr=0.1), member("far", 0.1, stderr=0.1)) for n in range(3)]
    write_lines(folder / "scored.jsonl", lines)
    command = [sys.executable, "-m", "calipers", "label", "g.jsonl", "--results", "scored.jsonl", "--annotator", "ann"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CALIPERS_")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder, env=environment) as process:
        assert process.stderr is not None
        said = [process.stderr.readline().strip() for _ in range(4)]
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=60)[1].splitlines()
    assert process.returncode == 0
    assert said[:2] == [
        "1 groups have one trajectory and are not shown",
        "2 of 5 groups have no scores in scored.jsonl; they come in random order",
    ]
    assert said[2].startswith("http://127.0.0.1:")
    assert said[3:] == [
        "Labels of ann go to g.labels.jsonl; Ctrl-C ends it",
        "ann has labelled 4 of 5 groups. calipers label g.jsonl --gold gold.jsonl writes gold for calipers calibrate.",
    ]

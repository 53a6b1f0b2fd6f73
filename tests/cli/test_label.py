"""``calipers label`` on the command line: what it writes and prints, and what a user's mistake is told."""

import json
import signal
from pathlib import Path

import pytest

from calipers.inputs import read_groups
from calipers.labelling.labels import LabelFile
from command_line import Calipers, mismatches, started
from groups import group_of
from labelled import ANSWERS, fail, groups_file, label_of


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


def test_gold_is_written_and_replaced_and_agreement_printed(folder: Path, calipers: Calipers):
    for extra in ((), ("--force",)):
        done = calipers("label", "g.jsonl", "--gold", "gold.jsonl", *extra)
        assert (done.code, done.out) == (0, "")
        assert "gold for 4 groups by 2 annotators" in done.err
    gold = [{one.id: one.gold for one in group.trajectories} for group in read_groups(folder / "gold.jsonl")]
    assert gold == [{"right": 0.875, "close": 0.625, "far": 0.0, "silent": None}] * 4
    printed = calipers("label", "g.jsonl", "--agreement").out
    assert "Krippendorff's alpha (ordinal, pairs of candidates): 0." in printed
    found = json.loads(calipers("label", "g.jsonl", "--agreement", "--json").out)
    assert [one["annotator"] for one in found["annotators"]] == ["ann", "ben"]
    assert (found["annotators"][0]["labelled"], found["annotators"][0]["cant_tell"]) == (4, 4)
    assert f"{found['alpha']['value']:.2f}" in printed


def test_a_mistake_is_one_sentence_with_its_remedy_and_changes_no_file(folder: Path, calipers: Calipers):
    (folder / "r.txt").write_text("a,b\n1,2\n")
    (folder / "empty.jsonl").write_text("")
    groups_file(folder / "other.jsonl", [group_of(ANSWERS, group_id="other")])
    groups_file(folder / "one.jsonl", [group_of({"a": "42"})])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    cases: list[tuple[tuple[str, ...], str]] = [
        (("none.jsonl",), "none.jsonl: there is no such file"),
        (("g.jsonl", "--annotator", "a\nb"), "--annotator: needs a name"),
        (("g.jsonl", "--labels", "g.jsonl"), "--labels g.jsonl: is the groups file itself"),
        (("g.jsonl", "--labels", "none/l.jsonl"), "its folder does not exist"),
        (("g.jsonl", "--labels", "r.txt"), "--labels r.txt: is not a file of calipers label"),
        (("g.jsonl", "--gold", "x", "--agreement"), "--gold and --agreement: give only one of them"),
        (("g.jsonl", "--json"), "--json has no effect without --agreement"),
        (("g.jsonl", "--gold", "g.jsonl"), "is the groups file itself"),
        (("g.jsonl", "--gold", "g.labels.jsonl"), "is the label file itself"),
        (("g.jsonl", "--gold", "r.txt"), "exists, so it is not replaced"),
        (("g.jsonl", "--labels", "new.jsonl", "--agreement"), "new.jsonl has no labels of groups in g.jsonl"),
        (("g.jsonl", "--labels", "new.jsonl", "--gold", "x"), "no group has a label that counts in new.jsonl"),
        (("other.jsonl", "--labels", "g.labels.jsonl"), "has labels of other groups"),
        (("one.jsonl",), "every group has one trajectory, and there is nothing to rank"),
        (("empty.jsonl",), "empty.jsonl: holds no groups"),
        (("-",), "--labels: name the file of labels, because the groups come from stdin"),
    ]
    assert mismatches(calipers, [(("label", *arguments), words) for arguments, words in cases]) == []
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_page_reports_what_it_lacks_and_ends_with_ctrl_c(folder: Path):
    groups_file(folder / "g.jsonl", [*read_groups(folder / "g.jsonl"), group_of({"a": "42"}, group_id="alone")])
    with started(folder, "label", "g.jsonl", "--annotator", "ann") as process:
        assert process.stderr is not None
        said = [process.stderr.readline().strip() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        said += process.communicate(timeout=60)[1].splitlines()
    assert process.returncode == 0
    words = ("1 groups have one trajectory", "http://127.0.0.1:", "g.labels.jsonl", "ann has labelled 4 of 5 groups")
    assert all(word in line for word, line in zip(words, said, strict=True)), said

"""``calipers calibrate``, run as a person runs it: what it prints, refuses, pays for and recommends."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import calipers as package
from command_line import Calipers, mismatches, read_rows, write_rows
from judged import groups, rated
from servers.dialects import verdict
from servers.faulty_server import FaultyServer, said

GROUPS = groups(60)
PANEL = ("vllm/a@http://gpu1:8000/v1", "vllm/b@http://gpu1:8000/v1")
RECORDED = ("calibrate", "groups.jsonl", "--judgments", "said.jsonl")


def shown(number: int, texts: tuple[str, ...] = ("a", "b"), key: str | None = "gold") -> dict[str, Any]:
    """A group whose trajectories have messages, of falling worth, and gold under a key."""
    members = [
        {"id": name, "messages": [{"role": "assistant", "content": f"{name} {number}"}]} | ({key: worth} if key else {})
        for worth, name in enumerate(reversed(texts))
    ]
    context = [{"role": "user", "content": f"Well, {number}?"}]
    return {"group_id": f"g{number}", "context": context, "trajectories": members[::-1]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Groups with recorded answers of two judges, and groups that a judge can be shown."""
    write_rows(tmp_path / "groups.jsonl", GROUPS)
    write_rows(
        tmp_path / "said.jsonl", [*rated(GROUPS, "good", 0.3, calls=2), *rated(GROUPS, "[bold]odd", 1.0, calls=2)]
    )
    write_rows(tmp_path / "shown.jsonl", [shown(number) for number in range(3)])
    return tmp_path


def test_recorded_answers_are_one_json_object_or_tables_and_a_bad_line_is_named(folder: Path, calipers: Calipers):
    (folder / "calipers.toml").write_text('judge = ["vllm/m"]\n')  # is not asked where answers are read
    done = calipers(*RECORDED, "--json")
    assert (done.code, done.err) == (0, "Settings from calipers.toml\n")
    report = json.loads(done.out)
    assert [judge["judge"] for judge in report["judges"]] == ["[bold]odd", "good"]
    assert tomllib.loads(report["recommendation"])["judge"] == ["good"]
    write_rows(folder / "groups.jsonl", GROUPS[:40])
    with (folder / "said.jsonl").open("a", encoding="utf-8") as file:
        file.write("nonsense\n")
    done = calipers(*RECORDED)
    assert done.code == 1
    assert "said.jsonl:241: not JSON" in done.err
    for words in ("good", "[bold]odd", "frontier", "Findings", "20 groups that are not in GROUPS", 'judge = ["good"]'):
        assert words in done.out


def test_what_cannot_be_measured_is_one_sentence_before_a_judge_is_paid(
    folder: Path, calipers: Calipers, faulty: FaultyServer
):
    judge = ("--judge", f"vllm/m@{faulty.url}")
    (folder / "pretty.jsonl").write_text(json.dumps(shown(0), indent=1))
    (folder / "text.jsonl").write_text(json.dumps(shown(0)).replace('"gold": 1', '"gold": "1"'))
    (folder / "content.jsonl").write_text(json.dumps(shown(0)).replace('"messages"', '"content"'))
    again = f"vllm/m@{faulty.url.replace('//', '//u:p@')}"
    cases: list[tuple[tuple[str, ...], str]] = [
        (("pretty.jsonl", *judge), "pretty.jsonl:1: "),
        (("text.jsonl", *judge, "--estimate"), "text.jsonl:1: trajectory 'a': 'gold' must be a"),
        (("content.jsonl", *judge), "no group has two trajectories with 'messages'"),
        (("shown.jsonl", *judge, "--save", "none/said.jsonl"), "--save none/said.jsonl: its folder does not exist"),
        (("shown.jsonl", *judge, "--judge", again), "is named twice; to ask a judge more often, use --samples"),
        (("shown.jsonl", *judge, "--judge", again, "--estimate"), "is named twice"),
        (("shown.jsonl", *judge, "--judge", "openai/gpt-5"), "OPENAI_API_KEY"),
        *(((*RECORDED[1:], "--per-group", limit), "write tokens=20000") for limit in ("tokens", "gold=3", "usd=nan")),
    ]  # fmt: skip
    assert mismatches(calipers, [(("calibrate", *arguments), words) for arguments, words in cases]) == []
    claude = calipers("calibrate", "shown.jsonl", "--judge", "anthropic/claude-x", "--expected", ANTHROPIC_API_KEY="k")
    assert (claude.code, "the API of anthropic/claude-x has none" in claude.err) == (2, True)
    assert (faulty.asked, list(folder.glob("*.db"))) == ([], [])


def test_protocols_are_compared_within_what_a_group_may_cost_from_answers_that_were_kept(
    folder: Path, calipers: Calipers
):
    write_rows(folder / "shown.jsonl", [shown(number, ("a " * 20, "b " * 9, "c")) for number in range(6)])
    asking = ("calibrate", "shown.jsonl", "--judge", "embedded", "--protocol", "listwise", "--protocol", "pairwise")
    first = calipers(*asking, "--orders", 3, "--save", "asked.jsonl", "--json")
    assert first.code == 0, first.err
    assert "not for training" in json.loads(first.out)["recommendation"]
    recorded = ("calibrate", "shown.jsonl", "--judgments", "asked.jsonl")
    assert calipers(*recorded, "--json").out == first.out
    write_rows(folder / "asked.jsonl", [one | {"judge": "model"} for one in read_rows(folder / "asked.jsonl")])
    done = calipers(*recorded, "--per-group", "shown=9", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    ways = [("listwise", 1), ("listwise", 2), ("listwise", 3), ("pairwise", 1), ("pairwise", 2)]
    assert sorted({(way["protocol"], way["orders"]) for way in report["ways"]}) == ways
    assert {judge["mode"]: judge["cost"]["shown"] for judge in report["judges"]} == {"listwise": 9, "pairwise": 12}
    assert all(judge["cost"]["cost_usd"] is None for judge in report["judges"])
    assert "at most 9 transcripts read" in report["recommendation"]


def test_without_gold_noise_is_measured_with_a_warning_first(folder: Path, calipers: Calipers):
    for key, words in ((None, "no trajectory has 'gold', so agreement cannot be measured"), ("reward", "name them 'g")):
        write_rows(folder / "bare.jsonl", [shown(number, key=key) for number in range(3)])
        done = calipers("calibrate", "bare.jsonl", "--judge", "embedded")
        assert done.code == 0, done.err
        assert (done.err.startswith("Warning: "), words in done.err) == (True, True)


def test_answers_of_the_ledger_are_not_paid_again_and_count_once(
    folder: Path, calipers: Calipers, faulty: FaultyServer
):
    """Taken for repeats, the same answers of a ledger and of a file made a random judge look repeatable."""
    faulty.script(lambda asked: said(verdict(asked)))
    asking = ("calibrate", "shown.jsonl", "--judge", f"vllm/m@{faulty.url}", "--ledger", "l.db", "--orders")
    first = calipers(*asking, 1).err
    assert ("vllm/m: 3 answers, " in first, "ledger" in first) == (True, False)
    assert "vllm/m: 3 answers, 3 of them from the ledger, nothing was sent" in calipers(*asking, 1).err
    more = calipers(*asking, 2, "--save", "kept.jsonl", "--json")
    assert "vllm/m: 6 answers, 3 of them from the ledger, " in more.err
    again = calipers(*asking, 2, "--judgments", "kept.jsonl", "--price", "1,2", "--json")
    assert again.code == 0, again.err
    reports = [json.loads(one.out) for one in (more, again)]
    assert [judge["calls_per_group"] for report in reports for judge in report["judges"]] == [2.0, 2.0]
    (told,) = [one["text"] for one in reports[1]["findings"] if one["kind"] == "copies"]
    assert told.startswith("6 judgments are there already")


def test_a_panel_is_named_without_its_servers_and_recommended_in_a_file_for_flags_and_python(
    folder: Path, calipers: Calipers
):
    judged = [rated(GROUPS, letter, 1.0, mode="listwise") for letter in "ab"]
    lines = [line | {"judge": judge} for judge, of in zip(PANEL, judged, strict=True) for line in of]
    write_rows(folder / "said.jsonl", lines)
    report, _, recommendation = calipers(*RECORDED).out.partition("\nRecommendation (TOML")
    assert report.count("http://gpu1:8000/v1") == 1
    assert "vllm/a, vllm/b: http://gpu1:8000/v1" in report
    assert tomllib.loads(recommendation.partition("\n")[2])["judge"] == list(PANEL)
    written = (*RECORDED, "--recommendation", "best.toml")
    done = calipers(*written, "--json")
    assert "calipers --config best.toml score GROUPS -o OUT" in done.err
    text = (folder / "best.toml").read_text(encoding="utf-8")
    assert text.endswith(json.loads(done.out)["recommendation"])
    judge = package.Judge.of(tomllib.loads(text))
    assert [one.judge for one in judge.settings.judges] == list(PANEL)
    assert sum(judge.settings.panel.weights or ()) == pytest.approx(1, abs=0.001)
    assert calipers("--config", "best.toml", "score", "shown.jsonl", "-o", "out.jsonl", "--estimate").code == 0
    assert calipers(*written, "--force").code == 0
    (folder / "best.toml").write_text('judge = "mine"\n', encoding="utf-8")
    assert "best.toml: exists, so it is not replaced" in calipers(*written).err
    write_rows(folder / "said.jsonl", [one | {"judge": one["judge"].replace("vllm/b@http://gpu1", "vllm/a@http://gpu2")}
                                  for one in lines])  # fmt: skip
    assert " vllm/a@http://gpu1:8000/v1  " in calipers(*RECORDED).out, "one model on two servers"


def test_the_request_settings_that_were_measured_are_those_of_the_recommendation(
    folder: Path, calipers: Calipers, faulty: FaultyServer
):
    """Flags and Python ask again as the recommended way was measured; no answer of the ledger is paid again."""
    faulty.script(lambda asked: said(verdict(asked)))
    groups = [shown(number) for number in range(6)]
    write_rows(folder / "shown.jsonl", groups)
    sent = ("--param", "temperature=0.3", "--param", "top_p=0.5", "--price", "1,2", "--orders", 1, "--ledger", "l.db")
    asking = ("calibrate", "shown.jsonl", "--judge", f"vllm/a@{faulty.url}", *sent, "--recommendation", "best.toml")
    none = calipers(*asking, "--save", "said.jsonl", "--force")
    assert "best.toml: not written, since there is no recommendation" in none.err, "it contradicts the gold at hand"
    lines = map(json.loads, (folder / "said.jsonl").read_text(encoding="utf-8").splitlines())
    scores = {line["group_id"]: line["parsed"]["scores"] for line in lines}
    for group in groups:
        for member in group["trajectories"]:
            member["gold"] = scores[group["group_id"]][member["id"]]
    write_rows(folder / "shown.jsonl", groups)
    assert calipers(*asking).code == 0
    before = len(faulty.posts)
    scored = ("--config", "best.toml", "score", "shown.jsonl", "-o", "out.jsonl", "--orders", 1, "--ledger", "l.db")
    assert calipers(*scored).code == 0
    assert len(faulty.posts) == before
    read = tomllib.loads((folder / "best.toml").read_text(encoding="utf-8"))
    assert (read["param"], read["price"]) == (["temperature=0.3", "top_p=0.5"], "1,2")
    judge = package.Judge.of(read | {"ledger": None})
    assert judge.settings.calls.params == {"temperature": 0.3, "top_p": 0.5}
    judge.close()


def test_a_recommendation_of_recorded_names_that_are_no_judges_says_so(folder: Path, calipers: Calipers):
    for judge, warned in (("my judge v2", True), ("openai/gpt-5", False)):
        write_rows(
            folder / "said.jsonl", [line | {"judge": judge} for line in rated(GROUPS, "a", 0.2, mode="listwise")]
        )
        done = calipers(*RECORDED, "--recommendation", "best.toml", "--force")
        assert done.code == 0, done.err
        assert ("will not run" in done.err and f"'{judge}' is not a judge name" in done.err) is warned


def test_no_answers_or_no_recommendation_is_1(folder: Path, labelled: Path, calipers: Calipers, faulty: FaultyServer):
    write_rows(folder / "said.jsonl", rated(GROUPS[:3], "local:judge", 0.2))
    codes = [calipers(*RECORDED, *asked).code for asked in ((), ("--recommendation", "best.toml"))]
    faulty.script(lambda _: said("An apple."))
    codes += [calipers("calibrate", f"{of}.jsonl", "--judge", f"vllm/m@{faulty.url}").code for of in ("shown", "meta")]
    assert codes == [0, 1, 1, 1]


VERDICTS = ("calibrate", "meta.jsonl", "--judgments", "said.jsonl")
LABELLED = [
    {"prompt": [{"role": "user", "content": "Why?"}], "completion": f"Because of {number}.", "rubric": "Says why.",
     "binary_labels": [number % 2 == 0, number % 4 == 0], "category": "cluster:why"}
    for number in range(12)
]  # fmt: skip


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    """Twelve responses whose one criterion two people judged, and a judge's verdicts on eleven of them."""
    write_rows(tmp_path / "meta.jsonl", LABELLED)
    verdicts = [line % 2 == 1 if line < 12 else None for line in range(1, 13)]
    rows = ({"judge": "[bold]j", "line": line, "met": met} for line, met in enumerate(verdicts, start=1))
    write_rows(tmp_path / "said.jsonl", rows)
    return tmp_path


def test_recorded_verdicts_are_reported_as_json_and_as_tables_and_a_bad_row_is_named(
    labelled: Path, calipers: Calipers
) -> None:
    done = calipers(*VERDICTS, "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    (judge,) = report["judges"]
    assert (report["rows"], report["labels"], judge["graded"], judge["ungraded"]) == (12, 24, 11, 1)
    assert judge["recall_met"] == 1.0
    write_rows(labelled / "meta.jsonl", [*LABELLED, LABELLED[0] | {"binary_labels": [1, 0]}])
    done = calipers(*VERDICTS)
    assert (done.code, "meta.jsonl:13: binary_labels: must be a list of true or false" in done.err) == (1, True)
    for words in ("[bold]j", "cluster:why", "no verdict was recorded", "Findings"):
        assert words in done.out


def test_a_mistake_about_criteria_is_one_sentence_before_a_judge_is_paid(labelled: Path, calipers: Calipers) -> None:
    asking = ("calibrate", "meta.jsonl")
    cases = [
        ((*VERDICTS, "--orders", "2"), "--orders is for groups"),
        (asking, "name what to measure"),
        ((*asking, "--judge", "embedded", "--grading", "mode=odd"), "mode='odd'"),
        ((*asking, "--judge", "embedded", "--judge", "openai/gpt-5"), "OPENAI_API_KEY"),
        ((*asking, "--judge", "embedded", "--judgments", "none.jsonl"), "there is no such file"),
    ]
    assert mismatches(calipers, cases) == []
    assert "answers, " not in calipers(*cases[3][0]).err

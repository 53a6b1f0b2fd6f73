"""Files of a report: recognised by their content, joined by group id, refused in words; and the page as a file."""

import base64
import hashlib
import os
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.report import Sources, write_report
from calipers.report.sources import is_ledger
from calipers.report.writing import page_head, page_script
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of
from reported import calibration_file, data_of, details_in, judged, member, page_of, report_of, result_of, write_lines


def joined(folder: Path, results: str, groups: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What a page knows of results of the groups with these letters, given the texts of those, and of what it lacks."""
    lines = [result_of(name, member("right"), member("far")) for name in results]
    page = page_of(folder, lines, *(group_of(FOUR, group_id=name) for name in groups))
    return details_in(page), data_of(page)["about"][0]


def test_results_find_their_groups_in_any_order_and_what_is_lacking_is_counted(tmp_path: Path):
    for order in ("abc", "cba", "bca"):
        found, _ = joined(tmp_path, "abc", order)
        assert [(one["id"], bool(one["shared"])) for one in found] == [("a", True), ("b", True), ("c", True)], order
    _, about = joined(tmp_path, "abc", "bxyz")
    assert [about["without_texts"], about["unjudged"], about["without_questions"]] == [2, 3, 3]


async def test_a_ledger_adds_texts_and_questions_to_results_and_is_shown_alone(tmp_path: Path):
    results, ledger = await judged(
        tmp_path, [group_of(FOUR, group_id=name) for name in "ab"], [SimulatedJudge(QUALITY)]
    )
    assert [one["id"] for one in details_in(report_of(tmp_path, ledger))] == ["a", "b"]
    write_lines(results, [result_of("other", member("right")), result_of("a", member("right", 0.123))])
    other, ours = details_in(report_of(tmp_path, results, ledger))
    assert other["questions"] is None
    assert ours["trajectories"][0]["reward"] == 0.123, "the result file decides"
    assert len(ours["questions"]) == 1


async def test_a_ledger_of_other_groups_is_said_to_have_none(tmp_path: Path):
    results, ours = await judged(tmp_path, [group_of(FOUR, group_id="a")], [SimulatedJudge(QUALITY)])
    (tmp_path / "other").mkdir()
    _, other = await judged(tmp_path / "other", [group_of(FOUR, group_id="b")], [SimulatedJudge(QUALITY)])
    (about,) = data_of(report_of(tmp_path, results, ours, other))["about"]
    assert [(run["source"], run["is_used"]) for run in about["runs"]] == [(str(ours), True), (str(other), False)]


async def test_options_that_no_source_can_satisfy_are_refused(tmp_path: Path):
    results, ledger = await judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(QUALITY)])
    with pytest.raises(CalipersError, match="no run 7"):
        Sources([str(ledger)], run=7, on_error=print)
    with pytest.raises(ConfigError, match="--run"):
        Sources([str(results)], run=1, on_error=print)
    with pytest.raises(ConfigError, match="--groups"):
        Sources([str(calibration_file(tmp_path / "c.json", groups=8))], groups="x", on_error=print)


def test_a_source_of_another_kind_is_refused_with_the_remedy(tmp_path: Path):
    groups = write_lines(tmp_path / "groups.jsonl", [{"group_id": "g", "trajectories": []}])
    other = write_lines(tmp_path / "other.jsonl", [{"judge": "x", "met": True}])
    for path, message in ((groups, "give the result file"), (other, "calipers score"), (tmp_path, "folder")):
        with pytest.raises(InputError, match=message):
            Sources([str(path)], on_error=print)
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "/dev/zero"):
        with pytest.raises(InputError, match="no regular file"):
            is_ledger(str(tmp_path / name))


def test_a_bad_line_is_reported_and_the_rest_is_shown(tmp_path: Path):
    path = write_lines(tmp_path / "scored.jsonl", [result_of("a", member("x")), {"group_id": 3}, ["x"]])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"group_id": "cut off')
    problems: list[str] = []
    with Sources([str(path)], on_error=lambda error: problems.append(str(error))) as sources:
        assert [one.result["group_id"] for one in sources] == ["a"]
    assert [one.split(":")[1] for one in problems] == ["2", "3", "4"]
    assert sources.notes.bad_lines == 3


def test_sources_of_one_file_name_are_named_by_their_paths(tmp_path: Path):
    paths = [tmp_path / name for name in ("x.jsonl", "a/y.jsonl", "b/y.jsonl")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        write_lines(path, [])
    with Sources([str(path) for path in paths], on_error=print) as sources:
        assert sources.names == ["x.jsonl", str(paths[1]), str(paths[2])]


# --- the page as a file -----------------------------------------------------------------------------------------------

HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u202e", "<!--", "\ud800"]


def test_text_from_files_is_only_in_base64(tmp_path: Path):
    page = page_of(tmp_path, [result_of(one, member(one, explanation=one), warnings=[one]) for one in HOSTILE])
    text = page.read_text(encoding="utf-8")
    outside = re.sub(r'(<script type="application/x-calipers-\w+">)[A-Za-z0-9+/=]*(?=</script>)', r"\1", text)
    assert [one for one in ("alert(1)", "onerror", "\u202e") if one in outside] == []
    assert [one["id"] for one in details_in(page)] == [*HOSTILE[:-1], "\ufffd"]


def test_the_policy_allows_this_script_and_this_style_and_nothing_else(tmp_path: Path):
    text = page_of(tmp_path, [result_of("g", member("a"))]).read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', text, flags=re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL)
    rules = dict(one.split(" ", 1) for one in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for name, content in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert "unsafe" not in policy
    assert text.index("Content-Security-Policy") < text.index("<style>"), "a policy holds for what comes after it"


def test_the_script_builds_elements_and_parses_no_html():
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser", "srcdoc")
    assert [way for way in (*ways, "new Function", "cssText") if way in page_script()] == []
    assert "</script" not in page_script()
    assert "<!--" not in page_script()


def test_the_page_loads_nothing_and_passes_no_data_as_the_arguments_of_a_call():
    """A call takes some 100,000 arguments; a trajectory may have more lines."""
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(", page_head() + page_script())
    calls = "push|unshift|append|prepend|replaceChildren|max|min|splice|concat"
    spread = re.compile(rf"\b(?:{calls})\(\s*(?:[^(){{}}]*\s)?\.\.\.|\.apply\(")
    assert [one[0] for one in spread.finditer(page_script())] == []


def groups(count: int) -> Iterator[dict[str, Any]]:
    for n in range(count):
        said = "".join(hashlib.sha256(f"{n}{k}".encode()).hexdigest() for k in range(16))
        yield group_of({name: said + name for name in "ab"}, group_id=f"g{n}").to_dict()


def test_memory_does_not_grow_with_the_number_of_groups(tmp_path: Path):
    peaks = []
    for count in (1200, 3600):
        lines = (result_of(f"g{n}", member("a", 0.1), member("b", 0.9)) for n in range(count))
        results, texts = write_lines(tmp_path / "r.jsonl", lines), write_lines(tmp_path / "g.jsonl", groups(count))
        tracemalloc.start()
        page = report_of(tmp_path, results, groups=texts)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(data_of(page)["rows"]) == count
    assert peaks[1] < 1.3 * peaks[0], peaks


def test_an_error_leaves_the_older_page_as_it_was(tmp_path: Path):
    def refuse(error: Exception) -> None:
        raise error

    out = page_of(tmp_path, [result_of("a", member("x"))])
    before = out.read_bytes()
    bad = write_lines(tmp_path / "bad.jsonl", [result_of("a", member("x")), {"group_id": "b"}])
    with Sources([str(bad)], on_error=refuse) as sources, pytest.raises(InputError, match=r"bad\.jsonl:2"):
        write_report(sources, out)
    assert out.read_bytes() == before
    assert not list(tmp_path.glob("*.part"))

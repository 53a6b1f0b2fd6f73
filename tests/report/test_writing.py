"""The page as a file: a stream of blocks, a strict policy, and nothing of the data outside of base64."""

import base64
import hashlib
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.report import Sources, write_report
from calipers.report.writing import page_head, page_script
from groups import group_of
from reported import data_of, details_in, member, page_of, report_of, result_of, write_lines

HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u202e", "<!--", "\ud800"]


def test_text_from_files_is_only_in_base64(tmp_path: Path):
    page = page_of(tmp_path, [result_of(one, member(one, explanation=one), warnings=[one]) for one in HOSTILE])
    text = page.read_text(encoding="utf-8")
    outside = re.sub(r'(<script type="application/x-calipers-\w+">)[A-Za-z0-9+/=]*(?=</script>)', r"\1", text)
    assert [one for one in ("alert(1)", "onerror", "\u202e") if one in outside] == []
    assert [one["id"] for one in details_in(page)] == [*HOSTILE[:-1], "\ufffd"]


def test_the_policy_allows_this_script_and_this_style_and_nothing_else(tmp_path: Path):
    text = page_of(tmp_path, []).read_text(encoding="utf-8")
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

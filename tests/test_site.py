"""The documentation's site: pages of the repository become pages of the site, and what is wrong with them is found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts.site import __main__ as script
from scripts.site import assistants, check, pages, reference, search

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "mkdocs.yml"


LINKS = (
    ("README.md", "docs/cli.md#flags", "cli.md#flags"),
    ("docs/README.md", "../CONTRIBUTING.md", "contributing.md"),
    ("docs/cli.md", "trainers/README.md", "trainers/index.md"),
    ("docs/trainers/trl.md", "../ledger.md#postgres", "../ledger.md#postgres"),
    ("docs/trainers/trl.md", "README.md", "index.md"),
    ("CONTRIBUTING.md", "docs/README.md", "pages.md"),
    ("README.md", "docs/images/a.svg", "images/a.svg"),
    ("docs/server.md", "../deploy/compose.yaml", "files/deploy/compose.yaml"),
    ("docs/cli.md", "#flags", "#flags"),
    ("docs/cli.md", "https://a.example/b.md", "https://a.example/b.md"),
)


def test_a_link_leads_to_the_same_page_on_the_site() -> None:
    for page, link, expected in LINKS:
        text = f"see [it]({link}) and ![it]({link})\n```text\n[it]({link})\n```\n"
        assert pages.page(page, text) == f"see [it]({expected}) and ![it]({expected})\n```text\n[it]({link})\n```\n"


def test_what_python_markdown_reads_otherwise_is_written_for_it() -> None:
    text = "<!-- prints -->\n| a | b |\n|---|---|\n| `x \\| y` | z |\n\n- one\n  - inner\n"
    expected = "<!-- prints -->\n\n| a | b |\n|---|---|\n| `x | y` | z |\n\n- one\n    - inner\n"
    assert pages.page("docs/cli.md", text) == expected


def test_a_row_outside_a_table_is_found_and_no_page_has_one() -> None:
    table = "| a | b |\n|---|:-:|\n| 1 | 2 |\n"
    cases = {
        table: [], f"{table}\n{table}": [], "```text\n| in code |\n```\n": [],
        f"{table}\nwords\n| 3 | 4 |\n": [6], f"{table}\n| 3 | 4 |\n": [5], "| alone |": [1],
    }  # fmt: skip
    for text, lines in cases.items():
        found = [one.partition(": ")[0] for one in pages.stray_rows("docs/a.md", text)]
        assert found == [f"docs/a.md:{line}" for line in lines], text
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        assert pages.stray_rows(path.name, path.read_text(encoding="utf-8")) == []


def test_without_the_sites_generator_the_remedy_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script, "write_source", dict)
    monkeypatch.setattr(script, "find_spec", {}.get)
    assert script.main() == 1
    assert "pip install --group docs" in capsys.readouterr().err


def test_files_that_a_page_links_to_are_found_and_code_is_no_link() -> None:
    text = "![a](images/a.png) [b](../deploy/b.yml#c) `[c](d.png)` [e](https://e.example) [f](#f)"
    assert pages.targets("docs/x.md", text) == {"docs/images/a.png", "deploy/b.yml"}


def test_a_finished_page_is_checked_for_what_it_links_to_and_loads(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h1 id="there">', encoding="utf-8")
    for html, said in (
        ('<a href="b.html#there">', None),
        ('<a href="b.html#nowhere">', "a.html links to b.html#nowhere: the page has no such anchor"),
        ('<a href="c.html">', "a.html links to c.html, which is not there"),
        ('<img src="none.png">', "a.html links to none.png, which is not there"),
        ('<script src="https://cdn.example/x.js"></script>', "a.html loads https://cdn.example/x.js from elsewhere"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "a.html loads //cdn.example/x.css from elsewhere"),
        ('<a href="https://elsewhere.example">', None),
        ('<link rel="canonical" href="https://elsewhere.example/a.html">', None),
    ):
        (tmp_path / "a.html").write_text(html, encoding="utf-8")
        assert list(check.problems(tmp_path)) == ([said] if said else [])


def test_the_search_knows_no_changelog_and_ranks_guides_before_signatures() -> None:
    places = {"changes.html#a": "Project", "reference/a.html#a.b.C": "Reference", "ledger.html#replay": "Runs"}
    items = [{"location": place, "path": [section, "page"]} for place, section in places.items()]
    found = search.for_users({"config": {}, "items": items})
    assert found["config"] == {}
    assert [(item["location"], item["weight"]) for item in found["items"]] == [
        ("reference/a.html#a.b.C", 0.3), ("ledger.html#replay", 1),
    ]  # fmt: skip


def test_assistants_get_an_index_and_the_whole_text() -> None:
    navigation = [{"Start": [{"Home": "index.md"}, {"More": [{"A": "a.md"}, "b.md"]}]}]
    index = assistants.index("In short.", navigation, {"a.md": "# What is A?\n\nThis."})
    assert index.startswith("# calipers\n\n> In short.\n")
    assert "## Start\n\n- [Home](index.md)\n- [A](a.md): What is A?\n- [Overview](b.md)\n" in index
    whole = assistants.whole(navigation, {"a.md": "# A\n", "index.md": "# Home\n"})
    assert whole == "<!-- index.md -->\n\n# Home\n\n<!-- a.md -->\n\n# A\n"


def test_the_reference_names_what_a_module_exports() -> None:
    made = dict(reference.pages())
    listed = set(re.findall(r"(reference/[\w.]+\.md)$", CONFIG.read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == made.keys()
    assert "::: calipers.judging.judge.Judge\n" in made["reference/calipers.md"]
    assert all(text.count(":::") for path, text in made.items() if path != "reference/index.md")


def test_assistants_get_the_reference_with_the_signatures_that_python_has_functions_first_and_errors_last() -> None:
    texts = dict(reference.texts())
    whole = texts["reference/calipers.md"]
    assert texts.keys() == dict(reference.pages()).keys()
    assert "\nJudge(judge: Judges, *, protocol: str = 'listwise', orders: int = 1, " in whole
    assert "\nCalls(params: Mapping[str, Any] | None = None, " in texts["reference/calipers.config.md"]
    assert "::: " not in "".join(texts.values())
    places = [whole.index(f"## calipers.{name}\n") for name in ("run", "score_group", "Judge", "ConfigError")]
    assert places == sorted(places)


def test_the_sites_signatures_are_those_that_python_has() -> None:
    griffe = pytest.importorskip("griffe", reason="griffe is not installed: python -m pip install --group docs")
    from scripts.site.signatures import RealSignatures  # noqa: PLC0415 - needs griffe

    extensions = griffe.load_extensions(RealSignatures())
    found = griffe.load("calipers", search_paths=[str(ROOT / "src")], extensions=extensions)
    judge = {one.name: one.default for one in found["judging.judge.Judge"].parameters}
    assert (list(judge)[:3], judge["concurrency"]) == (["self", "judge", "protocol"], "64")
    calls = {one.name: one.default for one in found["config.grouped_options.Calls"].parameters}
    assert calls["timeout"] == "120.0"

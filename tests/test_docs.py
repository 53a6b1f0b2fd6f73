"""The documentation, executed and held against the code: what a page shows is what happens."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import logging
import os
import re
import runpy
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree as ET

import pytest
from scripts.site.pages import PLACES, place

import calipers
import calipers.testing
from calipers.backends.providers.known import PROVIDERS
from calipers.backends.providers.scripted import Scripted
from calipers.monitoring.alarms import DEFAULT_ALARMS
from calipers.registry import BACKENDS, PROTOCOLS, REWARDS, VERIFIERS
from calipers.types import Cause, FailureKind, Outcome
from command_line import ended, started

ROOT = Path(__file__).resolve().parents[1]
_AT_THE_TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md")
PAGES = [
    *(ROOT / name for name in _AT_THE_TOP), ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md")),
]  # fmt: skip
NEEDED = {"docs/trainers/art.md": "art"}
"""Pages whose blocks run only where a package is installed; a single block says so itself: <!-- needs art -->."""

_FENCED = re.compile(
    r"^(?:<!--[ \t]*(?P<remark>.*?)[ \t]*-->\s*\n)?"
    r"```(?P<language>\w*)[ \t]*\n(?P<text>(?s:.*?))^```[ \t]*$",
    re.MULTILINE,
)
_REMARK = re.compile(r"run(: exit \d+)?|prints|needs \w+|not run: .{8,}")
_MEANT = re.compile(r"(run|prints?|needs|not[ -]run)\b")
"""How a comment begins that is meant for this test; others may say what they like."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; ``line`` is that of its fence, ``remark`` the HTML comment right before it."""

    language: str
    text: str
    line: int
    remark: str

    @property
    def runs(self) -> bool:
        if self.remark.startswith("not run: "):
            return False
        is_command = self.language in {"sh", "console"} and self.remark.partition(":")[0] == "run"
        return self.language == "python" or is_command


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    assert not re.search("^```", text, re.MULTILINE), f"{name_of(page)}: a fence is never closed"
    return text


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(one["language"], one["text"].removesuffix("\n"), text.count("\n", 0, one.start("language")) + 1,
              one["remark"] or "")
        for one in _FENCED.finditer(text)
    ]  # fmt: skip


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the examples in it, and nothing else."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    return tmp_path


@pytest.fixture(autouse=True)
def _levels_of_loggers() -> Iterator[None]:
    """A page may set levels of loggers for its readers: they are as before when it has run."""
    yield
    for name, logger in logging.root.manager.loggerDict.items():
        if name.partition(".")[0] == "calipers" and isinstance(logger, logging.Logger):
            logger.setLevel(logging.NOTSET)


def run_python(page: Path, block: Block, names: dict[str, Any], runner: asyncio.Runner) -> str:
    """Run a block in a namespace, and return what it prints."""
    # Blank lines above, so that a traceback names the page's own line.
    source = "\n" * block.line + block.text
    code = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        outcome = eval(code, names)  # noqa: S307 - the project's own pages
        if inspect.iscoroutine(outcome):
            runner.run(outcome)
    return output.getvalue()


def run_commands(block: Block) -> str:
    """Run the commands of a block, which end as its remark says, and return what they print."""
    code = int(block.remark.partition("exit ")[2] or 0)
    done = [ended(started(Path(), *words, **variables)) for words, variables in commands(block)]
    assert {one.code for one in done} == {code}, done
    return "".join(one.out for one in done)


def commands(block: Block) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The arguments and variables of each line that calls ``calipers``, with or without a prompt before it."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        variables = dict[str, str]()
        while words and re.match(r"[A-Z_]+=", words[0]):
            variable, _, value = words.pop(0).partition("=")
            variables[variable] = value
        if words[:1] == ["calipers"]:
            yield words[1:], variables


def executed(page: Path) -> list[Block]:
    """Run the blocks of a page in order, in one namespace and on one event loop; what is printed is what it shows."""
    found = blocks(page)
    names: dict[str, Any] = {"__name__": "__docs__"}
    ran, printed = list[Block](), ""
    with asyncio.Runner() as runner:
        for before, block in zip([None, *found], found, strict=False):
            package = block.remark.removeprefix("needs ") if block.remark.startswith("needs ") else None
            if block.runs and (package is None or find_spec(package)):
                printed = run_python(page, block, names, runner) if block.language == "python" else run_commands(block)
                ran.append(block)
            elif block.remark == "prints" and before in ran:
                assert printed.rstrip() == block.text.rstrip(), f"{page}:{block.line}: it prints\n{printed}"
    return ran


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_runs_and_prints_what_it_shows(page: Path, scratch: Path) -> None:
    """A block that cannot run says why; one printed below must be printed exactly."""
    absent = NEEDED.get(name_of(page))
    if absent and find_spec(absent) is None:
        pytest.skip(f"{absent} is not installed; this page's blocks need it")
    ran = executed(page)
    expected = [block for block in blocks(page) if block.runs and not block.remark.startswith("needs ")]
    assert [block for block in ran if block in expected] == expected


def test_a_page_that_shows_what_does_not_happen_is_found_out(scratch: Path) -> None:
    page = scratch / "page.md"
    for wrong in (
        "```python\nnonsense\n```\n",
        "```python\nprint(1)\n```\n\n<!-- prints -->\n```text\n2\n```\n",
        "<!-- run -->\n```sh\ncalipers nonsense\n```\n",
    ):
        page.write_text(wrong, encoding="utf-8")
        with pytest.raises((AssertionError, NameError)):
            executed(page)


def test_a_blocks_remark_is_one_that_is_understood() -> None:
    """A mistyped remark would silently leave a block unrun or unchecked; a reason for not running is a sentence."""
    for page in PAGES:
        found = blocks(page)
        for before, block in zip([None, *found], found, strict=False):
            where = f"{name_of(page)}:{block.line}"
            assert block.language, f"{where}: a fence needs its language (text, if none)"
            if _MEANT.match(block.remark):
                assert _REMARK.fullmatch(block.remark), f"{where}: <!-- {block.remark} --> is no remark of these pages"
            if block.remark == "prints":
                assert block.language in {"text", "json"}, f"{where}: what is printed stands in a text or json block"
                assert before is not None, f"{where}: nothing stands before it"
                assert before.runs, f"{where}: the block before it does not run"
            if _MEANT.match(block.remark) and block.language in {"sh", "console"} and block.runs:
                assert list(commands(block)), f"{where}: no line of it calls calipers"


# --- links and anchors ------------------------------------------------------------------------------------------------

_LINK = re.compile(r"(?<!!)\[[^\]\n]+\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#{1,6} (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_relative_link_leads_somewhere() -> None:
    broken = []
    for page in PAGES:
        for match in _LINK.finditer(re.sub(r"`[^`\n]*`", "`code`", prose(page))):
            link = match[1] or match[2]
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            is_there = target.exists() and (not anchor or anchor in anchors(target))
            if not is_there and not re.match(r"[a-z]+:", link):
                broken.append(f"{name_of(page)} links to {link}")
    assert broken == []


def test_a_list_inside_a_list_is_indented_by_four_spaces() -> None:
    """With fewer, the site's Markdown makes one paragraph of it."""
    assert [page for page in PAGES if re.search(r"^ {1,3}(?:[-*]|\d+\.) .*", prose(page), re.MULTILINE)] == []


def test_the_site_and_the_index_have_every_page_in_one_order_under_the_question_that_its_title_asks() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = re.findall(r"^  - (.+):$|([\w./-]+\.md)$", navigation, re.MULTILINE)
    of_the_site = [name or path for name, path in listed if not path.startswith("reference/")]
    rows = re.findall(r"^## (.+)$|^- \[([^]]+)\]\(([^)]+)\)$", text_of("README.md"), re.MULTILINE)
    written = {place(path) for path in PLACES} | {place(name_of(page)) for page in PAGES}
    of_the_index = [name or place(os.path.normpath(f"docs/{path}")) for name, _, path in rows]
    assert [one for one in of_the_site if one not in {"index.md", "pages.md"}] == of_the_index
    assert written <= {*of_the_site}, "add the page to nav in mkdocs.yml and to docs/README.md"
    for _, question, path in rows:
        if path and not path.startswith("../"):
            title = text_of(path).partition("\n")[0]
            assert title == f"# {question}", path
            assert "?" in title, path


# --- installation -----------------------------------------------------------------------------------------------------


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])


def test_an_install_line_works_from_a_clone() -> None:
    """calipers is on no package index: a line that asks one for it fails where calipers is not installed yet."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for named in re.findall(r"pip install '[./\w]*\[([\w,-]+)\]'", text):
            assert set(named.split(",")) <= EXTRAS, named
        if page.name != "installation.md":
            assert not re.search(r"pip install\s+'?calipers\b", text), f"{name_of(page)}: write pip install '.[EXTRA]'"


def test_the_page_of_installation_lists_every_extra() -> None:
    rows = [line for line in text_of("installation.md").splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`([\w-]+)`", row.split("|")[1])]
    assert sorted(listed) == sorted(EXTRAS)


# --- held against the code --------------------------------------------------------------------------------------------


def text_of(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_every_public_name_is_mentioned() -> None:
    words = {word for page in PAGES for word in re.findall(r"\w+", page.read_text(encoding="utf-8"))}
    assert set(dir(calipers)) <= words
    assert [name for name in calipers.testing.__all__ if f"`{name}" not in text_of("testing.md")] == []


def test_the_generated_pages_are_what_options_and_commands_say() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "reference.py"))
    for name, page in script["PAGES"].items():
        assert text_of(name) == page(), f"docs/{name} is stale: run python scripts/reference.py"


def test_the_overview_of_trainers_says_when_a_run_ends_and_what_to_watch() -> None:
    overview = text_of("trainers/README.md")
    assert all(words in overview for words in ("## Stop a run that learns nothing", "`ConfigError`", "patience=N"))
    usual = ("failure_rate", "parse_failure_rate", "abstention_rate", "flat_group_rate", "position_correlation",
             "length_correlation")  # fmt: skip
    for alarm in DEFAULT_ALARMS:
        if alarm.metric.removeprefix("judge/") in usual:
            limits = {alarm.above, None if alarm.below is None else -alarm.below} - {None}
            assert f"`{alarm.metric}`" in overview, alarm
            assert all(f"{limit:g}" in overview for limit in limits), alarm


def test_every_registered_name_is_on_the_page_of_its_kind() -> None:
    pages = {"judges.md": BACKENDS, "protocols.md": PROTOCOLS, "rewards.md": REWARDS, "verifiers.md": VERIFIERS}
    for page, kind in pages.items():
        text = text_of(page)
        missing = [name for name in kind.ours if not re.search(rf"`(protocol=)?\"?{name}[`/:\"]", text)]
        assert missing == [], page


def test_every_provider_is_documented_with_its_address_and_key() -> None:
    for name, provider in PROVIDERS.items():
        row = re.search(rf"^\| *`{name}/[` ].*$", text_of("judges.md"), re.MULTILINE)
        assert row, f"docs/judges.md: no table row for `{name}/`"
        assert f"`{provider.base_url}`" in row[0], name
        assert (f"`{provider.key}`" if provider.key else "none") in row[0], name


def test_the_messages_that_troubleshooting_explains_are_those_of_the_code() -> None:
    package = Path(calipers.__file__).parent
    files = [path for path in package.rglob("*") if path.suffix in {".py", ".toml"}]
    source = " ".join(re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8")) for path in files)
    explained = re.search(r"## Everything abstained(?s:.*?)## The context", text_of("troubleshooting.md"))
    assert explained
    messages = re.findall(r"`([^`]+)`", " ".join(re.findall(r"^\| (`.+?) \|", explained[0], re.MULTILINE)))
    parts = [part.strip() for message in messages for part in message.split("...")]
    assert [part for part in parts if part not in source and part != "HTTP 404"] == []


def test_every_file_and_folder_that_the_design_page_names_exists() -> None:
    for path in re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text_of("design.md")):
        assert (ROOT / path).exists() or any(Path(calipers.__file__).parent.rglob(path.rstrip("/"))), path


def test_every_benchmark_that_a_page_names_is_there() -> None:
    for page in (*PAGES, *(ROOT / "benchmarks").glob("*.md")):
        for name in re.findall(r"(?:-m\s+|`)(benchmarks(?:\.\w+)+)", page.read_text(encoding="utf-8")):
            path = ROOT.joinpath(*name.split("."))
            is_there = path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
            assert is_there or not (ROOT / "benchmarks").is_dir(), f"{page}: {name}"


def test_the_design_page_says_which_strategies_belong_to_each_protocol() -> None:
    for name, method in PROTOCOLS.ours.items():
        row = re.search(rf"^\| {name} \| `.*$", text_of("design.md"), flags=re.MULTILINE)
        assert row, f"docs/design.md: the table of strategies has no row for {name}"
        shown = re.findall(r"`(\w+)`(?: in `[\w/.]+`)?", row[0])
        assert shown == [part.partition(":")[2] for part in (method.planner, method.aggregator, method.reward)], name


def test_every_value_a_record_can_hold_is_explained() -> None:
    pages = {"failure-contract.md": FailureKind, "protocols.md": Cause, "reading.md": Outcome}
    for page, values in pages.items():
        assert [word for word in get_args(values) if f"`{word}`" not in text_of(page)] == [], page


def test_the_readmes_badges_are_what_the_project_declares() -> None:
    shown = re.findall(r"!\[([^]]+)\]\((docs/images/badge-[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert [alt for alt, _ in shown] == [f"Python {oldest} or newer", f"Licence: {PROJECT['license']}"]
    for (alt, path), text in zip(shown, (f"{oldest}+", PROJECT["license"]), strict=True):
        picture = (ROOT / path).read_text(encoding="utf-8")
        assert f"<title>{alt}</title>" in picture
        assert f">{text}</text>" in picture


def test_the_readmes_picture_shows_what_the_default_judge_and_a_short_parser_make_of_its_replies() -> None:
    picture = ET.parse(ROOT / "docs" / "images" / "failures.svg")  # noqa: S314 - the project's own
    svg = "{http://www.w3.org/2000/svg}"
    rows = [{one.get("class"): one.text or "" for one in row.iter(f"{svg}text")} for row in picture.iter(f"{svg}g")]
    assert len(rows) == 3
    for row in rows:
        rewards = row["good"].split(", ")
        reply = json.loads(row["code"])
        values = [one["score"] for one in reply] if isinstance(reply, list) else reply.values()
        parsed = [value / 100 for value in values]
        parsed += [0.0] * (len(rewards) - len(parsed))
        assert row["bad"] == ", ".join(f"{one:.2f}" for one in parsed)
        group = [[{"role": "assistant", "content": f"Answer {number}."}] for number in range(len(rewards))]
        judge = Scripted([{"text": re.sub(r'"(\d)"', r'"{{\1}}"', row["code"])}])
        result = calipers.run(calipers.score_group(group, judge=judge))
        assert rewards == ["None" if one is None else f"{one:.2f}" for one in result.rewards]

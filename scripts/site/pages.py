"""The pages of the repository as pages of the site: where each one goes, and its links.

Pages stay written for readers of the repository. What differs there is the place of some files, and a few points in
which Python-Markdown reads a page otherwise than GitHub. No files are read or written here.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from posixpath import normpath, relpath
from typing import Final

PLACES: Final = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "docs/trainers/README.md": "trainers/index.md",
    "examples/README.md": "examples.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "reporting.md",
    "AGENTS.md": "assistants.md",
    "benchmarks/README.md": "benchmarks.md",
}
_FENCED: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(\]\()([^)\s]+)(\))")
_CODE: Final = re.compile(r"(`+)(.+?)\1")
_RULE: Final = re.compile(r"\|(?:\s*:?-+:?\s*\|)+\s*")
"""The line below a table's heading."""
_ELSEWHERE: Final = re.compile(r"[a-z]+:|#")


def place(path: str) -> str:
    """Where a file of the repository lies on the site; other files than pages keep their path below ``files``."""
    if path in PLACES:
        return PLACES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"files/{path}"


def targets(path: str, text: str) -> set[str]:
    """The files of the repository that a page links to."""
    links = (match[2].partition("#")[0] for part in _prose(text) for match in _LINK.finditer(_CODE.sub("`", part)))
    return {_absolute(path, link) for link in links if link and not _ELSEWHERE.match(link)}


def page(path: str, text: str) -> str:
    """A page of the repository as Markdown of the site."""

    def link(match: re.Match[str]) -> str:
        if _ELSEWHERE.match(match[2]):
            return match[0]
        file, mark, anchor = match[2].partition("#")
        there = relpath(place(_absolute(path, file)), PurePosixPath(place(path)).parent)
        return f"{match[1]}{there}{mark}{anchor}{match[3]}"

    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(link, _readable(part)) for part in parts)


def stray_rows(path: str, text: str) -> list[str]:
    """Return a sentence for each row of a page that belongs to no table: it would be shown as text with bars."""
    found, in_code, in_table = list[str](), False, False
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        in_code ^= line.lstrip().startswith("```")
        if not line.startswith("|") or in_code:
            in_table = False
        elif not in_table:
            below = lines[number] if number < len(lines) else ""
            in_table = bool(_RULE.fullmatch(below))
            if not in_table:
                found.append(
                    f"{path}:{number}: a table's row that is in no table: join it to its table, or give it a "
                    "heading and a line |---|"
                )
    return found


def _prose(text: str) -> list[str]:
    return [part for part in _FENCED.split(text) if not part.startswith("```")]


def _absolute(page: str, link: str) -> str:
    return normpath(PurePosixPath(page).parent / link)


def _readable(text: str) -> str:
    """Python-Markdown wants a blank line above a table, four spaces above an inner list, and no escaped bar in code."""
    lines = list[str]()
    for line in text.split("\n"):
        is_row = line.startswith("|")
        if is_row and lines and lines[-1] and not lines[-1].startswith("|"):
            lines.append("")
        cells = _CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if is_row else line
        lines.append(re.sub(r"^  (?=(?:[-*]|\d+\.) )", "    ", cells))
    return "\n".join(lines)

"""llms.txt and llms-full.txt: the pages for coding assistants, by the convention of llmstxt.org."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_ROW: Final = re.compile(r"\[[^\]]+\]\(([^)]+\.md)\)")


def index(summary: str, sections: list[Any], descriptions: Mapping[str, str]) -> str:
    """llms.txt: every page of the navigation, with what it answers where that is known."""
    lines = ["# calipers", "", f"> {summary}", "", "Every page is here as Markdown, too: the links lead to it.", ""]
    for section in sections:
        ((title, inner),) = section.items()
        if isinstance(inner, str):
            inner = [section]
        lines += [f"## {title}", ""]
        for name, path in flat(inner):
            said = descriptions.get(path)
            lines.append(f"- [{name}]({path}): {said}" if said else f"- [{name}]({path})")
        lines.append("")
    return "\n".join(lines)


def whole(sections: list[Any], texts: Mapping[str, str]) -> str:
    """llms-full.txt: the text of all pages that are no API reference, in the order of the navigation."""
    paths = [path for _, path in flat(sections) if path in texts]
    return "\n".join(f"<!-- {path} -->\n\n{texts[path]}" for path in paths)


def descriptions(table: str) -> dict[str, str]:
    """What the rows of the table of all pages say of each of them."""
    found = dict[str, str]()
    for line in table.splitlines():
        cells = line.strip("| ").split(" | ")
        if line.startswith("| [") and len(cells) == 2:
            found |= dict.fromkeys(_ROW.findall(cells[0]), cells[1])
    return found


def flat(sections: list[Any]) -> Iterator[tuple[str, str]]:
    """Name and path of every page of the navigation, in its order."""
    for section in sections:
        ((name, inner),) = ({"Overview": section} if isinstance(section, str) else section).items()
        if isinstance(inner, str):
            yield name, inner
        else:
            yield from flat(inner)

"""llms.txt and llms-full.txt: the pages for coding assistants, by the convention of llmstxt.org."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def index(summary: str, sections: list[Any], texts: Mapping[str, str]) -> str:
    """llms.txt: every page of the navigation, with the question that its title asks."""
    lines = ["# calipers", "", f"> {summary}", "", "Every page is here as Markdown, too: the links lead to it.", ""]
    for section in sections:
        ((title, inner),) = section.items()
        if isinstance(inner, str):
            inner = [section]
        lines += [f"## {title}", ""]
        for name, path in flat(inner):
            title = texts.get(path, "").partition("\n")[0].removeprefix("# ")
            lines.append(f"- [{name}]({path}): {title}" if title else f"- [{name}]({path})")
        lines.append("")
    return "\n".join(lines)


def whole(sections: list[Any], texts: Mapping[str, str]) -> str:
    """llms-full.txt: the text of all pages that are no API reference, in the order of the navigation."""
    paths = [path for _, path in flat(sections) if path in texts]
    return "\n".join(f"<!-- {path} -->\n\n{texts[path]}" for path in paths)


def flat(sections: list[Any]) -> Iterator[tuple[str, str]]:
    """Name and path of every page of the navigation, in its order."""
    for section in sections:
        ((name, inner),) = ({"Overview": section} if isinstance(section, str) else section).items()
        if isinstance(inner, str):
            yield name, inner
        else:
            yield from flat(inner)

"""The finished site, checked: what its pages link to is there, and nothing is loaded from elsewhere.

The site's generator checks links that are written in pages. This looks at what came out: pictures, the API's pages,
the navigation and the theme's own files as well. A link to another address is not followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_LOADS: Final = {"img": "src", "script": "src", "source": "src", "iframe": "src", "link": "href"}
_LOADED_LINKS: Final = {"stylesheet", "icon", "preload", "modulepreload", "manifest"}


class _Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors = set[str]()
        self.links = list[str]()
        self.loads = list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.anchors |= {said[name] for name in ("id", "name") if said.get(name)}
        target = said.get(_LOADS.get(tag, ""), "")
        if target and (tag != "link" or _LOADED_LINKS & set(said.get("rel", "").split())):
            self.loads.append(target)
        if tag == "a" and said.get("href"):
            self.links.append(said["href"])


def problems(site: Path) -> Iterator[str]:
    """What is wrong with the pages below a folder, one sentence each."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site).as_posix()
        for target in page.loads:
            if urlsplit(target).scheme not in {"", "data"} or target.startswith("//"):
                yield f"{where} loads {target} from elsewhere"
        for target in dict.fromkeys((*page.links, *page.loads)):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or (path.name == "404.html" and parts.path.startswith("/")):
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            file = file / "index.html" if file.is_dir() else file
            if not file.exists():
                yield f"{where} links to {target}, which is not there"
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].anchors:
                yield f"{where} links to {target}: the page has no such anchor"


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page

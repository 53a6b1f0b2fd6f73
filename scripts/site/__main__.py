"""Write the site into ``out/site``: the pages, the API's, then Zensical, strictly, then llms.txt and pages as Markdown.

``--pages`` stops before Zensical. Exit code 1: a page links to what is not there, or is not in the navigation of
mkdocs.yml, a row of a table is in no table, something is loaded from elsewhere, or Zensical is not installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from scripts.site import assistants, check, pages, reference, search

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "out" / "site-source"
SITE: Final = ROOT / "out" / "site"
CONFIG: Final = ROOT / "mkdocs.yml"
STYLE: Final = Path(__file__).parent / "site.css"
RANKING: Final = Path(__file__).parent / "search.js"


def main() -> int:
    """Exit code of the whole."""
    texts = write_source()
    if "--pages" in sys.argv[1:]:
        return 0
    if find_spec("zensical") is None or find_spec("yaml") is None:
        print("the site is built with Zensical: run make docs, or python -m pip install --group docs", file=sys.stderr)
        return 1
    import yaml  # noqa: PLC0415 - comes with Zensical

    # A loader that knows no tags: the file has one for Python's own names.
    sections = yaml.load(CONFIG.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)["nav"]  # noqa: S506
    listed = {path for _, path in assistants.flat(sections)}
    wrong = [f"mkdocs.yml has no place for {page}" for page in _pages() if page not in listed]
    wrong += [row for path in _written() for row in pages.stray_rows(path, (ROOT / path).read_text(encoding="utf-8"))]
    shutil.rmtree(SITE, ignore_errors=True)
    done = subprocess.run(  # noqa: S603 - this environment's own Zensical
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", str(CONFIG)],
        check=False, stdout=subprocess.DEVNULL if not wrong else None,
    )  # fmt: skip
    wrong += ["Zensical found something wrong"] if done.returncode else check.problems(SITE)
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    found = json.loads((SITE / "search.json").read_text(encoding="utf-8"))
    _write(SITE / "search.json", json.dumps(search.for_users(found)))
    for worker in (SITE / "assets" / "javascripts" / "workers").glob("search.*"):
        _copy(RANKING, worker)
    summary = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["description"]
    _write(SITE / "llms.txt", assistants.index(summary, sections, texts))
    _write(SITE / "llms-full.txt", assistants.whole(sections, texts))
    for path, text in (*texts.items(), *reference.texts()):
        _write(SITE / path, text)
    missing = [path for path in listed if not (SITE / path).is_file()]
    if missing:
        print(*(f"llms.txt links to {path}, which is not there" for path in missing), sep="\n", file=sys.stderr)
        return 1
    folder = SITE.relative_to(ROOT)
    print(f"{len(_pages())} pages in {folder}: open {folder}/index.html. The search needs a server:")
    print(f"{Path(sys.executable).relative_to(ROOT)} -m http.server --bind 127.0.0.1 --directory {folder}")
    return 0


def write_source() -> dict[str, str]:
    """The pages that MkDocs reads, written; returns the text of those that people wrote."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    texts = dict[str, str]()
    for path in _written():
        text = (ROOT / path).read_text(encoding="utf-8")
        texts[pages.place(path)] = pages.page(path, text)
        for target in pages.targets(path, text):
            if not target.endswith(".md") and (ROOT / target).is_file():
                _copy(ROOT / target, SOURCE / pages.place(target))
    for path, text in (*texts.items(), *reference.pages()):
        _write(SOURCE / path, text)
    _copy(STYLE, SOURCE / "site.css")
    return texts


def _written() -> Iterator[str]:
    """The pages that people wrote, from the root of the repository."""
    yield from (path for path in pages.PLACES if not path.startswith("docs/"))
    yield from (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))


def _pages() -> list[str]:
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.md"))


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

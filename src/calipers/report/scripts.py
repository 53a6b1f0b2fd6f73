"""The page's own script, style and security policy.

The sources in ``page/`` are ES modules, one for each concern. They are joined into one inline script, and the policy
allows this script and this style by their SHA-256 hashes and nothing else. Not responsible for data (``writing``).
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final

MODULES: Final = (
    "elements", "numbers", "text", "judgenames", "markdown", "data", "search", "messages", "intervals", "ranking",
    "difference", "candidates", "questions", "origins", "group", "list", "groups", "live", "plots", "charts",
    "categories", "judgecards", "compared", "judged", "judge", "items", "run", "study", "keys", "main",
)  # fmt: skip
"""The page's modules; each imports only from those before it."""
STYLES: Final = ("base", "frame", "group", "text", "narrow", "charts", "judge", "runs")
LIBRARY: Final = "uPlot.iife.min.js"
"""The charting library, as its project publishes it. It defines ``uPlot``, and its licence is in the page with it."""
_IMPORT: Final = re.compile(r"^import \{[^}]*\} from \"\.{1,2}/[\w/.]+\.js\";\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?function|const|class|let)", re.MULTILINE)


def page_file(name: str) -> str:
    """Return the text of a file of the page, such as ``"main.js"``."""
    return files("calipers.report").joinpath("page", name).read_text(encoding="utf-8")


@cache
def page_script() -> str:
    """Return the page's whole script: the charting library, and all modules without their imports and exports."""
    library = f"/*!\nuPlot\n\n{page_file('library/uPlot.LICENSE')}\n*/\n{page_file(f'library/{LIBRARY}')}\n"
    return library + joined_modules(page_file(f"{name}.js") for name in MODULES)


def joined_modules(sources: Iterable[str]) -> str:
    """Return the modules of a page as one script, without their imports and exports."""
    return "".join(_EXPORT.sub("", _IMPORT.sub("", source)) for source in sources)


@cache
def page_head(*, live: bool = False) -> str:
    """Return the beginning of the page, up to where its data begin: policy, style and an empty body."""
    head = page_file("head.html").replace("@POLICY@", page_policy(live=live))
    return head.replace("@STYLE@", _style())


@cache
def _style() -> str:
    return page_file("library/uPlot.min.css") + "\n" + "".join(page_file(f"{name}.css") for name in STYLES)


def page_policy(*, live: bool = False) -> str:
    """Return the page's content security policy; a ``live`` page may ask the server that it came from for groups."""
    return policy_for(page_script(), _style(), live=live)


def policy_for(script: str, style: str, *, live: bool) -> str:
    """Return the content security policy of a page that has this script and this style, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "img-src data:",
            *(["connect-src 'self'"] if live else []),
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"

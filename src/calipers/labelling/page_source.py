"""The label page's own script, style and security policy: parts of the report's page, and modules of its own.

Whatever comes from a trajectory is shown by the report's modules, which make text nodes of it. Not responsible for the
data, which the page asks its server for (``serving``).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from calipers.report.writing import joined_modules, page_file, policy_for

_SHARED_MODULES: Final = ("elements", "numbers", "text", "markdown", "messages")
_SHARED_STYLES: Final = ("base", "frame", "group", "text")
MODULES: Final = ("ranking", "wire", "candidates", "help", "label")
"""The page's own modules; each imports only from those before it, and from the report's."""


@cache
def label_page() -> bytes:
    """Return the whole page. It holds no data."""
    head = _own("head.html").replace("@POLICY@", label_policy()).replace("@STYLE@", _style())
    return f'{head}<script type="module">{_script()}</script>\n</body>\n</html>\n'.encode()


@cache
def label_policy() -> str:
    """Return the page's content security policy: its own script and style, and its own server."""
    return policy_for(_script(), _style(), connects=True)


@cache
def _script() -> str:
    shared = [page_file(f"{name}.js") for name in _SHARED_MODULES]
    return joined_modules([*shared, *(_own(f"{name}.js") for name in MODULES)])


@cache
def _style() -> str:
    return "".join(page_file(f"{name}.css") for name in _SHARED_STYLES) + _own("label.css")


def _own(name: str) -> str:
    return files("calipers.labelling").joinpath("page", name).read_text(encoding="utf-8")

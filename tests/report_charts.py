"""A page with figures of given numbers, under the report's own style and security policy, for tests of the charts."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from calipers.report.scripts import page_head, page_script


def page_with(folder: Path, code: str) -> Path:
    """Write a page that runs ``code`` instead of opening a report; ``code`` fills the element ``main``."""
    own = page_script()
    script = own.removesuffix("await open();\n") + (
        'const main = el("main"); document.getElementById("app").replaceChildren(el("div.view", {}, main));\n'
        f'{code}\ndocument.documentElement.dataset.ready = "true";\n'
    )
    head = page_head().replace(_hash(own), _hash(script))
    page = folder / "figures.html"
    page.write_text(f'{head}<script type="module">{script}</script></body></html>', encoding="utf-8")
    return page


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

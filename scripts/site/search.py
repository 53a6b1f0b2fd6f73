"""The index of the site's search, as users need it: guides before signatures, and no changelog.

The search ranks a match in a title first, and among titles the one that matches earlier.
"""

from __future__ import annotations

from typing import Any, Final

_LEFT_OUT: Final = "changes.html"


def for_users(index: dict[str, Any]) -> dict[str, Any]:
    """The index without the changelog; the title of a name of the API begins with its module."""
    items = [item for item in index["items"] if item["location"].partition("#")[0] != _LEFT_OUT]
    for item in items:
        page, _, name = item["location"].partition("#")
        if page.startswith("reference/"):
            item["title"] = f"Python: {name or item['title']}"
    return {**index, "items": items}

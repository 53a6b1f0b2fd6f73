"""What hatchling asks for when it builds calipers: the project's addresses, and the README as a package index shows it.

An index has none of the repository's files, so links and pictures get the repository's address. The address is that of
git's remote ``origin``, or what CALIPERS_REPOSITORY says. Where there is none, links become their text and pictures
their description, so that nothing on the page is broken. Needs nothing but Python's own library and hatchling.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE: Final = "CALIPERS_REPOSITORY"
_NO_ADDRESS: Final = (
    "calipers: no web address of the repository is known (git's remote origin, or CALIPERS_REPOSITORY), so the package "
    "has no project URLs, and its description no links and pictures: not for a package index"
)
_FENCED: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_PICTURE: Final = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
_LINK: Final = re.compile(r"(?<!!)\[((?:!\[[^\]]*\]\([^)]*\)|[^\]])*)\]\(([^)\s]+)\)")
_ELSEWHERE: Final = re.compile(r"[a-z]+:|#")
_BY_SSH: Final = re.compile(r"[\w.-]+@([\w.-]+):(.+)")


class Metadata(MetadataHookInterface):
    """The fields that pyproject.toml calls dynamic, except for the version."""

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        address = repository(root)
        if address is None:
            print(_NO_ADDRESS, file=sys.stderr)
        text = (root / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": description(text, address)}
        metadata["urls"] = urls(address)


def repository(root: Path) -> str | None:
    """The address of the repository's web page, without credentials; None if it has none."""
    said = os.environ.get(VARIABLE)
    return web_address(said if said is not None else _origin(root))


def _origin(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            ["git", "-C", str(root), "remote", "get-url", "origin"],  # noqa: S607 - the git that is on the path
            capture_output=True, text=True, timeout=10, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def web_address(remote: str) -> str | None:
    """The web page of a git remote, without user and password; None for a folder."""
    if short := _BY_SSH.fullmatch(remote):
        remote = f"ssh://{short[1]}/{short[2]}"
    parts = urlsplit(remote)
    if parts.scheme not in {"http", "https", "ssh"} or not parts.hostname:
        return None
    by_ssh = parts.scheme == "ssh"
    host = f"{parts.hostname}:{parts.port}" if parts.port and not by_ssh else parts.hostname
    return f"{'https' if by_ssh else parts.scheme}://{host}{parts.path.rstrip('/').removesuffix('.git')}"


def urls(address: str | None) -> dict[str, str]:
    """The links at the side of an index's page."""
    if address is None:
        return {}
    return {
        "Repository": address,
        "Documentation": f"{address}/blob/HEAD/docs/README.md",
        "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }


def description(readme: str, address: str | None) -> str:
    """The README for a page that has none of the repository's files; code stays as it is."""
    parts = _FENCED.split(readme)
    return "".join(part if part.startswith("```") else _away_from_home(part, address) for part in parts)


def _away_from_home(text: str, address: str | None) -> str:
    def picture(match: re.Match[str]) -> str:
        if _ELSEWHERE.match(match[2]):
            return match[0]
        return f"![{match[1]}]({address}/raw/HEAD/{match[2]})" if address else f"*{match[1]}*"

    def link(match: re.Match[str]) -> str:
        if _ELSEWHERE.match(match[2]):
            return match[0]
        return f"[{match[1]}]({address}/blob/HEAD/{match[2]})" if address else match[1]

    return _LINK.sub(link, _PICTURE.sub(picture, text))

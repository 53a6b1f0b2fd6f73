"""What a study's results came from, beside its TOML: profiles, files, versions and the state of the code.

Recorded so that a result can be made again, or told from one that was made differently. Not responsible for settings.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from calipers._version import __version__
from calipers.study.profiles.files import profile_as_text
from calipers.study.profiles.named import profile_named

_PROFILE: Final = "profile:"
_BLOCK: Final = 2**20


def profiles_of(profiles: Iterable[str | None], models: Iterable[str | None]) -> dict[str, Any]:
    """Return the contents of all profiles that judges of a study answer with, by the name that the study gives them.

    ``profiles`` are names, perhaps with options, and ``models`` names of judges, some of which may be ``profile:NAME``.
    """
    named = {name for name in profiles if name is not None}
    named |= {name.removeprefix(_PROFILE) for name in models if name is not None and name.startswith(_PROFILE)}
    return {name: json.loads(profile_as_text(profile_named(name))) for name in sorted(named)}


def file_digests(folder: Path, files: Iterable[str]) -> dict[str, str | None]:
    """Return the SHA-256 of each of the ``files`` that a study in ``folder`` reads, by the name in the study.

    None for what is no regular file, such as a pipe, which can be read once only.
    """
    return {name: _digest(folder / name) for name in sorted(set(files))}


def _digest(path: Path) -> str | None:
    if not path.is_file():
        return None
    found = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def versions(libraries: Sequence[str]) -> dict[str, str | None]:
    """Return the versions of Python, calipers and the ``libraries`` that a study uses; None for one that is missing."""
    found: dict[str, str | None] = {"python": platform.python_version(), "calipers": __version__}
    for name in libraries:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return {**found, "machine": platform.machine(), "system": platform.system()}


def git_state(folder: Path) -> Mapping[str, Any] | None:
    """Return the commit of the git repository that holds a study's ``folder``, and whether files differ from it.

    None without a repository.
    """
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return {"commit": commit.strip(), "changed": bool(_git(folder, "status", "--porcelain").strip())}
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    asked = ["git", "-C", str(folder), *arguments]
    return subprocess.run(asked, check=True, capture_output=True, text=True, timeout=30).stdout  # noqa: S603 - git

"""The folder of a comparison of judges: what may be one, and how its files are written.

Not responsible for what the files hold (``asking``, ``results``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from calipers.errors import ConfigError

RESULTS: Final = "comparison.json"
"""The file with all figures of a comparison."""
STUDY: Final = "study.json"
"""What the results came from beside the settings: profiles, files, versions and the state of the code."""
TOML: Final = "comparison.toml"
"""The comparison's settings, as they were when it was last asked."""


def require_possible(out: Path) -> None:
    """Raise ConfigError if ``out`` cannot be the folder of a comparison: a file, a folder with other things in it."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"-o {out}: is a file; name a folder")
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in (TOML, RESULTS)):
        raise ConfigError(f"-o {out}: is a folder with other files in it; name a new one")


def require_usable(out: Path) -> None:
    """Make the folder ``out`` of a comparison. Raises ConfigError for a file, and a folder with other things in it."""
    require_possible(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"-o {out}: cannot be made ({error.strerror})") from error


def write(path: Path, content: bytes) -> None:
    """Write a file of a comparison in one move. Raises ConfigError if it cannot be written."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from error

"""A lock that processes of one machine share while they use the same server, and that ends with a process that dies.

Not responsible for processes on other machines: these need one process that asks for all.
"""

from __future__ import annotations

import os
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Self

try:
    import fcntl
except ImportError:  # Windows has none; each process then decides for itself
    fcntl = None  # type: ignore[assignment]  # mypy knows the platform it runs on


class MachineLock:
    """Marks this process as a user of the server ``name`` until the block ends. ``None`` shares with nobody.

    Entering waits while another process, as the last user, is putting the server to rest.
    """

    def __init__(self, name: str | None) -> None:
        self._name = name
        self._file: int | None = None

    def __enter__(self) -> Self:
        if self._name is not None and fcntl is not None:
            mark = sha256(self._name.encode()).hexdigest()[:32]
            path = Path(tempfile.gettempdir()) / f"calipers-{os.getuid()}-{mark}.lock"
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_SH)
        return self

    def is_last(self) -> bool:
        """Return whether no other process of this machine uses the server; none can begin to until the block ends."""
        if self._file is None:
            return True
        # Released first, so that of two processes that end at the same moment one is the last.
        fcntl.flock(self._file, fcntl.LOCK_UN)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

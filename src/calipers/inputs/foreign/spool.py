"""``Spool``: plain values that wait in a temporary file, because all of a file's rollouts take more memory than it has.

Not responsible for what the values are.
"""

from __future__ import annotations

import json
import tempfile
from types import TracebackType
from typing import Any, Self

from calipers.errors import InputError
from calipers.types.encoding import to_json

_IN_MEMORY = 2**25
"""How many bytes are held in memory before a file is written."""
Slot = tuple[int, int]


class Spool:
    """Values that are written once and read in any order; the file is removed at the end of the ``with`` block.

    Raises InputError if the temporary folder has no place.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by ``__exit__``
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def add(self, value: Any) -> Slot:
        """Write plain data, and return where it is."""
        data = to_json(value, lone="replace")
        try:
            self._file.seek(self._end)
            self._file.write(data)
        except OSError as error:
            where = tempfile.gettempdir()
            raise InputError(
                f"rollouts cannot be held in {where} ({error.strerror}); set TMPDIR to a folder with more space"
            ) from None
        slot = (self._end, len(data))
        self._end += len(data)
        return slot

    def get(self, slot: Slot) -> Any:
        """Return the value at ``slot``."""
        at, length = slot
        self._file.seek(at)
        return json.loads(self._file.read(length))

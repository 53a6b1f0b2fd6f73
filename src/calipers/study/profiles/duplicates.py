"""Finds answers that are recorded twice, which a profile would take for repeats without any noise.

Not responsible for reading files (``sources``).
"""

from __future__ import annotations

import os
from collections.abc import Hashable

from calipers.calibration.records import Key, Record
from calipers.errors import InputError

_Question = tuple[Key, str, tuple[str, ...], int, Hashable]


class RecordedOnce:
    """The questions in the sources of a profile that have been read so far, with the place of each answer."""

    def __init__(self) -> None:
        self._places: dict[_Question, tuple[str, int | None]] = {}

    def require(
        self, record: Record, source: str | os.PathLike[str], line: int | None, *, about: Hashable = None
    ) -> None:
        """Raise InputError if the question of ``record``, on ``line`` of ``source``, was answered before.

        ``about`` tells questions apart that a record does not, such as the rewrite of its group.
        """
        question = record.key, record.group_id, record.order, record.sample, about
        here = os.fspath(source)
        if question not in self._places:
            self._places[question] = here, line
            return
        before, number = self._places[question]
        where = before if number is None else f"line {number}" if before == here else f"{before}:{number}"
        remedy = (
            "leave one of them out, or number repeats of a question by 'sample_index': 0, 1, 2"
            if line is not None
            else "profile each ledger by itself"
        )
        raise InputError(
            f"answers the question of {where} again: the judge, the group {record.group_id!r}, the order, the kind of "
            f"question and 'sample_index' ({record.sample}) are the same; {remedy}",
            source=here,
            line=line,
        )

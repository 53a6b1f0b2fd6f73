"""One annotator at work: which group comes next, what the page gets of it, and what becomes of a ranking.

The page knows groups by tokens, which say nothing about them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from calipers.errors import CalipersError, InputError
from calipers.labelling.groups import Blinded, GroupIndex, blinded
from calipers.labelling.labels import LONGEST_NOTE, Label, LabelFile

_UNKNOWN_GROUP: Final = "There is no such group here; reload the page."


class RefusedLabelError(CalipersError):
    """A ranking that the page must not send, or a group that is not there."""


class Session:
    """The groups of ``index`` in its random order, for ``annotator``, who saves to ``file``.

    A group that cannot be shown goes to ``on_error`` once, and is passed over. Safe to use from several threads.
    """

    def __init__(
        self,
        index: GroupIndex,
        file: LabelFile,
        annotator: str,
        *,
        on_error: Callable[[InputError], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.annotator = annotator
        self._index = index
        self._file = file
        self._on_error = on_error
        self._now = now
        self._tokens = [self._token(name) for name in index.ids]
        self._numbers = {token: number for number, token in enumerate(self._tokens)}
        self._places = {number: place for place, number in enumerate(index.order)}
        self._bad: set[int] = set()

    def next(self, after: str | None = None) -> dict[str, Any]:
        """Return the next group without the annotator's label, beginning after the group with the token ``after``.

        ``group`` is None when all have one.
        """
        self._file.refresh()
        begin = 0 if after is None else self._places[self._number(after)] + 1
        order = self._index.order
        for number in [*order[begin:], *order[:begin]]:
            if number in self._bad or self._file.current(self.annotator, self._index.ids[number])[0] is not None:
                continue
            try:
                return self._shown(number)
            except InputError as error:
                self._bad.add(number)
                self._on_error(error)
        return {"group": None, **self.progress()}

    def previous(self, before: str | None = None) -> dict[str, Any]:
        """Return the group that the annotator labelled before the one with this token, or else last.

        ``group`` is None if there is none.
        """
        self._file.refresh()
        numbers = [
            number for name in self._file.of(self.annotator) if (number := self._index.numbers.get(name)) is not None
        ]
        number = None if before is None else self._number(before)
        if number in numbers:
            numbers = numbers[: numbers.index(number)]
        return self._shown(numbers[-1]) if numbers else {"group": None, **self.progress()}

    def save(self, token: str, ranks: object, note: object, based_on: object) -> dict[str, Any]:
        """Save the ranks of the candidates in the order shown; return once they are on the disk.

        Raises RefusedLabelError for ranks that are none, StaleLabelError for a group that was labelled elsewhere
        meanwhile, and ConfigError if the file cannot be written.
        """
        number = self._number(token)
        seen = self._blinded(number)
        return self._save(seen, seen.ranks(_checked_ranks(ranks, len(seen.order))), note, based_on)

    def take_back(self, token: str, based_on: object) -> dict[str, Any]:
        """Take the annotator's label of a group back; the file keeps it as history. Raises what ``save`` raises."""
        seen = self._blinded(self._number(token))
        self._file.refresh()
        label, revision = self._file.current(self.annotator, seen.group_id)
        if label is None:
            return {"saved": None, "revision": revision, **self.progress()}
        return self._save(seen, None, "", based_on)

    def report(self, error: InputError) -> None:
        """Tell the person at the terminal of a group that cannot be read any more."""
        self._on_error(error)

    def progress(self) -> dict[str, Any]:
        """Return how many groups the annotator has labelled, and how many there are to label."""
        labelled = sum(name in self._index.numbers for name in self._file.of(self.annotator))
        return {"labelled": labelled, "total": len(self._index) - len(self._bad), "annotator": self.annotator}

    def _save(
        self, seen: Blinded, ranks: Mapping[str, int | None] | None, note: object, based_on: object
    ) -> dict[str, Any]:
        if not isinstance(based_on, int) or isinstance(based_on, bool):
            raise RefusedLabelError("based_on is the revision that the page got")
        if not isinstance(note, str) or len(note) > LONGEST_NOTE:
            raise RefusedLabelError(f"A note has at most {LONGEST_NOTE:,} characters.")
        time = self._now().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        label = Label(seen.group_id, self.annotator, time, seen.content, ranks, seen.order, note)
        revision = self._file.append(label, based_on=based_on)
        return {"saved": time, "revision": revision, **self.progress()}

    def _shown(self, number: int) -> dict[str, Any]:
        seen = self._blinded(number)
        label, revision = self._file.current(self.annotator, seen.group_id)
        changed = label is not None and label.content != seen.content
        known = None if label is None or label.ranks is None or changed else seen.by_place(label.ranks)
        group = {
            **seen.page,
            "token": self._tokens[number],
            "revision": revision,
            "ranks": known,
            "note": "" if label is None else label.note,
            "saved": None if label is None else label.time,
            "changed": changed,
        }
        return {"group": group, **self.progress()}

    def _blinded(self, number: int) -> Blinded:
        try:
            return blinded(self._index.group(number), self.annotator)
        except InputError as error:
            raise InputError(str(error), source=self._index.path) from None

    def _number(self, token: str) -> int:
        if token not in self._numbers:
            raise RefusedLabelError(_UNKNOWN_GROUP)
        return self._numbers[token]

    def _token(self, name: str) -> str:
        return blake2b(f"{self.annotator}\0{name}".encode("utf-8", "replace"), digest_size=9).hexdigest()


def _checked_ranks(ranks: object, count: int) -> list[int | None]:
    """Return ranks from a page: one for each candidate, without gaps. Raises RefusedLabelError for any other."""
    if not isinstance(ranks, list) or len(ranks) != count:
        raise RefusedLabelError(f"ranks is a list of {count} ranks")
    stated = [rank for rank in ranks if rank is not None]
    if any(not isinstance(rank, int) or isinstance(rank, bool) for rank in stated):
        raise RefusedLabelError("a rank is a whole number, or null")
    if sorted(set(stated)) != list(range(1, len(set(stated)) + 1)):
        raise RefusedLabelError("ranks are 1, 2, 3 and so on, without gaps")
    return ranks

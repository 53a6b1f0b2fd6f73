"""A label: how one annotator ranks the candidates of one group; and the line of the label file that holds it.

Plain data, checked. Not responsible for the file (``label_file``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.types.encoding import printable

FORMAT: Final = "calipers-label/1"
LONGEST_NOTE: Final = 4000
LONGEST_NAME: Final = 80
_KEYS: Final = ("group_id", "annotator", "time", "content")


@dataclass(frozen=True, slots=True)
class Label:
    """How ``annotator`` ranks the trajectories of a group.

    ``ranks`` maps ids to ranks from 1, the best; equal ranks are ties, and None means "can't tell". ``ranks`` is None
    for a label that its annotator took back. ``shown`` holds the ids in the order in which the page showed them, one of
    each set of identical trajectories; it is empty for labels from other tools. ``content`` identifies the texts that
    were labelled, and ``time`` is in UTC (ISO 8601).
    """

    group_id: str
    annotator: str
    time: str
    content: str
    ranks: Mapping[str, int | None] | None
    shown: tuple[str, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the label as data: a line of a label file."""
        return {
            "format": FORMAT,
            "group_id": self.group_id,
            "annotator": self.annotator,
            "time": self.time,
            "ranks": None if self.ranks is None else dict(self.ranks),
            "shown": list(self.shown),
            "note": self.note,
            "content": self.content,
        }


def label_from(value: Mapping[str, Any]) -> Label:
    """Return the label in a line of a label file. Raises InputError that names what is wrong with it."""
    if value.get("format") != FORMAT:
        raise InputError(f'is no label of calipers: its "format" is not {FORMAT!r}; name another file with --labels')
    texts = {key: value.get(key) for key in _KEYS}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{key!r} must be text")
    ranks, shown, note = value.get("ranks"), value.get("shown", []), value.get("note", "")
    if ranks is not None and not (isinstance(ranks, Mapping) and all(map(_is_rank, ranks.values()))):
        raise InputError(
            "'ranks' must be null, or an object of ids with whole numbers from 1, or null for \"can't tell\""
        )
    if not isinstance(shown, list) or not all(isinstance(one, str) for one in shown):
        raise InputError("'shown' must be a list of ids")
    if not isinstance(note, str):
        raise InputError("'note' must be text")
    group_id, annotator, time, content = (str(texts[key]) for key in _KEYS)
    return Label(group_id, annotator, time, content, ranks, tuple(shown), note)


def _is_rank(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1)


def require_annotator(name: str) -> str:
    """Return an annotator's name without spaces around it. Raises ConfigError for one that cannot be used."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or printable(name) != name or not name.isprintable():
        raise ConfigError(f"--annotator: needs a name of 1 to {LONGEST_NAME} printable characters")
    return name

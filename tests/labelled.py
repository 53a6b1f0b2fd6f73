"""Groups, labels and sessions for tests of labelling."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from calipers.labelling.groups import GroupIndex, content_of
from calipers.labelling.labels import Label, LabelFile
from calipers.labelling.session import Session
from calipers.types import TrajectoryGroup
from groups import FOUR, group_of

ANSWERS = dict(FOUR)


def groups_file(path: Path, groups: Iterable[TrajectoryGroup] | None = None, *, count: int = 3) -> Path:
    """A groups file of ``count`` groups of four, or of these."""
    made = groups or [group_of(ANSWERS, group_id=f"g{n}", question=f"{n}?") for n in range(count)]
    path.write_text("".join(json.dumps(one.to_dict()) + "\n" for one in made), encoding="utf-8")
    return path


def opened(path: Path) -> GroupIndex:
    """The index of a file in which every line can be read."""
    return GroupIndex(str(path), on_error=fail)


def label_file(path: Path) -> LabelFile:
    """A file of labels in which every line can be read."""
    return LabelFile(path, on_error=fail)


def fail(error: Exception) -> None:
    """For what must not be reported."""
    raise AssertionError(str(error))


def label_of(
    group: TrajectoryGroup | str,
    annotator: str,
    ranks: Mapping[str, int | None] | None,
    *,
    time: str = "2026-01-01T00:00:00.000Z",
    **more: Any,
) -> Label:
    """A label; of a group with these texts, or of a name."""
    name, content = (group, "") if isinstance(group, str) else (group.group_id, content_of(group))
    return Label(group_id=name, annotator=annotator, time=time, content=content, ranks=ranks, **more)


def session_of(index: GroupIndex, path: Path, annotator: str = "ann", **more: Any) -> Session:
    """An annotator at work."""
    return Session(index, label_file(path), annotator, **{"on_error": fail} | more)

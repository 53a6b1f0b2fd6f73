"""People as the second opinion during a run: sampled groups are added to a file for ``calipers label``.

Their labels are read as they are saved. Not responsible for which groups are sampled, or for what agreement says of the
judge (``judging.recalibration``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from calipers.errors import InputError
from calipers.inputs import as_group
from calipers.inputs.jsonl import parse_json_line
from calipers.labelling.blinding import content_of
from calipers.labelling.label_file import LabelFile
from calipers.labelling.labels import Label
from calipers.types import TrajectoryGroup
from calipers.types.encoding import finite_number, to_json

_KEY: Final = "recalibration"
"""The key of a group that holds the judge's scores; the label page shows it to nobody."""

Opinion = Mapping[str, float | None]


class People:
    """Asks whoever runs ``calipers label GROUPS`` on the groups file ``groups``, to which sampled groups are added.

    ``labels`` is their label file, by default the one beside it. Both may be there already: a run that goes on knows
    what was asked and answered before. Pass it as ``Recalibration(to=People(...))``. Labels of several annotators are
    combined as in ``calipers label --gold``. Raises InputError for a groups file with a line that is none of its own.
    """

    def __init__(self, groups: str | Path, labels: str | Path | None = None) -> None:
        self._groups = Path(groups)
        self._labels_path = self._groups.with_suffix(".labels.jsonl") if labels is None else Path(labels)
        self._labels: LabelFile | None = None
        self._asked: dict[str, tuple[str, Opinion]] = {}
        self._is_cut_off = False
        if self._groups.exists():
            self._read()

    def ask(self, group: TrajectoryGroup, scores: Opinion) -> None:
        """Add a group to the groups file for people, with an id that no other line has."""
        name, number = group.group_id, 1
        while name in self._asked:
            number += 1
            name = f"{group.group_id}~{number}"
        line = {**group.to_dict(), "group_id": name, _KEY: {"scores": dict(scores)}}
        with self._groups.open("ab") as stream:
            stream.write(b"\n" * self._is_cut_off + to_json(line, lone="replace") + b"\n")
        self._is_cut_off = False
        self._asked[name] = content_of(group), dict(scores)

    def answers(self) -> dict[str, tuple[Opinion, Opinion]]:
        """Return the judge's scores and people's opinion of every labelled group, by its id, oldest first.

        A label of other texts does not count. Raises ConfigError for a label file that cannot be read.
        """
        from calipers.labelling.agreement import combined  # noqa: PLC0415 - needs numpy

        if self._labels is None:
            self._labels = LabelFile(self._labels_path, on_error=lambda _: None)
        self._labels.refresh()
        by_group: dict[str, list[Label]] = {}
        for label in self._labels.labels():
            content, _ = self._asked.get(label.group_id, ("", {}))
            if label.content == content:
                by_group.setdefault(label.group_id, []).append(label)
        return {
            name: (scores, combined(by_group[name])) for name, (_, scores) in self._asked.items() if name in by_group
        }

    def _read(self) -> None:
        with self._groups.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                value = parse_json_line(line) if line.strip() else None
                self._is_cut_off = not line.endswith(b"\n")
                if value is not None and not (self._is_cut_off and isinstance(value, str)):  # else a crash cut it off
                    self._remember(value, number)

    def _remember(self, value: Mapping[str, Any] | str, number: int) -> None:
        problem = value if isinstance(value, str) else "it has no scores of a judge"
        about = None if isinstance(value, str) else value.get(_KEY)
        scores = about.get("scores") if isinstance(about, Mapping) else None
        if isinstance(value, str) or not isinstance(scores, Mapping):
            raise InputError(
                f"is no group that a recalibration added ({problem}); name a file of its own",
                source=str(self._groups), line=number,
            )  # fmt: skip
        group = as_group(value)
        self._asked[group.group_id] = content_of(group), {str(key): finite_number(one) for key, one in scores.items()}

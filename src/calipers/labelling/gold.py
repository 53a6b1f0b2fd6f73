"""Gold for calibration from the labels of all annotators: a groups file with ``gold``, and who said what, when.

How labels are combined is in ``agreement.combined``. Not responsible for writing the file (``cli``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from calipers.errors import InputError
from calipers.labelling.agreement import combined
from calipers.labelling.blinding import content_of
from calipers.labelling.index import GroupIndex
from calipers.labelling.labels import Label
from calipers.labelling.order import random_order


def gold_lines(
    index: GroupIndex, labels: Iterable[Label], *, at_random: bool = False, on_error: Callable[[InputError], None]
) -> Iterator[dict[str, Any]]:
    """Yield the labelled groups as objects of a groups file, in the order of ``index``.

    Trajectories have ``gold`` in [0, 1], or null where no annotator could tell; gold that the file had is replaced. A
    group's ``labels`` are those that it comes from. A group without any gold is left out. With ``at_random``, only the
    groups of the random sample are yielded (``random_sample``). A label of texts that have changed since, and one of a
    group that the file does not have, goes to ``on_error`` and does not count.
    """
    by_group: dict[str, list[Label]] = {}
    for label in labels:
        by_group.setdefault(label.group_id, []).append(label)
    for name in by_group.keys() - index.numbers.keys():
        on_error(InputError(f"has {_counted(by_group[name])} of the group {name!r}, which is not in {index.path}"))
    chosen = set(random_sample(index.ids, by_group)) if at_random else set(index.ids)
    for number, name in enumerate(index.ids):
        if name in by_group and name in chosen:
            found = _with_gold(index, number, by_group[name], on_error)
            if found is not None:
                yield found


def random_sample(ids: Sequence[str], labelled: Iterable[str]) -> list[str]:
    """Return the ids of the labelled groups that are a random sample of all groups.

    They are the groups at the beginning of the random order, up to the first that nobody has labelled: chosen groups
    further on are there because of what the judge said of them.
    """
    known = set(labelled)
    sample = []
    for number in random_order(ids):
        if ids[number] not in known:
            break
        sample.append(ids[number])
    return sample


def _with_gold(
    index: GroupIndex, number: int, labels: Sequence[Label], on_error: Callable[[InputError], None]
) -> dict[str, Any] | None:
    try:
        group = index.group(number)
    except InputError as error:
        on_error(error)
        return None
    content = content_of(group)
    valid = [label for label in labels if label.content == content]
    if len(valid) < len(labels):
        stale = [label for label in labels if label.content != content]
        who = ", ".join(sorted({label.annotator for label in stale}))
        on_error(
            InputError(
                f"the group {group.group_id!r} was labelled ({who}) when its texts were others: these labels do not "
                "count; label it again",
                source=index.path,
                line=index.line(number),
            )
        )
    gold = combined(valid)
    if all(value is None for value in gold.values()):
        return None
    members = tuple(replace(one, gold=gold.get(one.id)) for one in group.trajectories)
    given = [
        {"annotator": one.annotator, "time": one.time, "ranks": dict(one.ranks or {}), "note": one.note}
        for one in sorted(valid, key=lambda one: (one.time, one.annotator))
    ]
    return replace(group, trajectories=members).to_dict() | {"labels": given}


def _counted(labels: Sequence[Label]) -> str:
    return f"{len(labels)} label{'s' * (len(labels) != 1)}"

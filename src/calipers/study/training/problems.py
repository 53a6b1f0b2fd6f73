"""What is wrong with a training study's settings taken together, where each alone is in its range.

Not responsible for types and ranges (``study_file``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import Final

from calipers.config.option import did_you_mean
from calipers.study.training.judges import problems_of_judge
from calipers.study.training.settings import Arm, TrainingStudy

_NAMES: Final = re.compile(r"[\w .,=+:-]{1,100}")
_INSTALL: Final = {
    "torch": "pip install 'calipers[train]'",
    "pyarrow": "pip install 'calipers[train]'",
    "trl": "pip install 'calipers[trl]'",
}


def problems_of_study(study: TrainingStudy, unread: Sequence[str] = (), *, whole: bool = True) -> Iterator[str]:
    """Yield every reason why a training study cannot be run, as a sentence for its user.

    ``unread`` are the names of arms that could not be read. Without ``whole``, other parts of the file could not be
    read, and nothing is said to be missing that may be there.
    """
    size = study.policy
    if size.width % size.heads:
        yield f"[policy]: width={size.width} must be a multiple of heads={size.heads}"
    listed = [*(arm.name for arm in study.arms), *unread]
    names = Counter(listed)
    folders = Counter(map(folder_name, listed))
    for name, count in names.items():
        if count > 1:
            yield f"{count} arms have the name {name!r}"
        elif folders[folder_name(name)] > 1:
            yield f"arm {name!r}: another arm's name differs in spaces only"
    for arm in study.arms:
        yield from (f"arm {arm.name!r}: {one}" for one in _problems_of_arm(arm, study, unread))
    yield from _problems_of_watch(study)
    yield from _problems_of_trl(study, whole=whole)


def missing_libraries(study: TrainingStudy) -> Iterator[str]:
    """Yield a sentence for each library that a training study needs and that is not installed."""
    needed = ["torch", "pyarrow", *(["trl"] if any(arm.engine == "trl" for arm in study.arms) else [])]
    for name in needed:
        if find_spec(name) is None:
            yield f"it needs {name}: {_INSTALL[name]}"


def folder_name(arm: str) -> str:
    """Return the name of the folder for an arm of a training study."""
    return "_".join(arm.replace(":", "-").split())


def _problems_of_arm(arm: Arm, study: TrainingStudy, unread: Sequence[str]) -> Iterator[str]:
    table = arm.table
    if not _NAMES.fullmatch(arm.name):
        yield "a name has at most 100 letters, digits, spaces and . , = + : - _"
    if table.jitter is not None and table.correlation is not None:
        yield "jitter and correlation both say how rollouts arrive: leave one of them out"
    if arm.seeds > study.seeds:
        yield f"seeds={arm.seeds} is more than the study's {study.seeds}"
    if table.weights == "reliability" and not (table.learn or _asks_twice(arm)):
        yield (
            'weights = "reliability" needs standard errors, which one answer without history has not: set options = '
            "{ orders = 2 }, resolve, or learn"
        )
    yield from _problems_of_pair(arm, study, unread)
    if arm.engine == "trl" and arm.training.updates > 1 and not arm.training.clip:
        yield "training: clip must be above 0 with several updates"
    yield from (f"judge {table.judge!r}: {one}" for one in problems_of_judge(arm))


def _asks_twice(arm: Arm) -> bool:
    """Whether a group has two answers or more in this arm of a study, unless a judge's settings are wrong."""
    given = arm.options
    return any(given.get(name, 1) != 1 for name in ("orders", "samples")) or bool(given.get("resolve"))


def _problems_of_pair(arm: Arm, study: TrainingStudy, unread: Sequence[str]) -> Iterator[str]:
    if not arm.against or any(f"{arm.against} ".startswith(f"{one} ") for one in unread):
        return
    others = {other.name: other for other in study.arms if other.name != arm.name}
    other = others.get(arm.against)
    if other is None:
        known = did_you_mean(str(arm.against), {*others, *unread}) if others or unread else ""
        yield f"there is no other arm {arm.against!r} to pair it with.{known}"
    elif min(arm.seeds, other.seeds) < 2:
        yield f"it shares one seed with {arm.against!r}, and a paired difference needs two or more"


def _problems_of_watch(study: TrainingStudy) -> Iterator[str]:
    rules = study.stop
    if rules is not None and {rules.gap, rules.fidelity, rules.length, rules.kl} == {None}:
        yield "[stop]: it has no rule: set gap, fidelity, length or kl"
    if study.auditor is not None and study.audit is not None:
        yield from (f"[audit]: judge {study.audit.judge!r}: {one}" for one in problems_of_judge(study.auditor))


def _problems_of_trl(study: TrainingStudy, *, whole: bool) -> Iterator[str]:
    if whole and not any(arm.engine == "trl" for arm in study.arms):
        if study.trl:
            yield "[trl]: no arm has engine trl"
        return
    if find_spec("trl") is None:
        return
    from trl import GRPOConfig  # noqa: PLC0415 - heavy, and an extra

    from calipers.study.training.trl_run import OWN_ARGUMENTS  # noqa: PLC0415 - likewise

    known = {one.name for one in fields(GRPOConfig)}
    for key in study.trl or {}:
        if key not in known:
            yield f"[trl]: TRL's GRPOConfig has no {key!r}.{did_you_mean(key, known)}"
        elif key in OWN_ARGUMENTS:
            yield f"[trl]: {key} follows from other settings of the study ([training], steps, seeds)"

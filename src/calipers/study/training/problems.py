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
from calipers.study.tables import Problem
from calipers.study.toml_lines import Place
from calipers.study.training.judges import problems_of_judge
from calipers.study.training.settings import Arm, TrainingStudy
from calipers.study.training.without_effect import without_effect

_NAMES: Final = re.compile(r"[\w .,=+:-]{1,100}")
_MOST_STEPS: Final = 1_000_000
"""Steps of all runs: each is a row of every curve in results.json, and a million of them take some 500 MB."""
_MOST_ROLLOUTS: Final = 65_536
"""Rollouts that are sampled and judged together."""
_MOST_PRETRAINED: Final = 10**9
_INSTALL: Final = {
    "torch": "pip install 'calipers[train]'",
    "pyarrow": "pip install 'calipers[train]'",
    "trl": "pip install 'calipers[trl]'",
}


def problems_of_study(study: TrainingStudy, unread: Sequence[str] = (), *, whole: bool = True) -> Iterator[Problem]:
    """Yield every reason why a training study cannot be run, as a sentence for its user.

    ``unread`` are the names of arms that could not be read. Without ``whole``, other parts of the file could not be
    read, and nothing is said to be missing that may be there.
    """
    size = study.policy
    if size.width % size.heads:
        problem = f"[policy]: width={size.width} must be a multiple of heads={size.heads}"
        yield Problem(problem, ("policy", "width"))
    listed = [*(arm.name for arm in study.arms), *unread]
    names = Counter(listed)
    folders = Counter(map(folder_name, listed))
    for name, count in names.items():
        if count > 1:
            yield Problem(f"{count} arms have the name {name!r}", ("arms", name, "name"))
        elif folders[folder_name(name)] > 1:
            yield Problem(f"arm {name!r}: another arm's name differs in spaces only", ("arms", name, "name"))
    told: set[tuple[Place, str]] = set()
    for arm in study.arms:
        for place, problem in _problems_of_arm(arm, study, unread):
            yield Problem(f"arm {arm.name!r}: {problem}", ("arms", arm.name, *place))
        for found in problems_of_judge(arm, arm.table.judge):
            if found not in told:  # the arms that share a judge share what is wrong with it
                told.add(found)
                yield Problem(f"arm {arm.name!r}: judge {arm.table.judge!r}: {found[1]}", found[0])
    yield from _problems_of_watch(study)
    yield from _problems_of_trl(study, whole=whole)
    yield from _problems_of_size(study)
    if whole:
        yield from without_effect(study)


def problems_of_rest(judges: Sequence[Arm]) -> Iterator[Problem]:
    """Yield what is wrong with judges that no arm of a training study asks, each in an arm with its name."""
    for arm in judges:
        for place, problem in problems_of_judge(arm, arm.name):
            yield Problem(f"[judges.{arm.name}]: {problem}", place)


def _problems_of_size(study: TrainingStudy) -> Iterator[Problem]:
    """Yield why a training study is too large to be run, or its results to be written."""
    runs = sum(arm.seeds for arm in study.arms)
    if runs * study.steps > _MOST_STEPS:
        problem = f"{runs:,} runs of {study.steps:,} steps: at most {_MOST_STEPS:,} steps in all: lower steps or seeds"
        yield Problem(problem, ("steps",))
    made = study.pretraining.steps * study.pretraining.batch
    if made > _MOST_PRETRAINED:
        problem = f"[pretraining]: {made:,} responses, steps times batch; at most {_MOST_PRETRAINED:,}: lower one"
        yield Problem(problem, ("pretraining", "steps"))


def missing_libraries(study: TrainingStudy) -> Iterator[str]:
    """Yield a sentence for each library that a training study needs and that is not installed."""
    needed = ["torch", "pyarrow", *(["trl"] if any(arm.engine == "trl" for arm in study.arms) else [])]
    for name in needed:
        if find_spec(name) is None:
            yield f"it needs {name}: {_INSTALL[name]}"


def folder_name(arm: str) -> str:
    """Return the name of the folder for an arm of a training study."""
    return "_".join(arm.replace(":", "-").split())


def _problems_of_arm(arm: Arm, study: TrainingStudy, unread: Sequence[str]) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with an arm of a study, with the key that it is about."""
    table = arm.table
    if not _NAMES.fullmatch(arm.name):
        yield ("name",), "a name has at most 100 letters, digits, spaces and . , = + : - _"
    if table.jitter is not None and table.correlation is not None:
        yield ("jitter",), "jitter and correlation both say how rollouts arrive: leave one of them out"
    if arm.seeds > study.seeds:
        yield ("seeds",), f"seeds={arm.seeds} is more than the study's {study.seeds}"
    for key, groups in (("prompts", arm.training.prompts), ("learn", table.learn)):
        if (rows := groups * arm.training.group_size) > _MOST_ROLLOUTS:
            place = ("learn",) if key == "learn" else ("training", key)
            problem = f"{key}={groups} times group_size={arm.training.group_size} are {rows:,} rollouts at a time"
            yield place, f"{problem}; at most {_MOST_ROLLOUTS:,}: lower one of them"
    if table.weights == "reliability" and not (table.learn or _asks_twice(arm)):
        problem = (
            'weights = "reliability" needs standard errors, which one answer without history has not: set options = '
            "{ orders = 2 }, resolve, or learn"
        )
        yield ("weights",), problem
    yield from ((("against",), one) for one in _problems_of_pair(arm, study, unread))
    if arm.engine == "trl" and arm.training.updates > 1 and not arm.training.clip:
        yield ("training", "clip"), "training: clip must be above 0 with several updates"


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


def _problems_of_watch(study: TrainingStudy) -> Iterator[Problem]:
    rules = study.stop
    if rules is not None and {rules.gap, rules.fidelity, rules.length, rules.kl} == {None}:
        yield Problem("[stop]: it has no rule: set gap, fidelity, length or kl", ("stop",))
    if study.auditor is not None and study.audit is not None:
        name = study.audit.judge
        for place, one in problems_of_judge(study.auditor, name):
            yield Problem(f"[audit]: judge {name!r}: {one}", place)


def _problems_of_trl(study: TrainingStudy, *, whole: bool) -> Iterator[Problem]:
    if whole and not any(arm.engine == "trl" for arm in study.arms):
        if study.trl:
            yield Problem("[trl]: no arm has engine trl", ("trl",))
        return
    if find_spec("trl") is None:
        return
    from trl import GRPOConfig  # noqa: PLC0415 - heavy, and an extra

    from calipers.study.training.trl_run import OWN_ARGUMENTS  # noqa: PLC0415 - likewise

    known = {one.name for one in fields(GRPOConfig)}
    for key in study.trl or {}:
        if key not in known:
            yield Problem(f"[trl]: TRL's GRPOConfig has no {key!r}.{did_you_mean(key, known)}", ("trl", key))
        elif key in OWN_ARGUMENTS:
            problem = f"[trl]: {key} follows from other settings of the study ([training], steps, seeds)"
            yield Problem(problem, ("trl", key))

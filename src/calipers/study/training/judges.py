"""The judge of an arm: simulated from vices or a profile, or any judge by its name.

Not responsible for vices (``simulated``), or for the order of arrival (``arrival``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from calipers.config.flat_names import option_problems
from calipers.errors import CalipersError, ConfigError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.study.profiles.named import profile_judge_of
from calipers.study.toml_lines import Place
from calipers.study.training.arrival import ArrivalJudge
from calipers.study.training.seeds import PANEL, seed_of
from calipers.study.training.settings import Arm, JudgeTable
from calipers.study.training.simulated import NOT_RANDOM, Truth, problems_of_vices, vices_from
from calipers.study.training.task_text import RUBRIC
from calipers.testing import SimulatedJudge
from calipers.testing.features import own_text
from calipers.types import RenderedGroup
from calipers.types.encoding import finite_number

if TYPE_CHECKING:
    from calipers.study.training.rewarding import Tally
    from calipers.study.watching.watch import Watch

NOT_IN_A_STUDY: Final = {
    "judge": "name the judge under [judges.NAME], as model",
    "ledger": "set learn, for what a ledger teaches about the judge",
    "api_key": "set the provider's environment variable: keys are not written to files",
    "watchers": "it holds objects, which TOML cannot",
    "observer": "it is a function, which TOML cannot hold",
    "parse": "it is a function, which TOML cannot hold",
}
"""Options of Judge that a study's TOML may not set, and what to do instead."""
_QUALITY: Final = JudgeTable().quality


def truth_for(table: JudgeTable) -> Truth:
    """Return what a simulated judge of a study knows. Raises ConfigError for qualities that are none."""
    values = [finite_number(one) for one in table.quality] if isinstance(table.quality, list | tuple) else []
    known = [one for one in values if one is not None and 0 <= one <= 1]
    if len(known) != 2 or len(values) != 2:
        raise ConfigError(f"quality={table.quality!r:.60}: it must be two numbers from 0 to 1, for wrong and right")
    if known[0] > known[1]:
        raise ConfigError(
            f"quality={table.quality!r}: the wrong response comes first; a judge that is wrong has the vice Inverted"
        )
    return Truth(*known)


def problems_of_judge(arm: Arm, name: str) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with the judge of an arm: with its table, its options, and itself, each with its place.

    ``name`` is the judge's under [judges].
    """
    of_table, of_options = [*_problems_of_table(arm.judge, name)], [*_problems_of_options(arm, name)]
    of_panel = [*_problems_of_panel(arm, name)]
    yield from (*of_table, *of_options, *of_panel)
    if any(place[2] != "panel" for place, _ in of_panel):
        return  # its judges cannot be made
    right = replace(arm.judge, quality=_QUALITY)
    if any(place[2:3] == ("vices",) for place, _ in of_table):
        right = replace(right, vices=None)
    if of_options:
        arm = replace(arm, options={})
    try:
        judge_for(replace(arm, judge=right), 0, Truth(0.0, 1.0)).close()
    except (CalipersError, OSError, ValueError) as error:  # the last two are of paths that cannot be
        kind = next((kind for kind in ("panel", "model", "profile") if getattr(arm.judge, kind) is not None), "vices")
        yield ("judges", name, kind), str(error)


def _problems_of_table(table: JudgeTable, name: str) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with a judge's own keys, but for its options."""
    here = ("judges", name)
    try:
        truth_for(table)
    except ConfigError as error:
        yield (*here, "quality"), str(error)
    else:
        if list(table.quality) != list(_QUALITY) and (why := _no_quality(table)):
            yield (*here, "quality"), f"quality is for judges with vices: {why}"
    if table.vices is not None:
        yield from (((*here, "vices", *place), problem) for place, problem in problems_of_vices(table.vices))


def _problems_of_panel(arm: Arm, name: str) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with the tables of a panel's judges, and with judges that are named twice."""
    if not arm.members:
        return
    names = list(arm.judge.panel or ())
    for one, member in zip(names, arm.members, strict=True):
        yield from _problems_of_table(member, one)
        if names.count(one) > 1 and not _draws(member):
            yield (
                ("judges", name, "panel"),
                (
                    f"panel: {one} is named {names.count(one)} times, and each time gives the same answers: name it "
                    "once, or give it noise"
                ),
            )


def _draws(table: JudgeTable) -> bool:
    """Whether two members of a panel with the same table may answer differently."""
    if table.profile is not None or table.model is not None:  # a panel refuses the same model twice by itself
        return True
    vices = table.vices if isinstance(table.vices, list | tuple) else ()
    return any(_is_random(vice) for vice in vices)


def _is_random(vice: object) -> bool:
    kind = vice.get("kind") if isinstance(vice, Mapping) else None
    return kind not in NOT_RANDOM


def _no_quality(table: JudgeTable) -> str:
    """Return why a judge has no use for qualities; "" if it has."""
    if table.model is not None:
        return f"{table.model} reads the answers"
    if table.profile is not None:
        return "to a profile, a wrong response is worth 0 and a right one 1"
    return ""


def _problems_of_options(arm: Arm, name: str) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with single options of an arm's judge, at the arm or at the judge, where they are set."""
    for key, value in arm.options.items():
        where: Place = ("arms", arm.name) if key in (arm.table.options or {}) else ("judges", name)
        for problem in (*_set_elsewhere({key: value}), *option_problems({key: value})):
            yield (*where, "options", key), problem


def _set_elsewhere(options: Mapping[str, Any]) -> list[str]:
    return [f"options: a study cannot set {name}: {why}" for name, why in NOT_IN_A_STUDY.items() if name in options]


def judge_for(
    arm: Arm,
    seed: int,
    truth: Truth,
    tally: Tally | None = None,
    ledger: Path | None = None,
    *,
    watch: Watch | None = None,
) -> Judge:
    """Return the judge of a run of ``arm``. Raises ConfigError for settings that cannot work.

    ``truth`` is what it knows if it is simulated; ``tally`` counts its work, and ``watch`` sees what it judged.
    """
    options: dict[str, Any] = {"rubric": RUBRIC, "seed": seed, **arm.options}
    if found := _set_elsewhere(options):
        raise ConfigError(found[0])
    if options.get("protocol") == "checklist" and "rubric" not in arm.options:
        raise ConfigError("options: protocol checklist needs a rubric with criteria")
    options["judge"] = _panel(arm, seed, truth) if arm.members else _backend(arm.judge, seed, truth)
    if watchers := tuple(one for one in (tally, watch) if one is not None):
        options["watchers"] = watchers
    if ledger is not None:
        options["ledger"] = ledger
    return (ArrivalJudge if arm.table.order == "arrival" else Judge).of(options)


def _panel(arm: Arm, seed: int, truth: Truth) -> list[Backend | str]:
    if any(one is not None for one in (arm.judge.vices, arm.judge.profile, arm.judge.model)):
        raise ConfigError("a panel has no vices, profile or model; its judges have")
    return [_backend(one, seed_of(seed, PANEL, slot), truth) for slot, one in enumerate(arm.members)]


def _backend(table: JudgeTable, seed: int, truth: Truth) -> Backend | str:
    given = [name for name in ("vices", "profile", "model") if getattr(table, name) is not None]
    if len(given) > 1:
        raise ConfigError(f"a judge has one of vices, profile and model; not {' and '.join(given)}")
    if table.model is not None:
        return table.model
    if table.profile is not None:
        return profile_judge_of(table.profile, truth.is_right, seed=seed, features={"markdown": _headings})
    return SimulatedJudge(truth, *vices_from(table.vices or ()), seed=seed)


def _headings(view: RenderedGroup) -> list[float]:
    """Return log2(headings + 1) of each candidate: the task's responses are one line, in which no heading begins."""
    return [math.log2(own_text(one, view.prefix_length).count("## ") + 1) for one in view.candidates]

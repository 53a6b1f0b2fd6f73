"""The ways in which ``calipers calibrate`` asks judges: what they would cost, and their answers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calipers.backends.names import is_stand_in, name_without_password, short_names, split_judge_name
from calipers.backends.providers.known import provider_of
from calipers.cli.calibration_output import print_cost, print_reasons, print_unused
from calipers.cli.judge_options import given_options
from calipers.cli.messages import BadLines, print_message
from calipers.config.flag_values import read_rubric_file
from calipers.errors import InputError

if TYPE_CHECKING:
    from calipers.calibration.collect import JudgeAnswers
    from calipers.capacity.spending import Spending
    from calipers.rubric import Rubric
    from calipers.types import TrajectoryGroup

_LONGEST_NAME = 20
_ORDERS = {"pairwise": 2, "pointwise": 2}


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to ask a judge: what ``collect_judgments`` takes."""

    judge: str
    protocol: str
    rubric: str | Rubric | None
    prompt_variant: str | None
    options: dict[str, Any]

    def title(self, several: bool) -> str:  # noqa: FBT001 - one question
        """The way in a few words, for the progress line; with the protocol if there are ``several``."""
        asked = self.protocol if several else None
        return " ".join(filter(None, (_short_name(self.judge), asked, self.prompt_variant)))


def _short_name(judge: str) -> str:
    """Return the model's name without provider and address, as a progress line has room for it."""
    model = split_judge_name(judge)[0].rpartition("/")[2]
    return model if len(model) <= _LONGEST_NAME else f"{model[: _LONGEST_NAME - 1]}…"


def _ways(options: dict[str, Any]) -> Iterator[_Way]:
    settings = given_options(options, "samples", "params", "price", "expected", "ledger")
    settings["experience"] = False  # measure the judge without what an earlier run learned about it
    variants: list[tuple[str | None, str | Rubric | None]] = [
        (Path(path).stem, read_rubric_file(path)) for path in options["rubric"]
    ] or [(None, None)]
    ways = itertools.product(options["judge"], dict.fromkeys(options["protocol"]), variants)
    for name, protocol, (variant, rubric) in ways:
        orders = options["orders"] or _ORDERS.get(protocol, 4)
        if protocol == "pairwise" and len(options["protocol"]) > 1:
            orders = min(orders, 2)  # a pair has only two orders, and the other protocols may be compared with it
        yield _Way(name, protocol, rubric, variant, {"orders": orders, **settings})


def print_estimate_of_ways(groups: str, options: dict[str, Any]) -> int:
    """Print what querying the judges of a calibration would take, by judge and protocol; return the exit code."""
    from calipers.calibration.collect import judgeable_groups  # noqa: PLC0415 - --help stays quick
    from calipers.capacity.spending import Estimate, estimate_judging  # noqa: PLC0415 - likewise
    from calipers.cli.estimate import assumed_reply, print_estimate  # noqa: PLC0415 - likewise
    from calipers.config.flat_names import judge_arguments  # noqa: PLC0415 - likewise

    bad, tokens = BadLines(), options["reply_tokens"]
    parts: list[Spending] = []
    most: list[Spending] = []
    beside: dict[str, None] = {}
    ranges: dict[str, None] = {}
    shown = _groups_with_gold(groups, bad)
    for way in _ways(options):
        flat = way.options | {"judge": way.judge, "protocol": way.protocol, "rubric": way.rubric, "ledger": None}
        asked = judgeable_groups(shown, rubric=way.rubric)
        found = asyncio.run(estimate_judging(judge_arguments(flat), asked, reply_tokens=tokens))
        for one in (*found.spending, *found.most):
            one.name = ", ".join(filter(None, (one.name, way.protocol, way.prompt_variant)))
        parts += found.spending
        most += found.at_most.spending
        beside |= dict.fromkeys(found.beside)
        ranges |= dict.fromkeys(found.ranges)
    whole = Estimate(len(shown), tuple(parts), tuple(beside), tuple(most), tuple(ranges))
    print_estimate(whole, noun="groups", reply=assumed_reply(tokens), kept=options["ledger"])
    return 1 if bad.count else 0


def default_ledger(groups: str, options: dict[str, Any]) -> str | None:
    """Return the ledger of a calibration that names none, so that an interruption loses no paid answer.

    Judges that run in this process cost nothing, and need none.
    """
    if not any(provider_of(split_judge_name(name)[0]) or name.startswith("litellm/") for name in options["judge"]):
        return None
    return f"{options['save'] or Path(groups).name}.ledger.db"


def query_judges(
    groups: str, options: dict[str, Any], ledger: str | None, on_error: Callable[[InputError], None]
) -> list[JudgeAnswers]:
    """Query the judges about the groups and return their answers; print progress and costs to stderr.

    ``ledger`` is the default one, if the command names none. Lines that cannot be read are passed to ``on_error``,
    before any judge is asked.
    """
    from calipers.calibration.collect import (  # noqa: PLC0415 - likewise
        collect_judgments,
        judgeable_groups,
        require_askable,
    )
    from calipers.cli.progress import Finished, Report  # noqa: PLC0415 - likewise
    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - likewise

    shown = _groups_with_gold(groups, on_error)
    _warn_of_own_rubrics(shown, options)
    found = []
    default = {} if ledger is None else {"ledger": ledger}
    ways = list(_ways(options))
    several, names = len({way.protocol for way in ways}) > 1, short_names(way.judge for way in ways)
    for way in ways:  # before any judge is paid
        how = {"protocol": way.protocol, "rubric": way.rubric, **way.options}
        require_askable(way.judge, **how)
    for way in ways:
        total, finished = len(judgeable_groups(shown, rubric=way.rubric)), Finished()
        with Report(Terminal(stderr=True), total=total, title=way.title(several)) as report:
            finished.tell = report.finished
            asked = asyncio.run(
                collect_judgments(
                    shown, way.judge, protocol=way.protocol, rubric=way.rubric,
                    prompt_variant=way.prompt_variant, watchers=(finished,), **default, **way.options,
                )
            )  # fmt: skip
        print_unused(asked.results)
        found.append(asked)
        print_cost(asked.spent(), name_without_password(names[way.judge]), sent=not is_stand_in(way.judge))
        print_reasons(asked.results)
    return found


def _groups_with_gold(groups: str, on_error: Callable[[InputError], None]) -> list[TrajectoryGroup]:
    """Read the groups to ask judges about, before anything is spent.

    Without gold, print a warning. Raises InputError if no line can be read.
    """
    from calipers.inputs import read_groups  # noqa: PLC0415 - --help stays quick

    bad = 0

    def complain(error: InputError) -> None:
        nonlocal bad
        bad += 1
        on_error(error)

    shown = list(read_groups(groups, on_error=complain))
    if not shown and bad:
        raise InputError("no group in it can be read; nothing was asked", source=groups)
    if any(one.gold is not None for group in shown for one in group.trajectories):
        return shown
    print_message(
        "Warning: no trajectory has 'gold', so agreement cannot be measured: only bias, noise and repeatability are. "
        "If scores or rewards in the file are what you trust, name them 'gold'"
    )
    return shown


def _warn_of_own_rubrics(shown: Sequence[TrajectoryGroup], options: dict[str, Any]) -> None:
    own = sum(group.rubric is not None for group in shown)
    if own and options["rubric"]:
        print_message(f"Warning: {own:,} of {len(shown):,} groups have a rubric of their own; --rubric replaces it")

"""``calipers calibrate``: measures how far judges agree with gold scores."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import click

from calipers.backends.names import split_judge_name, url_without_password
from calipers.backends.providers.known import provider_of
from calipers.cli.calibration_output import (
    print_cost,
    print_missing_criteria,
    print_unused,
    require_writable,
    save_judgments,
)
from calipers.cli.calibration_report import print_report
from calipers.cli.command_options import (
    InputFile,
    RegisteredName,
    command_option,
    complete_judges,
    env_file_option,
    is_from_settings_file,
    is_typed,
)
from calipers.cli.estimate import estimate_options, require_estimate
from calipers.cli.judge_options import given_options, judge_option
from calipers.cli.messages import BadLines, print_message, tells_if_interrupted
from calipers.cli.overwriting import JUDGMENTS, add_force_option
from calipers.cli.withheld_keys import key_for
from calipers.config.flag_values import read_rubric_file
from calipers.errors import ConfigError
from calipers.registry import PROTOCOLS

if TYPE_CHECKING:
    from calipers.calibration import Calibration
    from calipers.calibration.cascade import CascadeTarget, Kind
    from calipers.calibration.costs import Measure
    from calipers.capacity.spending import Spending
    from calipers.rubric import Rubric
    from calipers.types import TrajectoryGroup

_LONGEST_NAME = 20
_ORDERS = {"pairwise": 2, "pointwise": 2}


@click.command(short_help="Measure judges against gold.")
@click.argument("groups", type=click.Path())
@command_option(
    "--judgments",
    type=InputFile(),
    metavar="FILE",
    help="Recorded judgments of these groups (.jsonl or .jsonl.gz).",
)
@command_option(
    "--format",
    metavar="NAME",
    help="The format of unparsed replies (raw_text) in --judgments, for lines that name no format, e.g. mt_bench.",
)
@command_option(
    "--judge",
    multiple=True,
    metavar="MODEL",
    shell_complete=complete_judges,
    help="Query this judge about the groups now. May be repeated: each judge is measured alone, and all as a panel.",
)
@command_option(
    "--protocol",
    multiple=True,
    default=("listwise",),
    metavar="NAME",
    shell_complete=RegisteredName(PROTOCOLS).shell_complete,
    help="How --judge is asked. May be repeated, to compare protocols and their costs. [default: listwise]",
)
@judge_option("expected")
@judge_option(
    "orders",
    default=None,
    show_default=False,
    help="Presentations of each group that --judge scores. [default: 4; pairwise 2, pointwise 2]",
)
@judge_option("samples")
@command_option(
    "--rubric",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="A text file with the standards. Given twice, it is also measured how far scores depend on the wording. "
    "Recorded judgments whose prompt variant is the file's name without its ending were asked with it.",
)
@judge_option(
    "grading",
    help="Labelled criteria: how --judge is asked, e.g. mode=all. May be repeated. [default: mode=per_criterion]",
)
@judge_option(
    "criteria",
    help="auto: --judge is asked twice about each group, without and with criteria that a model writes for its prompt. "
    "[default: off]",
)
@judge_option("criteria_writer", help="With --criteria: the model that writes them. [default: --judge]")
@judge_option("params")
@judge_option(
    "ledger",
    help="Record --judge's answers here: no answer is paid for twice, and runs can learn from it. "
    "[default: GROUPS.ledger.db in this folder, or FILE.ledger.db with --save FILE, for judges that cost something]",
)
@command_option(
    "--per-group",
    multiple=True,
    metavar="KIND=AMOUNT",
    help="What a group may cost in a run: tokens=20000, usd=0.01, shown=32 (transcripts read) or calls=4. The best way "
    "to ask within this limit is recommended. [default: the cheapest with 98.5 % of the best fidelity]",
)
@command_option(
    "--cascade",
    metavar="KIND=AMOUNT",
    help="Also find the threshold of a cascade: fidelity=0.97 keeps this share of the best judge's fidelity, with as "
    "few groups for it as possible; share=0.4 leaves it at most this share of the groups.",
)
@command_option(
    "--save", named=True, metavar="FILE", help="Write the judgments of --judge to a judgments file (.jsonl)."
)
@estimate_options
@add_force_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@env_file_option
def calibrate(groups: str, judgments: str | None, *, as_json: bool, **options: Any) -> int:
    """Measure how far judges agree with the gold scores in GROUPS, and how biased and noisy they are.

    GROUPS may also be labelled criteria in HealthBench's meta-evaluation schema: then balanced F1 is measured, per
    category and against each annotator.

    Judges are queried now (--judge), or their recorded judgments are read (--judgments), or both. Prints a table of
    judges with 95 % intervals, the figures of a panel of all of them, the best ways to ask at each price (single judges
    and panels, whose weights are learned from gold), findings, and a recommendation for calipers.toml.

    \b
    calipers calibrate groups.jsonl --judge openai/gpt-5-mini \\
      --judge vllm/qwen3@http://gpu1:8000/v1
    calipers calibrate groups.jsonl --judgments judgments.jsonl
    calipers calibrate groups.jsonl --judgments judgments.jsonl --json | jq .panel

    Exit code: 0 the report was written, 1 it was written but a line could not be read, 2 bad usage or a missing file.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.calibration import calibrate as measure  # noqa: PLC0415 - --help stays quick
    from calipers.calibration.criteria import is_labelled  # noqa: PLC0415 - likewise
    from calipers.calibration.records import read_judgments  # noqa: PLC0415 - likewise
    from calipers.cli.meta_evaluation import meta_evaluation  # noqa: PLC0415 - likewise

    if judgments is not None and not is_typed("judge"):
        options[
            "judge"
        ] = ()  # the judge that calipers.toml sets is for runs, and is not queried when only a file is read
    _require_source(judgments, options)
    if options["estimate"]:
        return _print_estimate(groups, options)
    _check_criteria(options)
    if is_labelled(groups):
        for name in ("criteria", "per_group", "cascade"):
            if is_typed(name):
                flag = f"--{name.replace('_', '-')}"
                raise ConfigError(f"{flag} is about groups with gold, and GROUPS are labelled criteria")
        return meta_evaluation(groups, judgments, options, as_json=as_json)
    if is_typed("grading"):
        raise ConfigError("--grading is about labelled criteria, and GROUPS are groups with gold")
    limit = dict(map(_read_limit, options["per_group"]))
    target = None if options["cascade"] is None else _read_target(options["cascade"])
    if options["save"] is not None:
        beside = {"the groups file": groups, "the judgments file": judgments, "the ledger": options["ledger"]}
        require_writable(options["save"], JUDGMENTS, force=options["force"], beside=beside)
    bad = BadLines()
    ledger = None if options["ledger"] else _default_ledger(groups, options)
    kept = options["ledger"] or ledger
    with tells_if_interrupted(
        "Nothing has been paid for."
        if kept is None
        else f"Answers are in the ledger {url_without_password(kept)}: run the same command again to continue."
    ):
        asked = _ask(groups, options, ledger) if options["judge"] else []
    if options["save"] is not None:
        save_judgments(options["save"], asked)
    recorded = () if judgments is None else read_judgments(judgments, format=options["format"], on_error=bad)
    files = {Path(path).stem: path for path in options["rubric"]}
    every = itertools.chain(asked, recorded)
    found = measure(groups, every, per_group=limit, rubrics=files, cascade=target, on_error=bad)
    _warn_of_no_cascade(found, asked_for=target is not None)
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        print_report(found)
    return 1 if bad.count else 0


def _require_source(judgments: str | None, options: dict[str, Any]) -> None:
    require_estimate(options)
    if options["judge"]:
        return
    if options["estimate"]:
        raise ConfigError("--estimate is about judges to query (--judge); reading recorded judgments costs nothing")
    if judgments is None:
        raise ConfigError("name what to measure: a judge to query (--judge), or recorded judgments (--judgments FILE)")


def _check_criteria(options: dict[str, Any]) -> None:
    """Read --criteria; that of calipers.toml is for runs. Raises ConfigError."""
    if is_from_settings_file("criteria"):
        options["criteria"] = "off"
    if options["criteria"] == "evolving":
        raise ConfigError(
            "--criteria evolving: these criteria depend on the groups that were judged before, so there is no one way "
            "to measure; --criteria auto measures those that they begin with"
        )
    if options["criteria"] != "off" and not options["judge"]:
        raise ConfigError("--criteria is about a judge to query: name it with --judge")
    if options["criteria_writer"] is not None and options["criteria"] == "off":
        if not is_from_settings_file("criteria_writer"):
            raise ConfigError("--criteria-writer does nothing without --criteria auto")
        options["criteria_writer"] = None


def _warn_of_no_cascade(found: Calibration, *, asked_for: bool) -> None:
    if asked_for and found.cascade is None:
        print_message(
            "Warning: --cascade: no cascade was tried. It needs two judges with scores by one protocol (not pairwise) "
            "for the same groups with gold, and more such groups"
        )


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to ask a judge: what ``collect_judgments`` takes."""

    judge: str
    protocol: str
    rubric: str | Rubric | None
    prompt_variant: str | None
    options: dict[str, Any]

    @property
    def title(self) -> str:
        """The way in a few words, for the progress line."""
        return " ".join(filter(None, (_short_name(self.judge), self.protocol, self.prompt_variant)))


def _short_name(judge: str) -> str:
    """Return the model's name without provider and address, as a progress line has room for it."""
    model = split_judge_name(judge)[0].rpartition("/")[2]
    return model if len(model) <= _LONGEST_NAME else f"{model[: _LONGEST_NAME - 1]}…"


def _ways(options: dict[str, Any]) -> Iterator[_Way]:
    from calipers.calibration.written_variants import with_criteria  # noqa: PLC0415 - --help stays quick

    settings = given_options(options, "samples", "params", "expected", "ledger")
    settings["experience"] = False  # measure the judge without what an earlier run learned about it
    variants: list[tuple[str | None, str | Rubric | None]] = [
        (Path(path).stem, read_rubric_file(path)) for path in options["rubric"]
    ] or [(None, None)]
    criteria = (False, True) if options["criteria"] == "auto" else (False,)
    ways = itertools.product(options["judge"], dict.fromkeys(options["protocol"]), variants, criteria)
    for name, protocol, (variant, rubric), written in ways:
        orders = options["orders"] or _ORDERS.get(protocol, 4)
        if protocol == "pairwise" and len(options["protocol"]) > 1:
            orders = min(orders, 2)  # a pair has only two orders, and the other protocols may be compared with it
        own = given_options(options, "criteria", "criteria_writer") if written else {}
        called = with_criteria(variant) if written else variant
        yield _Way(name, protocol, rubric, called, {"orders": orders, **settings, **own})


def _print_estimate(groups: str, options: dict[str, Any]) -> int:
    from calipers.calibration.collect import judgeable_groups  # noqa: PLC0415 - --help stays quick
    from calipers.capacity.spending import Estimate, estimate_judging  # noqa: PLC0415 - likewise
    from calipers.cli.estimate import assumed_reply, print_estimate  # noqa: PLC0415 - likewise
    from calipers.config.flat_names import judge_arguments  # noqa: PLC0415 - likewise
    from calipers.inputs import read_groups  # noqa: PLC0415 - likewise

    _check_criteria(options)
    bad, tokens = BadLines(), options["reply_tokens"]
    parts: list[Spending] = []
    beside: dict[str, None] = {}
    shown = list(read_groups(groups, on_error=bad))
    for way in _ways(options):
        flat = way.options | {"judge": way.judge, "protocol": way.protocol, "rubric": way.rubric, "ledger": None}
        asked = judgeable_groups(shown, rubric=way.rubric)
        found = asyncio.run(estimate_judging(judge_arguments(flat), asked, reply_tokens=tokens))
        for one in found.spending:
            one.name = ", ".join(filter(None, (one.name, way.protocol, way.prompt_variant)))
        parts += found.spending
        beside |= dict.fromkeys(found.beside)
    whole = Estimate(len(shown), tuple(parts), tuple(beside))
    print_estimate(whole, noun="groups", reply=assumed_reply(tokens), kept=options["ledger"])
    return 1 if bad.count else 0


def _default_ledger(groups: str, options: dict[str, Any]) -> str | None:
    """Return the ledger of a calibration that names none, so that an interruption loses no paid answer.

    Judges that run in this process cost nothing, and need none.
    """
    if not any(provider_of(split_judge_name(name)[0]) or name.startswith("litellm/") for name in options["judge"]):
        return None
    return f"{options['save'] or Path(groups).name}.ledger.db"


def _ask(groups: str, options: dict[str, Any], ledger: str | None) -> list[dict[str, Any]]:
    """Query the judges about the groups and return their judgments; print progress and costs to stderr.

    ``ledger`` is the default one, if the command names none.
    """
    from calipers.calibration.collect import (  # noqa: PLC0415 - likewise
        collect_judgments,
        judgeable_groups,
        require_askable,
    )
    from calipers.cli.progress import Finished, Report  # noqa: PLC0415 - likewise
    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - likewise
    from calipers.inputs import read_groups  # noqa: PLC0415 - likewise
    from calipers.ledger.unused import no_unused_ledger  # noqa: PLC0415 - likewise

    shown = list(read_groups(groups, on_error=lambda _: None))  # a bad group is reported when agreement is measured
    _warn_of_own_rubrics(shown, options)
    judgments = []
    default = {} if ledger is None else {"ledger": ledger, "probe": False}
    ways = list(_ways(options))
    for way in ways:  # before any judge is paid
        how = {"protocol": way.protocol, "rubric": way.rubric, **way.options}
        require_askable(way.judge, api_key=key_for(way.judge), **how)
    for way in ways:
        total, finished = len(judgeable_groups(shown, rubric=way.rubric)), Finished()
        with no_unused_ledger(ledger), Report(Terminal(stderr=True), total=total, title=way.title) as report:
            finished.tell = report.finished
            asked = asyncio.run(
                collect_judgments(
                    shown, way.judge, protocol=way.protocol, rubric=way.rubric, api_key=key_for(way.judge),
                    prompt_variant=way.prompt_variant, watchers=(finished,), **default, **way.options,
                )
            )  # fmt: skip
        print_unused(asked.results)
        print_missing_criteria(asked.results)
        judgments += asked.judgments
        print_cost(asked.spent())
    return judgments


def _warn_of_own_rubrics(shown: Sequence[TrajectoryGroup], options: dict[str, Any]) -> None:
    own = f"{sum(group.rubric is not None for group in shown):,} of {len(shown):,} groups have a rubric of their own"
    if own.startswith("0 "):
        return
    if options["rubric"]:
        print_message(f"Warning: {own}; --rubric replaces it")
    elif options["criteria"] == "auto":
        print_message(f"Warning: {own}: no criteria are written for them")


def _read_limit(text: str) -> tuple[Measure, float]:
    """Read a limit given with ``--per-group`` as ``KIND=AMOUNT``. Raises ConfigError."""
    from calipers.calibration.costs import Measure  # noqa: PLC0415 - --help stays quick

    kind, _, amount = text.partition("=")
    try:
        most = float(amount)
    except ValueError:
        most = math.nan
    if kind not in get_args(Measure) or not 0 < most < math.inf:
        raise ConfigError(f"--per-group {text}: write tokens=20000, usd=0.01, shown=32 or calls=4")
    return cast("Measure", kind), most


def _read_target(text: str) -> CascadeTarget:
    """Read the target of a cascade, given with ``--cascade`` as ``KIND=AMOUNT``. Raises ConfigError."""
    from calipers.calibration.cascade import CascadeTarget, Kind  # noqa: PLC0415 - --help stays quick

    kind, _, amount = text.partition("=")
    try:
        share = float(amount)
    except ValueError:
        share = math.nan
    if kind not in get_args(Kind) or not 0 < share < 1:
        raise ConfigError(f"--cascade {text}: write fidelity=0.97 or share=0.4, with a number between 0 and 1")
    return CascadeTarget(cast("Kind", kind), share)

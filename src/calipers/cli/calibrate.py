"""``calipers calibrate``: measures how far judges agree with gold scores."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import click

from calipers.backends.names import name_without_password, split_judge_name, url_without_password
from calipers.cli.calibration_output import (
    require_writable,
    save_judgments,
    save_recommendation,
)
from calipers.cli.calibration_queries import default_ledger, print_estimate_of_ways, query_judges
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
from calipers.cli.judge_options import judge_option
from calipers.cli.messages import BadLines, tells_if_interrupted
from calipers.cli.output import add_force_option
from calipers.errors import ConfigError, InputError
from calipers.registry import PROTOCOLS

if TYPE_CHECKING:
    from calipers.calibration import Calibration
    from calipers.calibration.costs import Measure


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
@judge_option("params")
@judge_option("price")
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
    "--save", named=True, metavar="FILE", help="Write the judgments of --judge to a judgments file (.jsonl)."
)
@command_option(
    "--recommendation",
    named=True,
    metavar="FILE",
    help="Write the recommendation to a TOML file, for calipers --config FILE and, in Python, Judge.of.",
)
@estimate_options
@add_force_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
@env_file_option
def calibrate(groups: str, judgments: str | None, *, as_json: bool, **options: Any) -> int:
    """Measure how far judges agree with the gold scores in GROUPS, and how biased and noisy they are.

    Name judges with --judge PROVIDER/MODEL, and those on a server of your own with vllm/NAME@URL, or ollama/NAME.

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
    _check_price(options)
    if options["estimate"]:
        return print_estimate_of_ways(groups, options)
    if is_labelled(groups):
        _require_about_criteria()
        return meta_evaluation(groups, judgments, options, as_json=as_json)
    if is_typed("grading"):
        raise ConfigError("--grading is about labelled criteria, and GROUPS are groups with gold")
    limit = dict(map(_read_limit, options["per_group"]))
    _require_writable(groups, judgments, options)
    bad = _Once(BadLines())
    ledger = None if options["ledger"] else default_ledger(groups, options)
    kept = options["ledger"] or ledger
    with tells_if_interrupted(
        "Nothing has been paid for."
        if kept is None
        else f"Answers are in the ledger {url_without_password(kept)}: run the same command again to continue."
    ):
        answers = query_judges(groups, options, ledger, bad) if options["judge"] else []
    asked = [said for one in answers for said in one.judgments]
    settings = {key: how for one in answers for key, how in one.asked_by_key.items()}
    if options["save"] is not None:
        save_judgments(options["save"], asked)
    recorded = () if judgments is None else read_judgments(judgments, format=options["format"], on_error=bad)
    files = {Path(path).stem: path for path in options["rubric"]}
    every = itertools.chain(asked, recorded)
    found = measure(groups, every, per_group=limit, rubrics=files, asked=settings, on_error=bad)
    _require_figures(found, judgments, bad)
    _print(found, options["recommendation"], as_json=as_json)
    return 1 if bad.told else 0


class _Once:
    """Reports each line that cannot be read once: groups are read to ask judges, and again to measure agreement."""

    def __init__(self, tell: BadLines) -> None:
        self._tell = tell
        self.told: set[str] = set()

    def __call__(self, error: InputError) -> None:
        if str(error) not in self.told:
            self.told.add(str(error))
            self._tell(error)


def _print(found: Calibration, recommendation: str | None, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        print_report(found)
    if recommendation is not None:
        save_recommendation(recommendation, found)


def _require_about_criteria() -> None:
    for name in ("per_group", "recommendation"):
        if is_typed(name):
            flag = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{flag} is about groups with gold, and GROUPS are labelled criteria")


def _require_writable(groups: str, judgments: str | None, options: dict[str, Any]) -> None:
    """Raise ConfigError, before a judge is paid, for a file that cannot be written or must not be replaced."""
    beside = {"the groups file": groups, "the judgments file": judgments, "the ledger": options["ledger"]}
    if options["save"] is not None:
        require_writable(options["save"], force=options["force"], beside=beside)
    if options["recommendation"] is not None:
        beside |= {"the file of --save": options["save"]}
        require_writable(options["recommendation"], force=options["force"], beside=beside, flag="--recommendation")


def _require_figures(found: Calibration, judgments: str | None, bad: _Once) -> None:
    if judgments is not None and bad.told and not found.judges:
        raise InputError("no judgment in it is about a group that could be read", source=judgments)


def _require_source(judgments: str | None, options: dict[str, Any]) -> None:
    require_estimate(options)
    if options["judge"]:
        _require_named_once(options["judge"])
        return
    if options["estimate"]:
        raise ConfigError("--estimate is about judges to query (--judge); reading recorded judgments costs nothing")
    if judgments is None:
        raise ConfigError("name what to measure: a judge to query (--judge), or recorded judgments (--judgments FILE)")


def _require_named_once(judges: Sequence[str]) -> None:
    """Raise ConfigError for a judge that is named twice: its answers would count twice."""
    known: set[tuple[str, str]] = set()
    for judge in map(name_without_password, judges):
        name, url = split_judge_name(judge)
        if (one := (name, (url or "").rstrip("/"))) in known:
            raise ConfigError(f"--judge {judge}: is named twice; to ask a judge more often, use --samples or --orders")
        known.add(one)


def _check_price(options: dict[str, Any]) -> None:
    """Read --price; that of calipers.toml is for the judge of runs, and not for several. Raises ConfigError."""
    if options["price"] is None or len(options["judge"]) == 1:
        return
    if not is_from_settings_file("price"):
        raise ConfigError("--price is for one judge to query: name one with --judge, and measure others by themselves")
    options["price"] = None


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

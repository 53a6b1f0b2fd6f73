"""``calipers calibrate``: measures how far judges agree with gold scores, or with people's labels of criteria."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast, get_args

from calipers.backends.connect import find_backend
from calipers.backends.names import (
    is_stand_in,
    name_without_password,
    short_names,
    split_judge_name,
    url_without_password,
)
from calipers.backends.providers.known import provider_of
from calipers.calibration import Calibration
from calipers.calibration import calibrate as measure
from calipers.calibration.collect import JudgeAnswers, collect_judgments, judgeable_groups, require_askable
from calipers.calibration.criteria import as_verdicts, collect_verdicts, is_labelled, meta_evaluate, read_labelled
from calipers.calibration.records import Measure, as_records
from calipers.capacity.spending import Estimate, estimate_judging
from calipers.cli.calibration_report import print_meta_evaluation, print_report
from calipers.cli.estimate import assumed_reply, print_estimate, require_estimate
from calipers.cli.messages import BadLines, print_message, reason_lines, tells_if_interrupted
from calipers.cli.options import given_options, is_typed
from calipers.cli.output import json_line, print_json, require_replaceable, write_text
from calipers.cli.progress import Report
from calipers.cli.terminal import Terminal
from calipers.config.flag_values import read_rubric_file
from calipers.config.flat_names import judge_arguments
from calipers.errors import ConfigError, InputError
from calipers.inputs import read_groups
from calipers.rubric import Rubric
from calipers.rubric.unused_standards import UNUSED
from calipers.types import TrajectoryGroup
from calipers.types.encoding import counted

_ORDERS: Final = {"pairwise": 2, "pointwise": 2}
_RECOMMENDED: Final = "# Recommended by calipers calibrate.\n"
"""The first line of a file that --recommendation writes."""
_ABOUT_GROUPS: Final = ("protocol", "orders", "rubric", "expected", "per_group", "recommendation")


def calibrate(groups: str, judgments: str | None, *, as_json: bool, **options: Any) -> int:
    """Measure judges, print the report, and return the exit code."""
    if judgments is not None and not is_typed("judge"):
        options["judge"] = ()  # the judge that calipers.toml sets is for runs
    _require_source(judgments, options)
    bad = BadLines()
    if not options["estimate"] and is_labelled(groups):
        return _measure_criteria(groups, judgments, options, bad, as_json=as_json)
    if is_typed("grading"):
        raise ConfigError("--grading is for labelled criteria, and GROUPS has none: leave it out")
    limit = dict(map(_read_limit, options["per_group"]))
    every = _read_groups(groups, bad, asked=bool(options["judge"]))
    if options["estimate"]:
        _print_estimate(every, options)
        return int(bool(bad.count))
    _require_writable(groups, judgments, options)
    answers = _query_judges(groups, every, options)
    asked = [judgment for judge in answers for judgment in judge.judgments]
    _save_judgments(options["save"], asked)
    recorded = () if judgments is None else as_records(judgments, on_error=bad)
    report = measure(
        every,
        itertools.chain(asked, recorded),
        per_group=limit,
        rubrics={Path(path).stem: path for path in options["rubric"]},
        asked={key: how for judge in answers for key, how in judge.settings_by_key.items()},
        on_error=bad,
    )
    if bad.count and not report.judges:
        raise InputError("none of its judgments can be read and belongs to a group in GROUPS", source=judgments)
    if as_json:
        print_json(report.to_dict())
    else:
        print_report(report)
    is_saved = _save_recommendation(options["recommendation"], report)
    return int(bool(bad.count) or not is_saved or all(judge.failure_rate == 1 for judge in report.judges))


def _require_source(judgments: str | None, options: dict[str, Any]) -> None:
    """Raise ConfigError for options that ask nothing, or contradict each other."""
    require_estimate(options)
    if not options["judge"]:
        if options["estimate"]:
            raise ConfigError("--estimate needs a judge to query (--judge); reading recorded judgments costs nothing")
        if judgments is None:
            raise ConfigError(
                "name what to measure: a judge to query (--judge), or recorded judgments (--judgments FILE)"
            )
    known: set[tuple[str, str]] = set()
    for judge in map(name_without_password, options["judge"]):
        name, url = split_judge_name(judge)
        if (same := (name, (url or "").rstrip("/"))) in known:  # its answers would count twice
            raise ConfigError(f"--judge {judge}: is named twice; to ask a judge more often, use --samples or --orders")
        known.add(same)
    if options["price"] is not None and len(options["judge"]) != 1:
        if is_typed("price"):
            raise ConfigError(
                "--price is for one judge: name one with --judge, and measure other judges in another run"
            )
        options["price"] = None


def _read_limit(text: str) -> tuple[Measure, float]:
    """Read a limit given with ``--per-group`` as ``KIND=AMOUNT``. Raises ConfigError."""
    kind, _, amount = text.partition("=")
    try:
        most = float(amount)
    except ValueError:
        most = math.nan
    if kind not in get_args(Measure) or not 0 < most < math.inf:
        raise ConfigError(f"--per-group {text}: write tokens=20000, usd=0.01, shown=32 or calls=4")
    return cast("Measure", kind), most


def _read_groups(path: str, bad: BadLines, *, asked: bool) -> list[TrajectoryGroup]:
    """Read the groups before anything is spent; warn if there is no gold, and judges are to be ``asked``.

    Raises InputError if no line can be read.
    """
    groups = list(read_groups(path, on_error=bad))
    if not groups and bad.count:
        raise InputError("no group in it can be read; nothing was asked", source=path)
    if asked and all(trajectory.gold is None for group in groups for trajectory in group.trajectories):
        print_message(
            "Warning: no trajectory has 'gold', so agreement cannot be measured: only bias, noise and repeatability "
            "are. If scores or rewards in the file are what you trust, name them 'gold'"
        )
    return groups


def _require_writable(groups: str, judgments: str | None, options: Mapping[str, Any]) -> None:
    """Raise ConfigError, before a judge is paid, for a file that cannot be written or must not be replaced."""
    beside = {"the groups file": groups, "the judgments file": judgments, "the ledger": options["ledger"]}
    for name in ("save", "recommendation"):
        if (path := options[name]) is not None:
            require_replaceable(f"--{name}", path, force=options["force"], beside=beside)
            beside[f"the file of --{name}"] = path


def _save_judgments(path: str | None, judgments: Sequence[Mapping[str, Any]]) -> None:
    if path is not None:
        write_text("--save", path, "".join(map(json_line, judgments)))


def _save_recommendation(path: str | None, report: Calibration) -> bool:
    """Write the recommendation, and say so. Returns False if there is none: a run would take an empty file for one."""
    if path is None:
        return True
    if report.choice is None or not report.choice.is_usable:
        print_message(f"Warning: --recommendation {path}: not written, since there is no recommendation")
        return False
    write_text("--recommendation", path, _RECOMMENDED + report.recommendation)
    print_message(f"Recommendation in {path}: calipers --config {path} score GROUPS -o OUT")
    for judge in dict.fromkeys(report.choice.way.judges):
        try:
            find_backend(judge, api_key="unused" if provider_of(split_judge_name(judge)[0]) else None)
        except ConfigError as error:
            print_message(f"Warning: that command will not run until 'judge' in {path} is changed: {error}")
    return True


@dataclass(frozen=True, slots=True)
class _Query:
    """One way to ask a judge: what ``collect_judgments`` takes."""

    judge: str
    protocol: str
    rubric: str | Rubric | None
    prompt_variant: str | None
    options: dict[str, Any]

    @property
    def title(self) -> str:
        """The way in a few words: the model without provider and address, as a progress line has room for it."""
        model = split_judge_name(self.judge)[0].rpartition("/")[2]
        return " ".join(filter(None, (model[:20], self.protocol, self.prompt_variant)))


def _queries(options: Mapping[str, Any]) -> Iterator[_Query]:
    settings = given_options(options, "samples", "params", "price", "expected", "ledger")
    settings["experience"] = False  # measure the judge without what an earlier run learned about it
    variants: list[tuple[str | None, str | Rubric | None]] = [
        (Path(path).stem, read_rubric_file(path)) for path in options["rubric"]
    ] or [(None, None)]
    protocols = tuple(dict.fromkeys(options["protocol"])) or ("listwise",)
    for name, protocol, (variant, rubric) in itertools.product(options["judge"], protocols, variants):
        orders = options["orders"] or _ORDERS.get(protocol, 4)
        if protocol == "pairwise" and len(protocols) > 1:
            orders = min(orders, 2)  # a pair has only two orders, and the other protocols may be compared with it
        yield _Query(name, protocol, rubric, variant, {"orders": orders, **settings})


def _print_estimate(groups: Sequence[TrajectoryGroup], options: Mapping[str, Any]) -> None:
    """Print what querying the judges would take, by judge and protocol."""
    tokens, parts = options["reply_tokens"], []
    for query in _queries(options):
        named = {"judge": query.judge, "protocol": query.protocol, "rubric": query.rubric, "ledger": None}
        asked = judgeable_groups(groups, rubric=query.rubric)
        estimate = asyncio.run(estimate_judging(judge_arguments(query.options | named), asked, reply_tokens=tokens))
        for spending in estimate.spending:
            spending.name = ", ".join(filter(None, (spending.name, query.protocol, query.prompt_variant)))
        parts.append(estimate)
    whole = Estimate(
        len(groups),
        tuple(spending for part in parts for spending in part.spending),
        tuple(dict.fromkeys(text for part in parts for text in part.beside)),
    )
    print_estimate(whole, noun="groups", reply=assumed_reply(tokens), kept=options["ledger"])


def _query_judges(path: str, groups: Sequence[TrajectoryGroup], options: Mapping[str, Any]) -> list[JudgeAnswers]:
    """Query the judges about the groups of the file at ``path`` and return their answers; print progress and costs."""
    replaced = sum(group.rubric is not None for group in groups)
    if replaced and options["rubric"]:
        print_message(
            f"Warning: {replaced:,} of {len(groups):,} groups have a rubric of their own; --rubric replaces it"
        )
    ledger = None if options["ledger"] else _default_ledger(path, options)
    queries = list(_queries(options))
    names = short_names(query.judge for query in queries)
    for query in queries:  # before any judge is paid
        require_askable(query.judge, protocol=query.protocol, rubric=query.rubric, **query.options)
    kept = options["ledger"] or ledger
    text = "Nothing has been paid for."
    if kept is not None:
        text = f"Answers are in the ledger {url_without_password(kept)}: run the same command again to continue."
    answers = []
    with tells_if_interrupted(text):
        for query in queries:
            total = len(judgeable_groups(groups, rubric=query.rubric))
            with Report(Terminal(stderr=True), total=total, title=query.title) as progress:
                asked = collect_judgments(
                    groups,
                    query.judge,
                    protocol=query.protocol,
                    rubric=query.rubric,
                    prompt_variant=query.prompt_variant,
                    watchers=(progress,),
                    **({} if ledger is None else {"ledger": ledger}),
                    **query.options,
                )
                answers.append(asyncio.run(asked))
            _print_cost(answers[-1], names[query.judge], sent=not is_stand_in(query.judge))
    return answers


def _default_ledger(groups: str, options: Mapping[str, Any]) -> str | None:
    """Return the ledger of a command that names none, so that an interruption loses no paid answer.

    Judges that run in this process cost nothing, and need none.
    """
    if not any(provider_of(split_judge_name(name)[0]) or name.startswith("litellm/") for name in options["judge"]):
        return None
    return f"{options['save'] or Path(groups).name}.ledger.db"


def _print_cost(answers: JudgeAnswers, name: str, *, sent: bool) -> None:
    """Print what querying a judge cost, which parts of the groups it did not see, and why scores are missing.

    ``sent`` is False if the judge, and all that helps it, answers within this process.
    """
    notes = Counter(note for result in answers.results for note in set(result.warnings) if note.startswith(UNUSED))
    for note, count in notes.items():
        print_message(f"Warning: {counted(count, 'group')}: {note}")
    count, usage = answers.calls, answers.usage
    parts = [counted(count, "answer")]
    parts += [f"{answers.reused:,} of them from the ledger"] if answers.reused else []
    if not sent or answers.reused >= count:
        parts.append("nothing was sent")
    else:
        cost = "cost unknown" if usage.cost_usd is None else f"cost ${usage.cost_usd:,.4f}"
        paid = " as first paid" if answers.reused else ""
        parts += [f"{usage.input_tokens:,} tokens in", f"{usage.output_tokens:,} out", cost + paid]
    if answers.unscored:
        parts.append(f"{counted(answers.unscored, 'trajectory', 'trajectories')} without a score")
    print_message(f"{name_without_password(name)}: {', '.join(parts)}")
    missing = (
        trajectory.reason
        for result in answers.results
        for trajectory in result.trajectories
        if trajectory.reward is None
    )
    if answers.protocol != "checklist":
        for line in reason_lines(Counter(reason or "no reason" for reason in missing), 3):
            print_message(f"  {line}")


def _measure_criteria(
    path: str, verdicts: str | None, options: Mapping[str, Any], bad: BadLines, *, as_json: bool
) -> int:
    """Measure agreement on labelled criteria, print it, and return the exit code."""
    for name in filter(is_typed, _ABOUT_GROUPS):
        raise ConfigError(f"--{name.replace('_', '-')} is for groups, and {path} has labelled criteria: leave it out")
    _require_writable(path, verdicts, options)
    rows = list(read_labelled(path, on_error=bad))
    if not rows:
        raise InputError("no row of it can be read", source=path)
    settings = {**given_options(options, "grading", "samples", "params", "price", "ledger"), "experience": False}
    for name in options["judge"]:  # before any judge is paid
        require_askable(name, protocol="checklist", **settings)
    asked: list[dict[str, Any]] = []
    names = short_names(options["judge"])
    for name in options["judge"]:
        answers = asyncio.run(collect_verdicts(rows, name, **settings))
        _print_cost(answers, names[name], sent=not is_stand_in(name))
        asked += answers.judgments
    _save_judgments(options["save"], asked)
    recorded = () if verdicts is None else as_verdicts(verdicts, on_error=bad)
    report = meta_evaluate(rows, itertools.chain(asked, recorded), on_error=bad)
    if as_json:
        print_json(report.to_dict())
    else:
        print_meta_evaluation(report)
    return int(bool(bad.count) or not any(judge.graded for judge in report.judges))

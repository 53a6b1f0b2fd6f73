"""``calipers rubric``: drafts a rubric from groups, checks one, and scores a data set by its rubrics."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from itertools import islice
from typing import Any

import click

from calipers.cli.messages import print_message, reason_lines
from calipers.cli.options import EMBEDDED, given_options
from calipers.cli.output import print_json, require_replaceable, write_text
from calipers.drafting import draft as drafted
from calipers.drafting.audit import COMPARED, audit, finding
from calipers.drafting.criteria import rubric_toml
from calipers.errors import ConfigError, InputError
from calipers.inputs import read_groups, read_rubric
from calipers.inputs.records import read_json_lines
from calipers.ledger import open_ledger
from calipers.rubric.formulas import Met, lowest_score
from calipers.rubric.tag_scores import OVERALL, GradedExample, tag_scores
from calipers.types import Rubric, Trajectory, TrajectoryGroup
from calipers.types.encoding import counted, printable
from calipers.verifiers.rubric_rules import require_rules


def check(file: str, **options: Any) -> int:
    """Print a rubric's criteria, audit it on the answers of a groups file if one is named; return the exit code."""
    rubric = read_rubric(file)
    if (options["on"] is None) != (options["judge"] is None):
        raise ConfigError("--on audits a rubric with a judge: give both --on GROUPS and --judge, or neither")
    _require_model(options["judge"] or "")
    try:
        require_rules(rubric)
    except ConfigError as error:
        raise InputError(str(error), source=file) from None
    click.echo(printable(rubric.title), nl=bool(rubric.title))
    width = max(len(printable(criterion.id)) for criterion in rubric.criteria)
    for criterion in rubric.criteria:
        marks = [*(["veto"] if criterion.veto else []), *(["rule"] if criterion.rule else []), *criterion.tags]
        text = f"{criterion.text} ({', '.join(marks)})" if marks else criterion.text
        click.echo(f"{printable(criterion.id):{width}}  {criterion.points:>+6g}  {printable(' '.join(text.split()))}")
    lowest = lowest_score(rubric, "healthbench")
    click.echo(f"{counted(len(rubric.criteria), 'criterion', 'criteria')}; scores from {lowest:.3g} to 1 (healthbench)")
    return 0 if options["on"] is None else asyncio.run(_audit(rubric, options["on"], options))


async def _audit(rubric: Rubric, groups: str, options: dict[str, Any]) -> int:
    """Print how the reward of answers made worse on purpose changes, and return the exit code."""
    problems: list[str] = []
    few = list(islice(read_groups(groups, on_error=lambda error: problems.append(str(error))), options["first"]))
    named = given_options(options, "ledger", "max_tokens", "concurrency", "params")
    try:
        changes, reasons = await audit(few, rubric, options["judge"], base_url=options["base_url"], **named)
    except InputError as error:
        raise InputError(str(error), source=groups) from None
    for line in (*(f"Warning: {problem}" for problem in problems), *reason_lines(reasons, 3)):
        print_message(line)
    findings = {kind: finding(kind, counts) for kind, counts in changes.items()}
    click.echo(f"\n{'answer':14}  {'reward, beside':14}  fell  same  rose  unscored")
    for kind, (better, _) in COMPARED.items():
        counts = "  ".join(f"{changes[kind][name]:>4}" for name in ("fell", "same", "rose", "unscored"))
        click.echo(f"{kind:14}  {better:14}  {counts}      {findings[kind]}".rstrip())
    weak = [kind for kind, weakness in findings.items() if weakness == "weak"]
    none = "not known" if "unknown" in findings.values() else "none"
    click.echo(f"rewarded though worse: {', '.join(weak) or none}")
    return int(any(findings.values()) or bool(problems or reasons))


def _require_model(judge: str) -> None:
    if judge.partition(":")[0] == EMBEDDED:
        raise ConfigError("--judge embedded: it counts surface features and reads no criteria; name a real judge")


def draft(groups: str, out: str, **options: Any) -> int:
    """Let a judge propose criteria and test them; return the exit code."""
    _require_model(options["judge"])
    beside = {"the groups file": groups, "the ledger": options["ledger"]}
    require_replaceable("--out", out, force=options["force"], beside=beside)
    return asyncio.run(_draft(groups, out, options))


async def _draft(groups: str, out: str, options: dict[str, Any]) -> int:
    problems: list[str] = []
    few = list(islice(read_groups(groups, on_error=lambda error: problems.append(str(error))), options["first"]))
    if not few:
        raise InputError("no group in it can be read", source=groups)
    if own_rubrics := sum(group.rubric is not None for group in few):
        print_message(f"Note: {own_rubrics} of {len(few)} groups have a rubric of their own, which is not used")
    where = options["ledger"] or (None if out == "-" else f"{out}.ledger.db")
    with nullcontext() if where is None else open_ledger(where) as ledger:
        result = await drafted(
            few,
            options["judge"],
            criteria=options["criteria"],
            ledger=ledger,
            base_url=options["base_url"],
            **given_options(options, "max_tokens", "concurrency", "params"),
        )
    for problem in (*problems, *result.problems):
        print_message(f"Warning: {problem}")
    summary = f"{counted(result.proposed, 'proposal')}, {len(result.kept)} kept, {len(result.dropped)} dropped"
    if not result.kept:
        why = "; ".join(reason_lines(Counter(str(figures.fault()) for figures in result.dropped), 3))
        raise InputError(f"no criterion proved useful ({summary}): {why}")
    title = f"Drafted by {options['judge']} from {len(few)} groups: {summary}."
    write_text("--out", out, rubric_toml(result.kept, result.dropped, title=title))
    print_message(f"{summary}; calipers rubric check {out} shows them.")
    return int(bool(problems or result.problems))


def score(groups: str, result: str, default: str | None, *, as_json: bool) -> int:
    """Compute a data set's scores, and return the exit code."""
    read = {group.group_id: group for group in read_groups(groups)}
    examples = list(_examples(read, result, None if default is None else read_rubric(default)))
    if not examples:
        raise InputError("no group in it has a rubric with criteria; give one with --rubric FILE", source=groups)
    if not any(example.verdicts for example in examples):
        raise InputError("holds no verdicts on criteria; write it with score --protocol checklist", source=result)
    scores = tag_scores(examples)
    if as_json:
        kept = ("mean", "stderr", "graded", "ungraded")
        print_json({name: {key: getattr(figures, key) for key in kept} for name, figures in scores.items()})
    else:
        shown = {" ".join(printable(name).split()): figures for name, figures in scores.items()}
        width = max(map(len, shown))
        click.echo(f"{'':{width}}  score  stderr  graded  ungraded")
        for name, figures in shown.items():
            mean, stderr = ("-" if value is None else f"{value:.3f}" for value in (figures.mean, figures.stderr))
            click.echo(f"{name:{width}}  {mean:>5}  {stderr:>6}  {figures.graded:>6}  {figures.ungraded:>8}")
    ungraded = scores[OVERALL].ungraded
    if ungraded:
        print_message(f"{counted(ungraded, 'response')} with a criterion that has no verdict: not in the overall score")
    return int(bool(ungraded))


def _examples(groups: Mapping[str, TrajectoryGroup], result: str, default: Rubric | None) -> Iterator[GradedExample]:
    """Yield each graded response of a result file; groups without a rubric have the ``default``.

    Raises InputError naming the line that does not fit the groups.
    """
    verdicts: dict[str, dict[str, Mapping[str, Any]]] = {}
    for line, row in read_json_lines(result):
        try:
            name, stated = _verdicts(groups, row, default)
        except InputError as error:
            raise InputError(str(error), source=result, line=line) from None
        if verdicts.setdefault(name, stated) is not stated:
            raise InputError(f"group {name!r} is there a second time", source=result, line=line)
    for name, group in groups.items():  # also those that RESULT does not have: they are not graded
        tags = group.extra.get("example_tags")
        tags = tuple(map(str, tags)) if isinstance(tags, list | tuple) else ()
        for trajectory in group.trajectories:
            if (asked := _rubric_of(group, trajectory) or default) is not None:
                by_criterion = verdicts.get(name, {}).get(trajectory.id, {})
                yield GradedExample(asked, {key: _met(value) for key, value in by_criterion.items()}, tags)


def _verdicts(
    groups: Mapping[str, TrajectoryGroup], row: Mapping[str, Any] | str, default: Rubric | None
) -> tuple[str, dict[str, Mapping[str, Any]]]:
    """Return a result's group, and what it says of each criterion by response. Raises InputError for a foreign row."""
    if isinstance(row, str):
        raise InputError(row)
    group, rows = groups.get(str(row.get("group_id"))), row.get("trajectories")
    if group is None:
        raise InputError(f"group {row.get('group_id')!r} is not in GROUPS")
    if not isinstance(rows, list) or not all(isinstance(item, Mapping) for item in rows):
        raise InputError("has no list of trajectories, as a result of calipers score has")
    known = {trajectory.id: _rubric_of(group, trajectory) or default for trajectory in group.trajectories}
    stated: dict[str, Mapping[str, Any]] = {}
    for item in rows:
        name, criteria = str(item.get("id")), item.get("criteria")
        if name not in known or name in stated:
            why = "is there twice" if name in stated else "is not in GROUPS"
            raise InputError(f"group {group.group_id!r}: response {name!r} {why}")
        stated[name] = criteria if isinstance(criteria, Mapping) else {}
        asked = known[name]
        ids = {criterion.id for criterion in asked.criteria} if asked is not None else set(stated[name])
        if strange := next((key for key in stated[name] if key not in ids), None):
            raise InputError(f"group {group.group_id!r}: its rubric has no criterion {strange!r}")
    return group.group_id, stated


def _rubric_of(group: TrajectoryGroup, member: Trajectory) -> Rubric | None:
    rubric = member.rubric or group.rubric
    return rubric if isinstance(rubric, Rubric) else None


def _met(verdict: Any) -> Met:
    """Return whether a criterion is met, or the share of several verdicts that say so; None without a verdict."""
    stated = verdict if isinstance(verdict, Mapping) else {}
    votes, met = stated.get("votes"), stated.get("met")
    if isinstance(votes, list) and votes and all(isinstance(vote, bool) for vote in votes):
        return sum(votes) / len(votes)
    return met if isinstance(met, bool) else None

"""``calipers rubric score``: a benchmark's score by its rubrics, overall and by axis, theme and every other tag."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import InputFile, command_option
from calipers.cli.messages import print_message
from calipers.errors import InputError
from calipers.types import Rubric, Trajectory, TrajectoryGroup
from calipers.types.encoding import counted, printable

if TYPE_CHECKING:
    from calipers.rubric.formulas import Met
    from calipers.rubric.tag_scores import DatasetScore, GradedExample


@click.command(short_help="Compute a data set's score, by axis and theme.")
@click.argument("groups", type=InputFile())
@click.argument("result", type=InputFile())
@command_option(
    "--rubric",
    type=InputFile(),
    metavar="FILE",
    help="The criteria (.toml, .json, .yaml) of groups without a rubric of their own, as given to calipers score.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the scores as one JSON object.")
def score(groups: str, result: str, rubric: str | None, *, as_json: bool) -> int:
    """Compute HealthBench's scores of the verdicts in RESULT, which calipers score wrote for GROUPS.

    The score of all responses comes first, then one for each tag of criteria (axis:accuracy) and of examples
    (theme:hedging, from the field example_tags). Every score is a mean over responses, clipped to [0, 1], with its
    standard deviation over 1,000 resampled data sets.

    \b
    calipers score healthbench.jsonl -o out.jsonl --judge openai/gpt-4.1 \\
      --protocol checklist --grading mode=per_criterion --grading show_points=true
    calipers rubric score healthbench.jsonl out.jsonl

    Exit code: 0 every response has a score, 1 some have none, 2 nothing could be read.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.inputs import read_groups, read_rubric  # noqa: PLC0415 - --help stays quick
    from calipers.rubric.tag_scores import OVERALL, tag_scores  # noqa: PLC0415 - likewise

    default = None if rubric is None else read_rubric(rubric)
    read = {group.group_id: group for group in read_groups(groups)}
    examples = list(_examples(read, result, default))
    if not examples:
        raise InputError(
            "no group in it has a rubric with criteria; give the one of calipers score with --rubric FILE",
            source=groups,
        )
    scores = tag_scores(examples)
    if not any(one.verdicts for one in examples):
        raise InputError(
            "holds no verdicts on criteria; write it with calipers score --protocol checklist", source=result
        )
    if as_json:
        click.echo(json.dumps({name: _figures(one) for name, one in scores.items()}))
    else:
        _print_table(scores)
    ungraded = scores[OVERALL].ungraded
    if ungraded:
        print_message(f"{counted(ungraded, 'response')} with a criterion that has no verdict: not in the overall score")
    return int(bool(ungraded))


def _examples(groups: Mapping[str, TrajectoryGroup], result: str, default: Rubric | None) -> Iterator[GradedExample]:
    """Yield each graded response of a result file; groups without a rubric have the ``default``.

    Raises InputError naming the line that does not fit the groups.
    """
    from calipers.inputs.records import read_json_lines  # noqa: PLC0415 - --help stays quick
    from calipers.rubric.tag_scores import GradedExample  # noqa: PLC0415 - likewise

    verdicts: dict[str, dict[str, Mapping[str, Any]]] = {}
    for line, row in read_json_lines(result):
        if isinstance(row, str):
            raise InputError(row, source=result, line=line)
        name = str(row.get("group_id"))
        if name not in groups:
            raise InputError(f"group {row.get('group_id')!r} is not in GROUPS", source=result, line=line)
        if name in verdicts:
            raise InputError(f"group {name!r} is there a second time", source=result, line=line)
        try:
            verdicts[name] = _verdicts(groups[name], row, default)
        except InputError as error:
            raise InputError(str(error), source=result, line=line) from None
    for name, group in groups.items():  # also those that RESULT does not have: they are not graded
        stated = group.extra.get("example_tags")
        tags = tuple(map(str, stated)) if isinstance(stated, list | tuple) else ()
        for one in group.trajectories:
            if (rubric := _rubric_of(group, one) or default) is not None:
                said = verdicts.get(name, {}).get(one.id, {})
                yield GradedExample(rubric, {key: _met(value) for key, value in said.items()}, tags)


def _verdicts(group: TrajectoryGroup, row: Mapping[str, Any], default: Rubric | None) -> dict[str, Mapping[str, Any]]:
    """Return what a row of a result says of each criterion, by response. Raises InputError for a foreign row."""
    rows = row.get("trajectories")
    if not isinstance(rows, list) or not all(isinstance(one, Mapping) for one in rows):
        raise InputError("has no list of trajectories, as a result of calipers score has")
    known = {one.id: _rubric_of(group, one) or default for one in group.trajectories}
    found: dict[str, Mapping[str, Any]] = {}
    for one in rows:
        name, said = str(one.get("id")), one.get("criteria")
        where = f"group {group.group_id!r}"
        if name not in known:
            raise InputError(f"{where} has no response {name!r} in GROUPS")
        if name in found:
            raise InputError(f"{where}: response {name!r} is there twice")
        found[name] = said if isinstance(said, Mapping) else {}
        rubric = known[name]
        ids = {criterion.id for criterion in rubric.criteria} if rubric is not None else set(found[name])
        if strange := next((key for key in found[name] if key not in ids), None):
            raise InputError(f"{where}: its rubric has no criterion {strange!r}; it was scored with another one")
    return found


def _rubric_of(group: TrajectoryGroup, member: Trajectory) -> Rubric | None:
    rubric = member.rubric or group.rubric
    return rubric if isinstance(rubric, Rubric) else None


def _met(said: Any) -> Met:
    """Return whether a criterion is met, or the share of several verdicts that say so; None without a verdict."""
    stated = said if isinstance(said, Mapping) else {}
    votes, share, met = stated.get("votes"), stated.get("share"), stated.get("met")
    if isinstance(votes, list) and votes and all(isinstance(vote, bool) for vote in votes):
        return sum(votes) / len(votes)
    if isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1:
        return float(share)
    return met if isinstance(met, bool) else None


def _figures(one: DatasetScore) -> dict[str, float | int | None]:
    return {"mean": one.mean, "stderr": one.stderr, "graded": one.graded, "ungraded": one.ungraded}


def _print_table(scores: Mapping[str, DatasetScore]) -> None:
    shown = {" ".join(printable(name).split()): one for name, one in scores.items()}
    width = max(map(len, shown))
    click.echo(f"{'':{width}}  score  stderr  graded  ungraded")
    for name, one in shown.items():
        mean, stderr = ("-" if value is None else f"{value:.3f}" for value in (one.mean, one.stderr))
        click.echo(f"{name:{width}}  {mean:>5}  {stderr:>6}  {one.graded:>6}  {one.ungraded:>8}")

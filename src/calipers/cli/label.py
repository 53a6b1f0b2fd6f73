"""``calipers label``: a local page where people rank candidates, and gold from what they say."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import command_option, is_typed
from calipers.cli.messages import BadLines, print_message
from calipers.cli.output import add_force_option, require_replaceable
from calipers.cli.terminal import print_figures
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.labelling.agreement import Estimate
    from calipers.labelling.groups import GroupIndex
    from calipers.labelling.labels import LabelFile
    from calipers.labelling.order import Contest

_HEADS = ("groups", "can't tell", "ties", "agreement", "", "place and rank", "")
_WIDTH = 120


@click.command(short_help="Let people rank candidates, for gold.")
@click.argument("groups", type=click.Path())
@command_option("--annotator", metavar="NAME", help="Who ranks. [default: the user's name on this machine]")
@command_option(
    "--labels",
    type=click.Path(dir_okay=False),
    named=True,
    metavar="FILE",
    help="The file that labels are appended to. Annotators may share it. [default: GROUPS without its suffix, and "
    ".labels.jsonl]",
)
@command_option(
    "--results",
    type=click.Path(),
    metavar="FILE",
    help="What a judge said of these groups, as a result file or a ledger: groups whose labels tell most about it come "
    "first.",
)
@command_option("--port", type=click.IntRange(1, 65535), metavar="N", help="The page's port. [default: a free one]")
@command_option("--agreement", is_flag=True, help="Print how far annotators agree, and exit.")
@command_option("--gold", named=True, metavar="OUT", help="Write the labelled groups with gold to OUT, and exit.")
@command_option(
    "--random-sample",
    is_flag=True,
    help="With --gold: only groups that were drawn at random, for figures that hold for all groups.",
)
@add_force_option
@click.option("--json", "as_json", is_flag=True, help="Print the agreement as one JSON object.")
def label(groups: str, *, as_json: bool, **options: Any) -> int:
    """Show the candidates of GROUPS, blinded and shuffled, on a page of this machine, and record how people rank them.

    The page is shown at an address that is printed, and works with the keyboard alone: letters rank candidates best
    first, = ties, . stands for "can't tell", Enter saves. Every label is on the disk before the page says that it is
    saved. Ctrl-C ends it; the same command goes on where it stopped.

    \b
    calipers label groups.jsonl --annotator ann
    calipers label groups.jsonl --annotator ann --results scored.jsonl
    calipers label groups.jsonl --agreement
    calipers label groups.jsonl --gold gold.jsonl
    calipers calibrate gold.jsonl --judge openai/gpt-5-mini

    Exit code: 0 done, 1 done but a line could not be read, 2 bad usage or a missing file.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.labelling.groups import GroupIndex  # noqa: PLC0415 - --help stays quick
    from calipers.labelling.labels import LabelFile  # noqa: PLC0415 - likewise

    _require_one_purpose(options, as_json=as_json)
    bad = BadLines()
    where = Path(options["labels"] or _labels_beside(groups))
    if not where.absolute().parent.is_dir():
        raise ConfigError(f"--labels {where}: its folder does not exist; create it first")
    if where.exists() and Path(groups).exists() and where.samefile(groups):
        raise ConfigError(f"--labels {where}: is the groups file itself; name another file")
    index = GroupIndex(groups, on_error=bad)
    file = LabelFile(where, on_error=bad)
    _require_labels_of(index, file)
    if options["gold"] is not None:
        _write_gold(index, file, groups, options, bad)
    elif options["agreement"]:
        _print_agreement(index, file, as_json=as_json)
    else:
        _serve(index, file, options, bad)
    return 1 if bad.count else 0


def _require_one_purpose(options: dict[str, Any], *, as_json: bool) -> None:
    named = [flag for flag, key in (("--gold", "gold"), ("--agreement", "agreement")) if options[key]]
    if len(named) > 1:
        raise ConfigError(f"{' and '.join(named)}: do one at a time")
    if options["random_sample"] and "--gold" not in named:
        raise ConfigError("--random-sample is for --gold")
    if as_json and "--agreement" not in named:
        raise ConfigError("--json is for --agreement")
    if named and (is_typed("results") or is_typed("port")):
        raise ConfigError(f"--results and --port are for the page, which {named} does not show")


def _labels_beside(groups: str) -> str:
    if groups == "-":
        raise ConfigError("--labels: name the file of labels, because the groups come from stdin")
    stem = groups
    for suffix in (".gz", ".jsonl", ".json", ".parquet"):
        stem = stem.removesuffix(suffix)
    return f"{stem}.labels.jsonl"


def _require_labels_of(index: GroupIndex, file: LabelFile) -> None:
    """Refuse a label file of other groups: none of its groups is in the groups file."""
    labelled = {one.group_id for one in file.labels()}
    if labelled and not labelled & index.numbers.keys():
        raise ConfigError(
            f"--labels {file.path}: has labels of other groups ({min(labelled)!r} is not in {index.path}); name "
            "another file, or the groups that were labelled"
        )
    if strangers := len(labelled - index.numbers.keys()):
        print_message(f"{file.path}: {strangers:,} labelled groups are not in {index.path}; they are left as they are")


def _serve(index: GroupIndex, file: LabelFile, options: dict[str, Any], bad: BadLines) -> None:
    """Show the page until Ctrl-C."""
    from calipers.labelling.labels import require_annotator  # noqa: PLC0415 - likewise
    from calipers.labelling.order import queue  # noqa: PLC0415 - as above
    from calipers.labelling.serving import LabelServer  # noqa: PLC0415 - likewise
    from calipers.labelling.session import Session  # noqa: PLC0415 - likewise

    annotator = require_annotator(options["annotator"] or _user())
    if not len(index):
        raise ConfigError(f"{index.path}: every group has one trajectory, and there is nothing to rank")
    if index.single:
        print_message(f"{index.single:,} groups have one trajectory and are not shown")
    known = _contests(index, options, bad)
    session = Session(index, queue(index.ids, known), file, annotator, on_error=bad)
    with LabelServer(session, port=options["port"] or 0) as server:
        server.serve_until_interrupted(
            lambda address: print_message(f"{address}\nLabels of {annotator} go to {file.path}; Ctrl-C ends it")
        )
    found = session.progress()
    print_message(
        f"{annotator} has labelled {found['labelled']:,} of {found['total']:,} groups. "
        f"calipers label {index.path} --gold gold.jsonl writes gold for calipers calibrate."
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:
        raise ConfigError("--annotator: name who ranks; this machine tells no user's name") from error


def _contests(index: GroupIndex, options: dict[str, Any], bad: BadLines) -> dict[str, Contest]:
    """Return how contested each group is by what a judge said of it; empty without results."""
    from calipers.cli.report import with_ledger_beside  # noqa: PLC0415 - as above
    from calipers.labelling.order import contests  # noqa: PLC0415 - likewise
    from calipers.report import open_sources  # noqa: PLC0415 - likewise

    named = options["results"]
    if named is None:
        return {}
    with open_sources(with_ledger_beside((named,), None), on_error=bad) as sources:
        if not (sources.results or sources.ledgers):
            raise ConfigError(f"{named}: has no judged groups; name a result file of calipers score, or a ledger")
        found = contests(sources)
    lacking = sum(name not in found for name in index.ids)
    if lacking == len(index):
        raise ConfigError(f"{named}: has no scores of a group in {index.path}; name what a judge said of these groups")
    if lacking:
        print_message(f"{lacking:,} of {len(index):,} groups have no scores in {named}; they come in random order")
    return found


def _write_gold(index: GroupIndex, file: LabelFile, groups: str, options: dict[str, Any], bad: BadLines) -> None:
    from calipers.labelling.agreement import gold_lines  # noqa: PLC0415 - as above

    out = options["gold"]
    beside = {"the groups file": groups, "the label file": str(file.path)}
    require_replaceable("--gold", out, force=options["force"], beside=beside)
    labels = file.labels()
    lines = gold_lines(index, labels, at_random=options["random_sample"], on_error=bad)
    count = _write_lines(Path(out), lines)
    if not count:
        raise ConfigError(f"--gold {out}: no group has a label that counts in {file.path}; nothing was written")
    people = len({one.annotator for one in labels})
    print_message(
        f"{out}: gold for {count:,} groups by {people:,} annotator{'s' * (people != 1)}. "
        f"calipers calibrate {out} measures judges against it."
    )


def _write_lines(out: Path, lines: Iterable[dict[str, Any]]) -> int:
    """Write JSON lines to ``out`` when they are complete; return their number. Without any, ``out`` stays as it was."""
    part = out.with_name(f"{out.name}.part")
    count = 0
    try:
        with part.open("w", encoding="utf-8") as stream:
            for line in lines:
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
                count += 1
        if count:
            part.replace(out)
    except OSError as error:
        raise ConfigError(f"--gold {out}: cannot be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return count


def _print_agreement(index: GroupIndex, file: LabelFile, *, as_json: bool) -> None:
    """Print how far annotators agree, and whether they favour places. Raises ConfigError if there are no labels."""
    from calipers.cli.terminal import table_console  # noqa: PLC0415 - --help stays quick
    from calipers.labelling.agreement import agreement  # noqa: PLC0415 - likewise

    labels = [one for one in file.labels() if one.group_id in index.numbers]
    if not labels:
        raise ConfigError(
            f"{file.path} has no labels of groups in {index.path}; calipers label {index.path} asks for them"
        )
    found = agreement(labels)
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
        return
    console = table_console(width=_WIDTH)
    rows = [
        (
            one.annotator,
            f"{one.labelled:,}",
            f"{one.cant_tell:,}",
            "–" if one.tied is None else f"{one.tied:.0%}",
            *_shown(one.alpha),
            *_shown(one.place),
        )
        for one in found.annotators
    ]
    print_figures(console, "Annotators", ("annotator",), _HEADS, rows)
    value, interval = _shown(found.alpha)
    console.print(
        f"\nKrippendorff's alpha (ordinal, pairs of candidates): {value} {interval}".rstrip()
        + f", {found.alpha.groups:,} groups with two annotators or more",
        markup=False,
        soft_wrap=True,
    )
    console.print(
        "agreement: alpha with all others, 1 is perfect and 0 is chance. place and rank: their correlation within "
        "groups; above 0, candidates shown earlier get better ranks. In brackets, 95 % intervals over groups.",
        markup=False,
        soft_wrap=True,
    )


def _shown(found: Estimate) -> tuple[str, str]:
    value = "–" if found.value is None else f"{found.value:.2f}"
    return value, "" if found.interval is None else "[{:.2f}, {:.2f}]".format(*found.interval)

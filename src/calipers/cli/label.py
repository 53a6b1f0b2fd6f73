"""``calipers label``: a local page where people rank candidates, and gold from what they say."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Any, Final

from calipers.cli.messages import BadLines, print_message
from calipers.cli.output import json_line, print_json, require_replaceable, write_text
from calipers.cli.terminal import print_figures, table_console
from calipers.errors import ConfigError
from calipers.labelling.agreement import Estimate, agreement, gold_lines
from calipers.labelling.groups import GroupIndex
from calipers.labelling.labels import LabelFile, require_annotator
from calipers.labelling.serving import LabelServer
from calipers.labelling.session import Session
from calipers.types.encoding import counted

_HEADS: Final = ("groups", "can't tell", "ties", "agreement", "")
_WIDTH: Final = 120


def label(groups: str, *, as_json: bool, **options: Any) -> int:
    """Show the page until Ctrl-C, print the agreement or write gold; return the exit code."""
    _require_one_purpose(options, as_json=as_json)
    bad = BadLines()
    where = Path(options["labels"] or _labels_beside(groups))
    require_replaceable("--labels", str(where), force=True, beside={"the groups file": groups})  # it is appended to
    index = GroupIndex(groups, on_error=bad)
    file = LabelFile(where, on_error=bad)
    _require_labels_of(index, file)
    if options["gold"] is not None:
        _write_gold(index, file, groups, options, bad)
    elif options["agreement"]:
        _print_agreement(index, file, as_json=as_json)
    else:
        _serve(index, file, options, bad)
    return int(bool(bad.count))


def _require_one_purpose(options: dict[str, Any], *, as_json: bool) -> None:
    named = [flag for flag, key in (("--gold", "gold"), ("--agreement", "agreement")) if options[key]]
    if len(named) > 1:
        raise ConfigError(f"{' and '.join(named)}: give only one of them")
    if as_json and "--agreement" not in named:
        raise ConfigError("--json has no effect without --agreement: give both, or neither")


def _labels_beside(groups: str) -> str:
    if groups == "-":
        raise ConfigError("--labels: name the file of labels, because the groups come from stdin")
    stem = groups
    for suffix in (".gz", ".jsonl", ".json", ".parquet"):
        stem = stem.removesuffix(suffix)
    return f"{stem}.labels.jsonl"


def _require_labels_of(index: GroupIndex, file: LabelFile) -> None:
    """Refuse a label file of other groups: none of its groups is in the groups file."""
    labelled = {label.group_id for label in file.labels()}
    if labelled and not labelled & index.numbers.keys():
        raise ConfigError(
            f"--labels {file.path}: has labels of other groups ({min(labelled)!r} is not in {index.path}); name "
            "another file, or the groups that were labelled"
        )
    if strangers := len(labelled - index.numbers.keys()):
        print_message(f"{file.path}: {strangers:,} labelled groups are not in {index.path}; they are left as they are")


def _serve(index: GroupIndex, file: LabelFile, options: dict[str, Any], bad: BadLines) -> None:
    """Show the page until Ctrl-C."""
    annotator = require_annotator(options["annotator"] or _user())
    if not len(index):
        raise ConfigError(f"{index.path}: every group has one trajectory, and there is nothing to rank")
    if index.single:
        print_message(f"{index.single:,} groups have one trajectory and are not shown")
    session = Session(index, file, annotator, on_error=bad)
    with LabelServer(session, port=options["port"] or 0) as server:
        server.serve_until_interrupted(
            lambda address: print_message(f"{address}\nLabels of {annotator} go to {file.path}; Ctrl-C ends it")
        )
    progress = session.progress()
    print_message(
        f"{annotator} has labelled {progress['labelled']:,} of {progress['total']:,} groups. "
        f"calipers label {index.path} --gold gold.jsonl writes gold for calipers calibrate."
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError) as error:
        raise ConfigError("this machine reports no user name: give your name with --annotator NAME") from error


def _write_gold(index: GroupIndex, file: LabelFile, groups: str, options: dict[str, Any], bad: BadLines) -> None:
    out = options["gold"]
    beside = {"the groups file": groups, "the label file": str(file.path)}
    require_replaceable("--gold", out, force=options["force"], beside=beside)
    labels = file.labels()
    lines = [json_line(row) for row in gold_lines(index, labels, on_error=bad)]
    if not lines:
        raise ConfigError(f"--gold {out}: no group has a label that counts in {file.path}; nothing was written")
    write_text("--gold", out, "".join(lines))
    people = counted(len({label.annotator for label in labels}), "annotator")
    print_message(
        f"{out}: gold for {counted(len(lines), 'group')} by {people}. calipers calibrate {out} measures judges "
        "against it."
    )


def _print_agreement(index: GroupIndex, file: LabelFile, *, as_json: bool) -> None:
    """Print how far annotators agree, and whether they favour places. Raises ConfigError if there are no labels."""
    labels = [label for label in file.labels() if label.group_id in index.numbers]
    if not labels:
        raise ConfigError(
            f"{file.path} has no labels of groups in {index.path}; calipers label {index.path} asks for them"
        )
    figures = agreement(labels)
    if as_json:
        print_json(figures.to_dict())
        return
    console = table_console(width=_WIDTH)
    rows = []
    for annotator in figures.annotators:
        tied = "–" if annotator.tied is None else f"{annotator.tied:.0%}"
        counts = (f"{annotator.labelled:,}", f"{annotator.cant_tell:,}", tied)
        rows.append((annotator.annotator, *counts, *_shown(annotator.alpha)))
    print_figures(console, "Annotators", ("annotator",), _HEADS, rows)
    alpha = " ".join(filter(None, _shown(figures.alpha)))
    line = (
        f"\nKrippendorff's alpha (ordinal, pairs of candidates): {alpha}, "
        f"{counted(figures.alpha.groups, 'group')} with two annotators or more\n"
        "agreement: alpha with all others, 1 is perfect and 0 is chance. In brackets, 95 % intervals over groups."
    )
    console.print(line, markup=False, soft_wrap=True)


def _shown(found: Estimate) -> tuple[str, str]:
    value = "–" if found.value is None else f"{found.value:.2f}"
    return value, "" if found.interval is None else "[{:.2f}, {:.2f}]".format(*found.interval)

"""What ``calipers label --agreement`` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from calipers.cli.terminal import print_figures
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.labelling.agreement import Estimate
    from calipers.labelling.groups import GroupIndex
    from calipers.labelling.labels import LabelFile

_HEADS = ("groups", "can't tell", "ties", "agreement", "", "place and rank", "")
_WIDTH = 120


def print_agreement(index: GroupIndex, file: LabelFile, *, as_json: bool) -> None:
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

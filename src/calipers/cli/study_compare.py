"""``calipers study compare``: judges compared on the same groups, asked anew or from recorded answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import BadLines, print_message
from calipers.errors import ConfigError
from calipers.types.counted import counted

if TYPE_CHECKING:
    from calipers.study.comparison.study_file import Study


@click.command(short_help="Compare judges on the same groups and on rewrites of the same answers.")
@click.argument("sources", nargs=-1, required=True, metavar="CONFIG|SOURCE...")
@command_option(
    "-o",
    "--out",
    default="comparison",
    show_default=True,
    named=True,
    metavar="DIR",
    help="The folder of the comparison: answers, judgments, comparison.json. A comparison in it goes on.",
)
@command_option("--samples", type=click.IntRange(1), help="How often each question is asked. [default: the config's]")
@command_option(
    "--format",
    metavar="NAME",
    help="The format of unparsed replies (raw_text), for recorded lines that name none, e.g. mt_bench.",
)
@click.option("--check", is_flag=True, help="Check the config, print what would be asked, and stop.")
def compare(sources: tuple[str, ...], out: str, samples: int | None, format: str | None, *, check: bool) -> int:  # noqa: A002 - the flag's name
    """Compare judges as CONFIG says, a TOML file, or from the recorded answers in SOURCE files.

    A config names groups, judges, temperatures, wordings of the question, and rewrites of the answers (verbose,
    sycophantic, confident, confident_wrong, formatted, or your own). All of it is checked before the first question.
    A comparison that was interrupted goes on where it stopped. SOURCE is a groups file, a judgments file, a ledger, or
    recorded gradings by rubrics; nothing is asked.

    \b
    calipers study compare judges.toml --check
    calipers study compare judges.toml -o compared
    calipers study compare groups.jsonl judgments.jsonl -o compared

    Exit code: 0 all was compared, 1 a cell failed or a line could not be read, 2 bad usage or configuration.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.cli.comparison_output import print_comparison  # noqa: PLC0415 - --help stays quick
    from calipers.study.comparison import RESULTS, compare_study, require_possible  # noqa: PLC0415 - likewise
    from calipers.study.comparison.study_file import read_study  # noqa: PLC0415 - likewise

    configs = [source for source in sources if source.endswith(".toml")]
    if not configs:
        if check or samples is not None:
            raise ConfigError("--check and --samples are for a config; recorded answers are compared as they are")
        return _from_recorded(sources, Path(out), format)
    if len(sources) > 1:
        raise ConfigError(f"{configs[0]} is a config: name it alone; its groups are named in it")
    if format is not None:
        raise ConfigError("--format is for recorded answers; a judge's replies are read as they were asked for")
    study = read_study(Path(configs[0]), samples=samples)
    require_possible(Path(out))
    _announce(study)
    if check:
        return 0
    found = compare_study(study, Path(out), tell=print_message)
    print_comparison(found, title=study.settings.title)
    print_message(f"All figures: {Path(out) / RESULTS}")
    return 1 if any(one.failed for one in found.cells) else 0


def _from_recorded(sources: tuple[str, ...], out: Path, format: str | None) -> int:  # noqa: A002 - likewise
    from calipers.cli.comparison_output import print_comparison  # noqa: PLC0415 - --help stays quick
    from calipers.study.comparison import RESULTS, require_usable, write_results  # noqa: PLC0415 - likewise
    from calipers.study.comparison.figures import figures_of  # noqa: PLC0415 - likewise
    from calipers.study.comparison.recorded import read_evidence  # noqa: PLC0415 - likewise

    bad = BadLines()
    evidence = read_evidence([Path(source) for source in sources], format=format, on_error=bad)
    require_usable(out)
    found = figures_of(evidence)
    write_results(found, out)
    print_comparison(found)
    print_message(f"All figures: {out / RESULTS}")
    return 1 if bad.count or any(one.failed for one in found.cells) else 0


def _announce(study: Study) -> None:
    """Print the size of the matrix before anything is asked."""
    from calipers.study.comparison.variants import variants_of  # noqa: PLC0415 - --help stays quick

    variants = sum(
        sum(1 for _ in variants_of(group, name, texts, halves=True))
        for name, texts in study.texts.items()
        for group in study.groups
    )
    print_message(
        f"{counted(len(study.cells), 'cell')}: {'; '.join(map(str, study.cells))}\n"
        f"{counted(len(study.groups), 'group')} in {counted(study.settings.orders, 'order')}, "
        f"{counted(study.settings.samples, 'time')} each; {counted(variants, 'group')} with rewritten answers "
        f"({', '.join(study.texts) or 'no rewrites'})"
    )
    for note in study.notes:
        print_message(f"Note: {note}")

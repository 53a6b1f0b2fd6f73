"""Commands as ``commands.toml`` declares them: each runs a function that takes its options; help and refusals."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from calipers.cli import app
from calipers.cli.options import CommandOption, command_tables
from calipers.config.options import flat_options
from calipers.errors import CalipersError
from calipers.registry import load_object


def declared(
    tables: Mapping[str, Any] | None = None, group: click.Group = app, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any], click.Command]]:
    """Each command that runs something, with its table."""
    for name, table in (command_tables() if tables is None else tables).items():
        command = group.commands[name]
        if isinstance(command, click.Group):
            yield from declared(table["commands"], command, (*path, name))
        else:
            yield (*path, name), table, command


def test_every_command_runs_a_function_that_takes_its_arguments_and_options():
    assert len(app.commands) <= 17
    for _, table, command in declared():
        names = [one.name for one in command.params if one.expose_value and one.name]
        inspect.signature(load_object(table["runs"])).bind(**dict.fromkeys(names))


def test_every_option_is_a_variable_of_the_environment_and_judge_options_are_those_of_a_judge():
    flags = {option.flag for option in flat_options().values() if option.section}
    for path, _, command in declared():
        options = {one.opts[-1][2:]: one for one in command.params if isinstance(one, click.Option)}
        assert [name for name, one in options.items() if name != "help-all" and not one.envvar] == [], path
        if path in {("score",), ("serve",)}:
            assert flags <= options.keys()


def shown(*arguments: str, width: int = 78) -> str:
    """What help prints in a terminal of 80 columns: click leaves two of them free."""
    ended = CliRunner().invoke(app, [*arguments], terminal_width=width)
    assert ended.exit_code == 0
    return ended.output


def test_help_of_every_command_fits_on_a_screen_and_help_all_has_the_rest():
    wrong = []
    for path, _, command in declared():
        short, whole = shown(*path, "--help"), shown(*path, "--help-all")
        lines = short.splitlines()
        if len(lines) > 45 or max(map(len, lines)) > 80:
            wrong.append((*path, f"{len(lines)} lines, or a long one"))
        for option in command.params:
            if isinstance(option, CommandOption):
                wanted = " ".join(str(option.help).split())
                if (f" {option.opts[-1]} " in short) == option.rare:
                    wrong.append((*path, f"{option.opts[-1]}: rare, or not"))
                if wanted not in " ".join(whole.split()):
                    wrong.append((*path, f"{option.opts[-1]}: not whole"))
    assert wrong == []


def test_help_shows_the_first_sentence_and_facts_and_help_all_headings_and_ranges():
    short, whole = shown("serve", "--help", width=200), shown("serve", "--help-all", width=200)
    assert re.search(r"--protocol NAME +What [^.]*\. \[checklist, .*; default: listwise\]", short)
    places = [whole.index(f"\n{heading}:") for heading in ("Options", "Groups", "Limits of the server", "The judge")]
    assert places == sorted(places)
    assert places[1] < whole.index("--group-quorum N") < places[2]
    assert "[default: 8017; from 0 to 65535]" in whole
    assert "[default: 0]" in whole  # of --seed
    assert "Groups:" not in short


def test_help_of_calipers_has_every_command_under_a_heading_and_what_a_found_settings_file_may_not_set():
    text = shown("--help")
    assert [name for name in app.commands if f"\n  {name} " not in text] == []
    assert len(text.splitlines()) <= 45
    assert text.index("\n  label ") < text.index("\nThe lab:") < text.index("\n  generate ")
    assert "may not set addresses" in text


def test_an_option_without_its_value_or_with_a_wrong_one_is_refused():
    wrong = []
    for path, _, command in declared():
        for option in command.params:
            if not isinstance(option, click.Option) or option.is_flag or option.count:
                continue
            flag = option.opts[-1]
            kind = option.type.name
            tried = [([flag], "requires an argument")]
            if kind in {"number", "whole number"}:
                tried += [([flag, "x"], f"not a valid {kind}"), ([flag, "nan"], "")]
            for arguments, words in tried:
                # Files that must exist are looked for first: none is named here.
                ended = CliRunner().invoke(app, [*path, *arguments])
                if ended.exit_code != 2 or words not in ended.output:
                    wrong.append((*path, *arguments, ended.output[-200:]))
    assert wrong == []


def test_a_mistyped_command_or_flag_is_refused_with_the_nearest():
    for arguments, words in (
        (["scor"], "No such command"),
        (["score", "-", "-o", "-", "--timeout", "2m"], "Seconds that a call may take"),
        (["score", "--judg", "x"], "--judge"),
        (["score", "--order", "2"], "--orders"),
        (["score"], "score [OPTIONS] GROUPS -o OUT"),
    ):
        ended = CliRunner().invoke(app, arguments)
        assert ended.exit_code == 2
        assert words in ended.output


VALUES = (
    *("9" * 23, "9" * 5000, "-1", "0", "1e400", "nan", "inf", "1e-400", "²", "१२", "", "x", "1_0", "="),
    *("usd=nan", "a=" + "9" * 5000),
)
FLAGS = [
    option.opts[-1]
    for option in app.commands["score"].params
    if isinstance(option, click.Option) and not option.is_flag and not isinstance(option.type, click.Choice)
    and option.opts[-1] not in {"--out", "--ledger", "--rubric", "--rules", "--judge", "--base-url", "--policy",
                                "--protocol", "--verbose"}
]  # fmt: skip


@pytest.mark.slow
def test_a_flag_of_any_size_is_taken_or_refused_in_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for flag, value in product(FLAGS, VALUES):
        try:
            code = app.main(["score", "groups.jsonl", "-o", "out.jsonl", f"{flag}={value}"], standalone_mode=False)
        except (click.ClickException, CalipersError):
            continue
        assert code in {0, 1}, (flag, value)

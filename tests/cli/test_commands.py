"""Commands as ``commands.toml`` declares them: each runs a function that takes its options; help and refusals."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from calipers.cli import app
from calipers.cli.options import command_tables
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


def test_help_fits_80_columns_and_shows_everyday_options_of_a_judge_only():
    runner = CliRunner()
    for path, _, command in declared():
        ended = runner.invoke(app, [*path, "--help"], terminal_width=80)
        assert ended.exit_code == 0
        assert [line for line in ended.output.splitlines() if len(line) > 80 or "None]" in line] == []
        rare = [one.opts[-1] for one in command.params if getattr(one, "rare", False)]
        assert [flag for flag in rare if f"  {flag} " in ended.output] == []
        if rare:
            whole = runner.invoke(app, [*path, "--help-all"], terminal_width=80).output
            assert [flag for flag in rare if flag not in whole] == []


def test_help_puts_options_under_their_headings_and_numbers_with_their_range():
    said = CliRunner().invoke(app, ["serve", "--help-all"], terminal_width=200).output
    places = [said.index(f"\n{one}") for one in ("Options:", "Groups:", "Limits of the server:", "The judge:")]
    assert places == sorted(places)
    assert places[1] < said.index("--group-quorum N") < places[2]
    assert "[default: 8017; 0<=x<=65535]" in said


def test_help_of_calipers_names_all_commands_and_what_a_found_settings_file_may_not_set():
    said = CliRunner().invoke(app, ["--help"], terminal_width=80).output
    assert [name for name in app.commands if f"\n  {name} " not in said] == []
    assert "may not set addresses" in said


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
        (["score", "--judg", "x"], "--judge"),
        (["score", "--order", "2"], "--orders"),
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

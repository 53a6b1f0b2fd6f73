from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from calipers.cli import app
from calipers.cli.command_options import SectionedCommand, command_option


@click.command(cls=SectionedCommand)
@click.argument("groups", required=False)
@command_option("--out", help="Where to.")
@command_option("--cost", section="Money", type=click.FloatRange(0, 1), help="How much.")
@command_option("--judge", section="The judge", help="Who.")
@command_option("--price", section="Money", type=int, help="For what.")
@command_option("--verbose", count=True, help="More words.")
def command(**_: object) -> None:
    """Nothing."""


def test_help_shows_options_under_their_headings_and_the_rest_first():
    said = CliRunner().invoke(command, ["--help"]).output
    places = [said.index(one) for one in ("Options:", "--out", "--verbose", "--help", "Money:", "--cost", "--price")]
    assert places == sorted(places)
    assert said.count("GROUPS") == 1  # in the usage
    assert places[-1] < said.index("The judge:") < said.index("--judge")


def test_numbers_are_shown_as_n_with_their_range():
    said = CliRunner().invoke(command, ["--help"]).output
    assert "--cost N" in said
    assert "[0<=x<=1]" in said
    assert "--price N" in said


@pytest.mark.parametrize("command", [
    (), ("score",), ("replay",), ("calibrate",), ("rubric",), ("rubric", "check"), ("rubric", "draft"),
    ("doctor",),
    ("ifeval",), ("generate",),
], ids=" ".join)  # fmt: skip
def test_help_fits_a_terminal_of_80_columns(command: tuple[str, ...]):
    said = CliRunner().invoke(app, [*command, "--help"], terminal_width=80)
    assert said.exit_code == 0
    assert [line for line in said.output.splitlines() if len(line) > 80] == []


def test_an_option_is_read_from_the_environment():
    ended = CliRunner().invoke(command, env={"CALIPERS_COST": "2"})
    assert ended.exit_code == 2
    assert "0<=x<=1" in ended.output


def options_with_a_value(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from options_with_a_value(found, (*path, name))
    for option in command.params:
        if isinstance(option, click.Option) and not option.is_flag and not option.count:
            yield (*path, option.opts[-1])


def test_an_option_without_its_value_is_refused_in_every_command():
    optional = {("score", "--ray")}  # --ray alone means --ray auto
    tried = [one for one in options_with_a_value(app) if one not in optional]
    assert len(tried) > 150
    assert {("score", "--resolve"), ("score", "--judge"), ("score", "--reward")} <= set(tried)
    wrong = []
    for line in tried:
        ended = CliRunner().invoke(app, line)
        if ended.exit_code != 2 or "requires an argument" not in ended.output:
            wrong.append((" ".join(line), ended.exit_code, ended.output[-200:]))
    assert wrong == []

"""The ``calipers`` command. Progress and messages go to stderr; stdout is data.

Exit codes: 0 all scored; 1 something could not be scored; 2 bad usage or configuration. A user's mistake is one
sentence and the remedy, never a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence

import click

from calipers._version import __version__
from calipers.cli.messages import Interrupted, print_log_with, print_message
from calipers.cli.settings_file import mistyped_variables, use_settings_file
from calipers.errors import CalipersError
from calipers.registry import load_object

_INTERRUPTED = 130


class _CommandList(click.Group):
    """A group of commands whose help names first, and in this order, the commands that a user needs first."""

    first: Sequence[str] = ()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands to the help in two sections."""
        shown = {name: self.commands[name] for name in self.list_commands(ctx) if not self.commands[name].hidden}
        limit = formatter.width - 6 - max(map(len, shown))
        lines = {name: command.get_short_help_str(limit) for name, command in shown.items()}
        for heading, names in (
            ("Commands that you need first", self.first),
            ("Other commands", [name for name in lines if name not in self.first]),
        ):
            with formatter.section(heading):
                formatter.write_dl([(name, lines[name]) for name in names])


class _LazyCommands(MutableMapping[str, click.Command]):
    """The commands of a click group by name, each imported when it is first used; all together take 0.3 s of CPU.

    ``places`` names the ``module:attribute`` of each command.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._found: dict[str, click.Command | str] = dict(places)

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = load_object(self._found[name])
        self._found[name] = command
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


_COMMANDS = _LazyCommands({
    "score": "calipers.cli.score:score",
    "serve": "calipers.cli.serve:serve",
    "replay": "calipers.cli.score:replay",
    "report": "calipers.cli.report:report",
    "show": "calipers.cli.show:show",
    "watch": "calipers.cli.watch:watch",
    "ledger": "calipers.cli.ledger:ledger_commands",
    "calibrate": "calipers.cli.calibrate:calibrate",
    "distill": "calipers.cli.distill:distill",
    "label": "calipers.cli.label:label",
    "ifeval": "calipers.cli.ifeval:ifeval",
    "convert": "calipers.cli.convert:convert",
    "generate": "calipers.cli.generate:generate",
    "rubric": "calipers.cli.rubric:rubric",
    "scenarios": "calipers.cli.scenarios:scenarios",
    "profile": "calipers.cli.profile:profile",
    "doctor": "calipers.cli.doctor:doctor",
    "study": "calipers.cli.study:study",
})  # fmt: skip


@click.group(
    cls=_CommandList,
    commands=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="calipers")
@click.option(
    "--config",
    type=click.Path(dir_okay=False),
    envvar="CALIPERS_CONFIG",
    help="Read settings from this file instead of ./calipers.toml.",
)
@click.option(
    "--log-level",
    type=click.Choice(("debug", "info", "warning", "error"), case_sensitive=False),
    envvar="CALIPERS_LOG_LEVEL",
    help="Print to stderr what the logger 'calipers' tells from this level on: info for what is agreed with servers, "
    "debug for every retry.  [default: warning]",
)
@click.pass_context
def app(context: click.Context, config: str | None, log_level: str | None) -> None:
    """Turn LLM judges' opinions into rewards a GRPO trainer can trust.

    Every flag of a command can also be set in calipers.toml (as a key, e.g. orders = 2) and as an environment
    variable (CALIPERS_BASE_URL). Flags win over the environment, the environment over the file.
    """
    if log_level is not None:
        context.with_resource(print_log_with(print_message, level=log_level))
    if not context.resilient_parsing:
        for name, near in mistyped_variables(app):
            print_message(f"Note: the environment variable {name} sets nothing; did you mean {near}?")
    use_settings_file(config, context, app)


app.first = ("score", "show", "report", "doctor", "calibrate")


def _with_place(error: click.ClickException) -> click.ClickException:
    """Return an error that says where an option of ``calipers`` itself belongs if it stands after a command's name."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None or error.ctx.parent is None:
        return error
    name = error.option_name
    if not any(name in option.opts for option in app.params):
        return error
    command = error.ctx.command_path.removeprefix("calipers ")
    return click.UsageError(f"{name} belongs before the command: calipers {name} ... {command} ...", error.ctx)


def main() -> None:
    """Run the ``calipers`` command and exit with its code."""
    try:
        code = app.main(prog_name="calipers", standalone_mode=False)
    except click.ClickException as error:
        error = _with_place(error)
        error.show()
        code = error.exit_code
    except CalipersError as error:
        print_message(f"Error: {error}")
        code = 2
    except (KeyboardInterrupt, click.Abort) as error:
        said = error if isinstance(error, Interrupted) else error.__cause__
        print_message(f"Interrupted. {said}" if isinstance(said, Interrupted) else "Interrupted.")
        code = _INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    sys.exit(code or 0)

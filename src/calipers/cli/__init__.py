"""The ``calipers`` command. Progress and messages go to stderr; stdout is data.

Exit codes: 0 all scored; 1 something could not be scored; 2 bad usage or configuration. A user's mistake is one
sentence and the remedy, never a traceback.
"""

from __future__ import annotations

import sys

import click

from calipers._version import __version__
from calipers.cli.messages import Interrupted, print_log_with, print_message
from calipers.cli.options import Commands, command_tables
from calipers.cli.settings_file import mistyped_variables, use_settings_file
from calipers.errors import CalipersError

_INTERRUPTED = 130


class _App(click.Group):
    """The command ``calipers``. Its help names the commands that a user needs first; no command is imported for it."""

    first = ("score", "show", "report", "doctor", "calibrate")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the commands to the help in two sections."""
        tables = command_tables()
        for heading, names in (
            ("Commands that you need first", self.first),
            ("Other commands", [name for name in tables if name not in self.first]),
        ):
            with formatter.section(heading):
                formatter.write_dl([(name, tables[name]["short"]) for name in names])


@click.group(
    cls=_App,
    commands=Commands(command_tables()),
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

    Every flag of a command can also be set in a settings file (as a key, e.g. orders = 2) and as an environment
    variable (CALIPERS_BASE_URL). Flags win over the environment, the environment over the file. ./calipers.toml is read
    unless --config names another file; it may not set addresses, files and request parameters: they need --config.
    """
    if log_level is not None:
        context.with_resource(print_log_with(print_message, level=log_level))
    if not context.resilient_parsing:
        for name, near in mistyped_variables(app):
            print_message(f"Note: the environment variable {name} sets nothing; did you mean {near}?")
    use_settings_file(config, context, app)


def _with_place(error: click.ClickException) -> click.ClickException:
    """Return an error that says where an option belongs which a command does not have: of ``calipers`` itself, before
    the command; like none of the command's, perhaps in the request to the judge.
    """
    if not isinstance(error, click.NoSuchOption) or error.ctx is None or error.ctx.parent is None:
        return error
    name = error.option_name
    if not any(name in option.opts for option in app.params):
        from calipers.config.arguments import OURS  # noqa: PLC0415 - --help stays quick
        from calipers.config.option import nearest_name  # noqa: PLC0415 - likewise

        known = [flag for option in error.ctx.command.params for flag in option.opts]
        near = nearest_name(name, known)
        if near or "--param" not in known or name[:2] != "--" or name[2:] in OURS:
            return click.NoSuchOption(name, possibilities=[near] if near else None, ctx=error.ctx)
        parameter = f"--param {name.lstrip('-').replace('-', '_')}=VALUE"
        return click.UsageError(f"No such option {name!r}. Does the server take it? {parameter}", error.ctx)
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
        from calipers.config.flat_names import with_flags  # noqa: PLC0415 - --help stays quick

        print_message(f"Error: {with_flags(str(error))}")
        code = 2
    except (KeyboardInterrupt, click.Abort) as error:
        interruption = error if isinstance(error, Interrupted) else error.__cause__
        print_message(f"Interrupted. {interruption}" if isinstance(interruption, Interrupted) else "Interrupted.")
        code = _INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    sys.exit(code or 0)

"""The ``calipers`` command. Progress and messages go to stderr; stdout is data.

Exit codes: 0 all scored; 1 something could not be scored; 2 bad usage or configuration. A user's mistake is one
sentence and the remedy, never a traceback.
"""

from __future__ import annotations

import sys
from itertools import groupby

import click

from calipers._version import __version__
from calipers.cli.messages import Interrupted, print_log_with, print_message
from calipers.cli.options import Commands, command_tables
from calipers.cli.settings_file import flags_of, mistyped_variables, use_settings_file
from calipers.errors import CalipersError, InputError

_INTERRUPTED = 130


class _App(click.Group):
    """The command ``calipers``. No command is imported for its help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Write the commands to the help under their headings."""
        for heading, tables in groupby(command_tables().items(), key=lambda entry: entry[1]["heading"]):
            with formatter.section(heading):
                formatter.write_dl([(name, table["short"]) for name, table in tables])


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
    metavar="LEVEL",
    envvar="CALIPERS_LOG_LEVEL",
    help="Print calipers' log from this level on: debug (every retry), info, warning or error. [default: warning]",
)
@click.pass_context
def app(context: click.Context, config: str | None, log_level: str | None) -> None:
    """Turn LLM judges' opinions into rewards a GRPO trainer can trust.

    calipers COMMAND --help shows a command's everyday options, and --help-all shows all. Each flag is also a key of a
    settings file (orders = 2) and an environment variable (CALIPERS_ORDERS). A flag wins over the environment, and the
    environment over the file. Without --config, ./calipers.toml is read, which may not set addresses, files
    or request parameters.
    """
    if log_level is not None:
        context.with_resource(print_log_with(print_message, level=log_level))
    if not context.resilient_parsing:
        for name, near in mistyped_variables(app):
            print_message(f"Note: the environment variable {name} sets nothing; did you mean {near}?")
    use_settings_file(config, context, app)


def _with_place(error: click.ClickException) -> click.ClickException:
    """Return an error that says where an option belongs: of ``calipers`` itself, before the command; of a command,
    behind it; like none of the command's, perhaps in the request to the judge.
    """
    if isinstance(error, click.UsageError) and "unexpected extra argument" in error.message:
        return click.UsageError(f"{error.message}; write quotes around text with spaces", error.ctx)
    if isinstance(error, click.UsageError) and "No such command" in error.message and error.ctx and error.ctx.parent:
        names = ", ".join(getattr(error.ctx.command, "commands", ()))
        return click.UsageError(f"{error.message} {error.ctx.command_path} has {names}", error.ctx)
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    flag, context = error.option_name.removeprefix("--"), error.ctx
    if context.parent is None:
        of = next((name for name, command in app.commands.items() if flag in flags_of(command)), None)
        problem = of and f"--{flag} belongs behind the command: calipers {of} ... --{flag} ..."
        return error if problem is None else click.UsageError(problem, context)
    if any(f"--{flag}" in option.opts for option in app.params):
        command = context.command_path.removeprefix("calipers ")
        return click.UsageError(f"--{flag} belongs before the command: calipers --{flag} ... {command} ...", context)
    from calipers.config.arguments import OURS  # noqa: PLC0415 - --help stays quick
    from calipers.config.option import nearest_name  # noqa: PLC0415 - likewise

    known = [option for parameter in context.command.params for option in parameter.opts]
    near = nearest_name(error.option_name, known)
    hint, parameter = f" Did you mean {near!r}?" if near else "", flag.replace("-", "_")
    is_ours = parameter in OURS or any(flag in flags_of(command) for command in app.commands.values())
    if not near and "--param" in known and error.option_name.startswith("--") and not is_ours:
        hint = f" To send it with each request, write --param {parameter}=VALUE"
    return click.UsageError(f"No such option {error.option_name!r}.{hint}", context)


def main() -> None:
    """Run the ``calipers`` command and exit with its code."""
    try:
        code = app.main(prog_name="calipers", standalone_mode=False)
    except click.ClickException as error:
        error = _with_place(error)
        error.show()
        code = error.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    except CalipersError as error:
        from calipers.config.flat_names import with_flags  # noqa: PLC0415 - --help stays quick

        print_message(f"Error: {error if isinstance(error, InputError) else with_flags(str(error))}")
        code = 2
    except OSError as error:
        if error.filename is None:  # not of a file that was named
            raise
        print_message(f"Error: {error.filename!s:.200}: {error.strerror}")
        code = 2
    except (KeyboardInterrupt, click.Abort) as error:
        interruption = error if isinstance(error, Interrupted) else error.__cause__
        print_message(f"Interrupted. {interruption}" if isinstance(interruption, Interrupted) else "Interrupted.")
        code = _INTERRUPTED
    sys.exit(code or 0)

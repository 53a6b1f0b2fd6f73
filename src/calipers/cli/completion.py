"""``calipers completion``: prints the script with which a shell completes commands, flags and their values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(short_help="Print a script for completion in bash, zsh or fish.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Print the script with which SHELL completes calipers' commands, flags and their values at the Tab key.

    \b
    calipers completion bash > ~/.local/share/bash-completion/completions/calipers
    calipers completion zsh > ~/.zfunc/_calipers   # with fpath+=~/.zfunc before compinit in ~/.zshrc
    calipers completion fish > ~/.config/fish/completions/calipers.fish

    bash has to be 4.4 or newer. Exit code: 0.
    """  # noqa: D301 - click's mark for lines to keep as they are
    made = get_completion_class(shell)
    assert made is not None  # noqa: S101 - click knows these three
    click.echo(made(context.find_root().command, {}, "calipers", "_CALIPERS_COMPLETE").source())
    return 0

"""``calipers judges``: lists the judges that can be reached from here."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from calipers.backends.names import url_without_password
from calipers.errors import ConfigError
from calipers.types.encoding import as_sentence, printable

if TYPE_CHECKING:
    from calipers.doctor.discovery import JudgesFound, LocalServer

_WIDTH = 120
_MOST = 40
"""The most models of a server that are listed."""


@click.command(short_help="Show which judges can be reached.")
@click.option(
    "--base-url", metavar="URL", help="Show what the OpenAI-compatible server at URL offers, and nothing else."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
def judges(*, base_url: str | None, as_json: bool) -> int:
    """Show which judges can be reached: providers whose key is set, and local servers with their models.

    Also lists the profiles that come with calipers: simulated judges, reached as profile:NAME. For each other judge,
    prints the address that questions are sent to, and the variable that sets the address if it is not the
    provider's usual one (OPENAI_BASE_URL, OLLAMA_HOST and the like). Keys are shown by the name of their variable,
    never by value, and are not tried: doctor does that. Only servers on this machine are asked for their models.

    \b
    calipers judges
    calipers judges --base-url http://gpu1:8000/v1
    calipers judges --json | jq -r '.servers[].judges[]'

    Exit code: 0; with --base-url 1 if the server offers no model.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.doctor.discovery import find_judges  # noqa: PLC0415 - --help stays quick
    from calipers.study.profiles.profile import shipped_names  # noqa: PLC0415 - likewise

    if base_url is not None:
        return _show_server(base_url, as_json=as_json)
    found = asyncio.run(find_judges())
    if as_json:
        click.echo(json.dumps(found.to_dict() | {"profiles": list(shipped_names())}, ensure_ascii=False))
    else:
        _print(found, shipped_names())
    return 0


def _show_server(url: str, *, as_json: bool) -> int:
    from calipers.backends.server import checked_url  # noqa: PLC0415 - --help stays quick
    from calipers.doctor.discovery import find_server  # noqa: PLC0415 - likewise

    try:
        checked_url(url, "/models")
    except ConfigError as error:
        raise ConfigError(f"--base-url: {error}") from None
    shown = url_without_password(url)
    server = replace(asyncio.run(find_server(url)), base_url=shown)
    if as_json:
        click.echo(json.dumps(asdict(server) | {"judges": list(server.judges)}, ensure_ascii=False))
        return 0 if server.models else 1
    software = f" ({server.software})" if server.software else ""
    click.echo(_line(f"{shown}{software}"))
    if not server.answers:
        click.echo(_line(f"  {as_sentence(server.reason or 'nothing answers')}"))
        click.echo("  Check host and port. Inside a container, localhost is the container itself.")
        return 1
    rows = _rows(server)
    for name, says in rows[:_MOST]:
        click.echo(f"  {_line(name):<40} {_line(says)}")
    if len(rows) > _MOST:
        click.echo(f"  and {len(rows) - _MOST:,} more (--json lists all)")
    if server.models:
        judge = shlex.join(["--judge", _line(server.judges[0]), "--base-url", shown])
        click.echo(printable(f"\nAsk one: calipers score GROUPS -o OUT {judge}"))
        click.echo("Whether it enforces an output format shows in a few calls:")
        click.echo(printable(f"  calipers doctor {judge}"))
    return 0 if server.models else 1


def _line(text: str) -> str:
    """Return what a server or a user wrote, as part of one line."""
    return printable(text).replace("\n", "\\n")


def _print(found: JudgesFound, profiles: Sequence[str]) -> None:
    from rich.table import Table  # noqa: PLC0415 - likewise
    from rich.text import Text  # noqa: PLC0415 - likewise

    from calipers.cli.terminal import table_console  # noqa: PLC0415 - likewise

    console = table_console(width=_WIDTH)
    table = Table("judge", "where", "", box=None, pad_edge=False)
    for name in found.always:
        says = "needs no key; for first steps, not for training" if name == "embedded" else "another package's"
        table.add_row(name, "in this process", says)
    table.add_row("profile:NAME", "in this process", "simulated with a profile's vices; for studies, not for training")
    for key in found.keys:
        named = f"; {key.named_by} sets the address" if key.named_by else ""
        table.add_row(f"{key.provider}/MODEL", Text(key.base_url), Text(f"{key.variable} is set{named}"))
    for one in found.elsewhere:
        table.add_row(f"{one.provider}/MODEL", Text(one.base_url), Text(f"{one.named_by} sets the address; not asked"))
    for server in found.servers:
        for name, says in _rows(server):
            table.add_row(Text(_line(name)), Text(server.base_url), Text(_line(says)))
    if found.litellm:
        table.add_row("litellm/NAME", "every provider of LiteLLM", "installed")
    console.print(table)
    console.print(f"\nProfiles that come with calipers: {', '.join(profiles)}", markup=False)
    console.print("\nTry one before a run: calipers doctor --judge NAME", markup=False)


def _rows(server: LocalServer) -> list[tuple[str, str]]:
    if not server.models:
        names = ", ".join(f"{name}/" for name in server.providers)
        return [(names, server.reason or "it has no model loaded" if server.answers else "nothing answers")]
    windows = server.models.values()
    return [
        (name, "answers" + (f", {window:,} tokens of context" if window else ""))
        for name, window in zip(server.judges, windows, strict=True)
    ]

"""``calipers serve``: rewards over HTTP, for training workers that see one rollout at a time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import FiniteRange, SectionedCommand, command_option, env_file_option
from calipers.cli.judge_options import judge_from_options, judge_options_with
from calipers.cli.messages import only_handler, print_message
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from calipers.server.service import Service
    from calipers.server.tenants import TenantSettings

_LEDGER = "serve.ledger.db"
_MEGABYTE = 2**20
_GROUPS = "Groups"
_LIMITS = "Limits of the server"


@click.command(cls=SectionedCommand, short_help="Serve rewards over HTTP.")
@command_option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="The address to listen on.")
@command_option("--port", type=click.IntRange(0, 65535), default=8017, show_default=True, help="0 takes a free one.")
@command_option(
    "--tokens",
    type=click.Path(dir_okay=False),
    named=True,
    metavar="FILE",
    help="A TOML file of tenants with their tokens. Needed if --host is not loopback. "
    "[default: the token in CALIPERS_SERVER_TOKEN, or none]",
)
@command_option(
    "--group-size",
    section=_GROUPS,
    type=click.IntRange(1, 4096),
    help="Rollouts of a group, for engines that do not say it. [default: from each request]",
)
@command_option(
    "--group-deadline",
    section=_GROUPS,
    type=FiniteRange(0, min_open=True),
    default=600.0,
    show_default=True,
    help="Seconds after a group's first rollout at which it is judged without those that are missing.",
)
@command_option(
    "--group-quorum",
    section=_GROUPS,
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="The fewest rollouts that are judged, and rewarded. Engines that need a number get whole groups or none.",
)
@command_option(
    "--patience",
    section=_GROUPS,
    type=click.IntRange(1),
    help="After so many lost groups in a row every request is refused, which ends the run. [default: never]",
)
@command_option(
    "--max-waiting",
    section=_LIMITS,
    type=click.IntRange(1),
    default=16_384,
    show_default=True,
    help="Rollouts that may wait at once. More get 429 and come again.",
)
@command_option(
    "--max-waiting-mb",
    section=_LIMITS,
    type=click.IntRange(1),
    default=512,
    show_default=True,
    help="Megabytes of requests that may wait at once.",
)
@command_option(
    "--max-body-mb",
    section=_LIMITS,
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="The largest request, in megabytes.",
)
@command_option(
    "--drain",
    section=_LIMITS,
    type=FiniteRange(1),
    default=60.0,
    show_default=True,
    help="Seconds that groups may still take to be judged after SIGTERM.",
)
@judge_options_with(ledger=_LEDGER)
@command_option("-v", "--verbose", count=True, help="Print a line for each request.")
@env_file_option
def serve(**options: Any) -> int:
    """Serve rewards over HTTP: groups are judged when their rollouts have come together.

    A training worker posts each rollout with its group's id, and is answered with its own reward, or with no reward and
    the reason, once the group has been judged. Sending a rollout again changes nothing. OpenRLHF, NeMo-Gym, slime and
    miles have routes of their own. After Ctrl-C or SIGTERM, groups that are being judged are still answered.

    \b
    calipers serve --judge openai/gpt-5-mini
    calipers serve --judge vllm/qwen3-32b --base-url http://localhost:8000/v1 \\
      --host 0.0.0.0 --tokens tokens.toml
    calipers serve --judge openai/gpt-5-mini --group-size 8 --port 5000

    Every flag can also be set in calipers.toml (port = 5000) or in the environment (CALIPERS_PORT=5000).

    Exit code: 0 ended by Ctrl-C or SIGTERM, 2 bad usage or configuration.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.server.running import (  # noqa: PLC0415 - --help stays quick
        address_of,
        allow_open_files,
        bound_socket,
        require_installed,
        require_safe,
    )

    require_installed()
    from calipers.server.tenants import (  # noqa: PLC0415 - needs the packages
        ledgers_of,
        only_server_of,
        tenants_from,
    )

    tenants = tenants_from(None if options["tokens"] is None else Path(options["tokens"]))
    require_safe(options["host"], tokens=any(one.digest is not None for one in tenants))
    if (warning := allow_open_files(options["max_waiting"])) is not None:
        print_message(f"Warning: {warning}")
    ledgers = ledgers_of(tenants, options["ledger"] or _LEDGER).values()
    with only_server_of(ledgers):
        service = _service(options, tenants)
        bound = bound_socket(options["host"], options["port"])
        with _logging(verbose=options["verbose"] > 0), _signals_ignored_at_the_end():
            _run(_served(service, options, bound, address_of(bound), _shown(ledgers)))
    print_message("Stopped. What was answered is in the ledger; start the same command again to continue.")
    return 0


def _service(options: dict[str, Any], tenants: tuple[TenantSettings, ...]) -> Service:
    from calipers.server.limits import Limits, Room  # noqa: PLC0415 - --help stays quick
    from calipers.server.service import Service  # noqa: PLC0415 - likewise

    size, quorum = options["group_size"], options["group_quorum"]
    if size is not None and size < quorum:
        print_message(f"Warning: --group-quorum {quorum} is above --group-size {size}: all {size} rollouts are needed")
    limits = Limits(
        wait=options["group_deadline"],
        quorum=options["group_quorum"],
        group_size=options["group_size"],
        body=options["max_body_mb"] * _MEGABYTE,
        patience=options["patience"],
    )

    def make_judge(tenant: TenantSettings, ledger: Any, monitor: Any) -> Any:
        try:
            return judge_from_options(
                options, ledger=ledger, debug=options["verbose"] > 1, budget=tenant.budget, watchers=(monitor,)
            )
        except ConfigError as error:
            if tenant.budget is None or "budget" not in str(error):
                raise
            raise ConfigError(f"{options['tokens']}: [{tenant.name}]: {error}") from None

    room = Room(rollouts=options["max_waiting"], size=options["max_waiting_mb"] * _MEGABYTE)
    room.share(len(tenants)).require_fits(limits.body)
    ledger = options["ledger"] or _LEDGER
    return Service(tenants, make_judge, ledger=ledger, room=room, limits=limits)


def _shown(ledgers: Iterable[str | None]) -> str:
    from calipers.ledger.opening import ledger_name  # noqa: PLC0415 - --help stays quick

    names = [ledger_name(one) for one in ledgers if one is not None]
    return f"{'ledger' if len(names) == 1 else 'ledgers'} {', '.join(names)}"


async def _served(service: Service, options: dict[str, Any], bound: Any, address: str, ledgers: str) -> None:
    from calipers.server.running import rare_collections  # noqa: PLC0415 - --help stays quick
    from calipers.server.running import serve as served  # noqa: PLC0415 - likewise

    why = await service.why_not_ready()
    if why is not None:
        print_message(f"Warning: the judge cannot be asked now, and requests wait or fail until it can: {why}")
    who = "every request needs a token" if service.tokens else "no token is needed"

    with contextlib.ExitStack() as until_the_end:

        def started() -> None:
            until_the_end.enter_context(rare_collections())
            print_message(f"Serving at {address} ({who}); {ledgers}. What it takes: {address}/openapi.json")

        await served(service, bound, grace=options["drain"], on_started=started)


def _run(serving: Any) -> None:
    """Run the server on uvloop where it is installed, otherwise on asyncio's own event loop."""
    try:
        import uvloop  # noqa: PLC0415 - --help stays quick
    except ImportError:
        factory = None
    else:
        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serving)


@contextlib.contextmanager
def _logging(*, verbose: bool) -> Iterator[None]:
    """Print what the server logs to stderr, with time and level."""
    handler, chosen = logging.StreamHandler(sys.stderr), logging.getLogger("calipers").level
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    with only_handler(handler, level=logging.DEBUG if verbose else chosen or logging.INFO):
        yield


@contextlib.contextmanager
def _signals_ignored_at_the_end() -> Iterator[None]:
    """Let the server end by itself: uvicorn raises the signal that ended it again, once everything is closed."""
    nothing: Callable[[int, Any], None] = lambda *_: None  # noqa: E731 - a handler
    before = {number: signal.signal(number, nothing) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

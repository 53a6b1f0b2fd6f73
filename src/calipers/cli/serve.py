"""``calipers serve``: rewards over HTTP, for training workers that see one rollout at a time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from calipers.cli.messages import only_handler, print_message
from calipers.cli.options import judge_arguments_of
from calipers.judging.judge import Judge
from calipers.ledger.opening import ledger_name
from calipers.server import running

if TYPE_CHECKING:
    from calipers.server.service import Service
    from calipers.server.tenants import TenantToken

_LEDGER: Final = "serve.ledger.db"
_MEGABYTE: Final = 2**20


def serve(**options: Any) -> int:
    """Serve until Ctrl-C or SIGTERM, and return the exit code."""
    running.require_installed()
    from calipers.server.tenants import ledgers_of, only_server_of, tenants_from  # noqa: PLC0415 - needs the packages

    tenants = tenants_from(None if options["tokens"] is None else Path(options["tokens"]))
    running.require_safe(options["host"], tokens=any(tenant.digest is not None for tenant in tenants))
    if (warning := running.allow_open_files(options["max_waiting"])) is not None:
        print_message(f"Warning: {warning}")
    ledgers = ledgers_of(tenants, options["ledger"] or _LEDGER).values()
    with only_server_of(ledgers):
        service = _service(options, tenants)
        bound = running.bound_socket(options["host"], options["port"])
        names = [ledger_name(ledger) for ledger in ledgers if ledger is not None]
        kept = f"{'ledger' if len(names) == 1 else 'ledgers'} {', '.join(names)}"
        with _logging(verbose=options["verbose"] > 0), _signals_ignored_at_the_end():
            _run(_served(service, bound, grace=options["drain"], kept=kept))
    print_message("Stopped. What was answered is in the ledger; start the same command again to continue.")
    return 0


def _service(options: dict[str, Any], tenants: tuple[TenantToken, ...]) -> Service:
    from calipers.server.limits import Limits, Room  # noqa: PLC0415 - needs the packages
    from calipers.server.service import Service  # noqa: PLC0415 - likewise

    size, quorum = options["group_size"], options["group_quorum"]
    if size is not None and size < quorum:
        print_message(f"Warning: --group-quorum {quorum} is above --group-size {size}: all {size} rollouts are needed")
    limits = Limits(
        wait=options["group_deadline"],
        quorum=quorum,
        group_size=size,
        body=options["max_body_mb"] * _MEGABYTE,
        patience=options["patience"],
    )

    def make_judge(ledger: Any, monitor: Any) -> Judge:
        return Judge(**judge_arguments_of(options, ledger=ledger, debug=options["verbose"] > 1, watchers=(monitor,)))

    room = Room(rollouts=options["max_waiting"], size=options["max_waiting_mb"] * _MEGABYTE)
    room.share(len(tenants)).require_fits(limits.body)
    return Service(tenants, make_judge, ledger=options["ledger"] or _LEDGER, room=room, limits=limits)


async def _served(service: Service, bound: Any, *, grace: float, kept: str) -> None:
    why, address = await service.why_not_ready(), running.address_of(bound)
    if why is not None:
        print_message(f"Warning: the judge cannot be asked now, and requests wait or fail meanwhile: {why}")
    access = "every request needs a token" if service.tokens else "no token is needed"

    started = f"Serving at {address} ({access}); {kept}."
    await running.serve(service, bound, grace=grace, on_started=lambda _: print_message(started))


def _run(serving: Any) -> None:
    """Run the server on uvloop where it is installed, otherwise on asyncio's own event loop."""
    try:
        import uvloop  # noqa: PLC0415 - optional
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

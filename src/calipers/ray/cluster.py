"""Connects to a Ray cluster, and places what has to run on the machine of the command."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from calipers.errors import CalipersError, ConfigError


def import_ray() -> Any:
    """Return the module ``ray`` with Ray Data. Raises ConfigError if it is not installed."""
    try:
        import ray  # noqa: PLC0415 - an extra, and slow to import
        import ray.data  # noqa: PLC0415 - likewise
    except ImportError:
        raise ConfigError("judging on a Ray cluster needs Ray: pip install 'calipers[ray]'") from None
    return ray


@contextmanager
def cluster(address: str) -> Iterator[None]:
    """Be connected to the Ray cluster at ``address``: HOST:PORT, ``auto`` for one of this machine, ``local`` for a new
    one.

    Ray's own progress and logs are switched off for the process. Raises ConfigError if there is no cluster.
    """
    _require_reachable(address)
    ray = import_ray()
    begun = not ray.is_initialized()
    if begun:
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=True)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise _no_cluster(address, str(error).strip().partition("\n")[0]) from None
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield
    finally:
        if begun:
            ray.shutdown()


def _require_reachable(address: str) -> None:
    """Raise ConfigError if ``address`` is not one, or nothing listens there: Ray would try for minutes."""
    if address.startswith("ray://"):
        raise ConfigError(
            f"--ray {address}: Ray's client cannot carry Ray Data; run the command on a machine of the cluster, with "
            "--ray auto"
        )
    if address in {"auto", "local"}:
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigError(f"--ray {address}: write auto, local, or HOST:PORT")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, str(error)) from None


def _no_cluster(address: str, reason: str) -> ConfigError:
    return ConfigError(
        f"--ray {address}: there is no Ray cluster ({reason}): start one with ray start --head, or write --ray local"
    )


def this_machine() -> dict[str, str]:
    """Return the labels that keep a Ray task or actor on the machine of this process."""
    return {"ray.io/node-id": import_ray().get_runtime_context().get_node_id()}


def cpus() -> int:
    """Return the number of CPUs that the Ray cluster has now."""
    return int(import_ray().cluster_resources().get("CPU", 1))


@contextmanager
def own_errors() -> Iterator[None]:
    """Raise the CalipersError behind an exception of Ray instead of that exception."""
    ray = import_ray()
    try:
        yield
    except ray.exceptions.RayError as error:
        found = _cause(error)
        if found is None:
            raise
        raise found from None


def _cause(error: BaseException | None) -> CalipersError | None:
    """Return the CalipersError among the causes of an exception of Ray, if there is one."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        inner = getattr(error, "cause", None)
        for one in (inner, error):
            if isinstance(one, CalipersError) and type(one).__module__ == "calipers.errors":
                return one
        error = inner if isinstance(inner, BaseException) else error.__cause__ or error.__context__
    return None

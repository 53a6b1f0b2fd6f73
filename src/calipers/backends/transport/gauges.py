"""Reads how many requests wait at a judge's server, and how many it works at, from the server's own metrics page.

vLLM has the page always, SGLang with ``--enable-metrics``, llama.cpp with ``--metrics``. A page that is missing or
cannot be read is no failure of anything. Not responsible for what follows from a queue (``limits.adaptive_limit``).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from calipers.backends.transport.reply import HttpReply
from calipers.errors import BackendError
from calipers.types.encoding import finite_number, require_small_when_decoded

if TYPE_CHECKING:
    from calipers.backends.transport.http import HttpClient

OWNERS: Final = frozenset({"vllm", "sglang", "llamacpp"})
"""What these servers state as ``owned_by`` in their list of models. Others are not asked for their metrics."""
_WAITING: Final = ("vllm:num_requests_waiting", "sglang:num_queue_reqs", "llamacpp:requests_deferred")
_RUNNING: Final = ("vllm:num_requests_running", "sglang:num_running_reqs", "llamacpp:requests_processing")
_LINE: Final = re.compile(r"([a-z_]+:[a-z_]+)(?:\{([^\n]{0,2000})\})? +([0-9.eE+-]{1,40})(?: +\d+)?\s*")
_LABEL: Final = re.compile(r'([a-zA-Z_]+)="([^"]*)"')
_RANKS: Final = frozenset({"tp_rank", "pp_rank", "moe_ep_rank", "pid"})
"""Labels of processes that each state the same queue; other labels tell queues apart, such as vLLM's ``engine``."""
_LARGEST: Final = 4 * 2**20
_MOST_FAILURES: Final = 3


def load_in(text: str) -> tuple[float, float] | None:
    """Return how many requests wait, and how many run, from a server's metrics in Prometheus' text form.

    None unless both are known.
    """
    found = _values(text)
    for waiting, running in zip(_WAITING, _RUNNING, strict=True):
        if waiting in found and running in found:
            return sum(found[waiting].values()), sum(found[running].values())
    return None


def _values(text: str) -> Mapping[str, Mapping[str, float]]:
    """Return the values of the known gauges by their labels; of several processes' values, the largest."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for line in _lines(text):
        read = _LINE.fullmatch(line)
        if read is None or read[1] not in (*_WAITING, *_RUNNING):
            continue
        try:
            value = finite_number(float(read[3]))
        except ValueError:
            continue
        if value is not None and value >= 0:
            labels = ",".join(f"{name}={is_}" for name, is_ in _LABEL.findall(read[2] or "") if name not in _RANKS)
            found[read[1]][labels] = max(value, found[read[1]].get(labels, 0.0))
    return found


def _lines(text: str) -> Iterator[str]:
    return (line for line in text[:_LARGEST].splitlines() if line.startswith(("vllm:", "sglang:", "llamacpp:")))


class Gauges:
    """The gauges of one server. ``models`` asks for its list of models, which tells whether it is one with gauges."""

    def __init__(self, models: Callable[[], Awaitable[HttpReply]], client: HttpClient) -> None:
        self._models, self._client = models, client
        self._known: bool | None = None
        self._failures = 0

    async def load(self) -> tuple[float, float] | None:
        """Return how many requests wait at the judge's server and how many run; None if that is not known."""
        if self._known is False:
            return None
        try:
            if self._known is None and not _has_gauges(await self._models()):
                self._known = False
                return None
            self._known = True
            reply = await self._client.request("GET", "/metrics")
        except BackendError:
            self._fail()
            return None
        found = None
        if reply.status == 200 and len(reply.body) <= _LARGEST:
            found = load_in(reply.body.decode("utf-8", "replace"))
        if found is None:
            self._fail(for_good=reply.status == 501 or 200 < reply.status < 500)
        else:
            self._failures = 0
        return found

    def _fail(self, *, for_good: bool = False) -> None:
        self._failures += 1
        if for_good or self._failures >= _MOST_FAILURES:
            self._known = False  # nothing is asked for again


def _has_gauges(reply: HttpReply) -> bool:
    if reply.status != 200:
        return False
    try:
        require_small_when_decoded(reply.body)
        rows = json.loads(reply.body).get("data")
    except (ValueError, RecursionError, AttributeError):
        return False
    return isinstance(rows, list) and any(isinstance(row, dict) and row.get("owned_by") in OWNERS for row in rows)

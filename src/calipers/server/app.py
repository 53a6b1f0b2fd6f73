"""The ASGI application: a request's host, token and size are checked, its route answers it, and the answer is JSON."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import msgspec

from calipers.monitoring.prometheus import CONTENT_TYPE, exposition
from calipers.server.forms import Health, Problem, Waiting
from calipers.server.limits import (
    CallerGoneError,
    Receive,
    RefusalError,
    Scope,
    Send,
    draining,
    header,
    query_of,
    read_body,
    refusal_for,
    request_id,
    require_own_page,
    wait_of,
)
from calipers.server.routes import ROUTES, Route
from calipers.server.service import Service
from calipers.types.encoding import printable

_log = logging.getLogger("calipers.server")
_ENCODER: Final = msgspec.json.Encoder()
_ROUTES: Final = {route.path: route for route in ROUTES}
_PAGES: Final = ("/healthz", "/readyz", "/metrics")
_MOST_LOGGED: Final = 500
_LEFT: Final = 499
"""The status under which requests are counted whose caller left before there was an answer."""

Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Answer: TypeAlias = tuple[int, bytes, dict[str, str]]


def server_app(service: Service) -> Application:
    """Return the ASGI application of a server. It closes ``service`` when it ends."""
    counts = service.counts

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await _lifespan(service, receive, send)
        name, path, status = request_id(scope), scope["path"], _LEFT
        route = _ROUTES.get(path) if scope["method"] == "POST" else None
        counts.in_flight += route is not None
        try:
            status, body, headers = await _answer(service, route, scope, receive, name)
            if service.draining or status == 408:  # a caller that keeps its connection would come again here
                headers["connection"] = "close"
            await _send(send, status, body, {"x-request-id": name, **headers})
        except CallerGoneError:
            _log.info("%s %s: the caller left before there was an answer", name, path)
        finally:
            if route is not None:
                counts.in_flight -= 1
                counts.requests[path, status] += 1
                _log.debug("%s %s: %d", name, path, status)

    return application


async def _lifespan(service: Service, receive: Receive, send: Send) -> None:
    await receive()
    service.start()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await service.aclose()
    await send({"type": "lifespan.shutdown.complete"})


async def _answer(service: Service, route: Route | None, scope: Scope, receive: Receive, name: str) -> Answer:
    """Return the answer to a request, also where it is refused or fails. Raises CallerGoneError."""
    try:
        if not service.tokens:
            require_own_page(scope)
        return await (_page(service, scope) if route is None else _posted(service, route, scope, receive))
    except CallerGoneError:
        raise
    except asyncio.CancelledError:
        if not service.draining:
            raise
        return _refused(draining(), name)
    except Exception as error:  # noqa: BLE001 - the log has it, and the caller its id
        path, refusal = printable(scope["path"])[:_MOST_LOGGED], refusal_for(error)
        if refusal is None or isinstance(error, OSError):
            _log.exception("%s %s: failed", name, path)
        if refusal is None:
            refusal = RefusalError(500, "internal", f"the server failed; its log says more under {name}")
        _log.warning("%s %s: %d %s", name, path, refusal.status, printable(refusal.logged)[:_MOST_LOGGED])
        return _refused(refusal, name)


async def _posted(service: Service, route: Route, scope: Scope, receive: Receive) -> Answer:
    waits = wait_of(scope) if route.waits else None

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    tenant = service.tenant_of(header(scope, b"authorization"))
    body = await read_body(scope, receive, service.limits.body, tenant.room)
    service.require_open()  # asked last: the server may have begun to end while the body arrived
    asked = route.asked(body, query_of(scope), service.limits.group_size)
    try:
        async with asyncio.timeout(waits):
            return 200, await tenant.answer(route, asked, gone), {}
    except TimeoutError:
        waiting = {"retry-after": "0", "preference-applied": f"wait={waits}"}
        return 202, _ENCODER.encode(Waiting()), waiting


async def _page(service: Service, scope: Scope) -> Answer:
    path, method = scope["path"], scope["method"]
    if path not in _PAGES and path not in _ROUTES:
        known = ", ".join([*_ROUTES, *_PAGES])
        raise RefusalError(404, "not_found", f"there is nothing at {printable(path)[:100]}; there are {known}")
    if path in _ROUTES or method not in {"GET", "HEAD"}:
        raise RefusalError(405, "method_not_allowed", f"{path} does not take {printable(method)[:20]}")
    if path == "/healthz":
        return 200, _ENCODER.encode(Health("ok")), {}
    if path == "/metrics":
        page = await metrics_page(service, header(scope, b"authorization"))
        return 200, page.encode(), {"content-type": CONTENT_TYPE}
    why = await service.why_not_ready()
    return 200 if why is None else 503, _ENCODER.encode(Health("ready" if why is None else "not_ready", why)), {}


async def metrics_page(service: Service, authorization: bytes | None) -> str:
    """Return the server's page for Prometheus, as one tenant may see it: its own groups and its judge's health.

    Raises RefusalError (401).
    """
    tenant = service.tenant_of(authorization)
    gauges = {
        "server_rollouts_waiting": float(tenant.room.taken),
        "server_rollouts_waiting_limit": float(tenant.room.most),
        "server_bytes_waiting": float(tenant.room.taken_bytes),
        "server_bytes_waiting_limit": float(tenant.room.most_bytes),
        "server_requests_in_flight": float(service.counts.in_flight),
        "server_groups_open": float(sum(one.gathering for one in tenant.collectors)),
    }
    lines = ["# TYPE calipers_server_requests_total counter\n"]
    for (path, status), number in sorted(service.counts.requests.items()):
        lines.append(f'calipers_server_requests_total{{path="{path}",status="{status}"}} {number}\n')
    return "".join(lines) + exposition(gauges) + exposition(await tenant.monitor.metrics_in_pieces())


def _refused(refusal: RefusalError, name: str) -> Answer:
    headers = {}
    if refusal.retry_after is not None:
        headers["retry-after"] = str(refusal.retry_after)
    if refusal.status == 401:
        headers["www-authenticate"] = 'Bearer realm="calipers"'
    return refusal.status, _ENCODER.encode(Problem(str(refusal), refusal.kind, name)), headers


async def _send(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    shown = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    raw = [(key.encode(), value.encode()) for key, value in shown.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})

"""The ASGI application: a request's host, token and size are checked, its route answers it, and the answer is JSON."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Page

from calipers.monitoring.prometheus import CONTENT_TYPE, exposition
from calipers.server.forms import Health, Problem, Waiting
from calipers.server.limits import (
    RefusalError,
    WaitingError,
    draining,
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
_MOST_LOGGED: Final = 500

Answer: TypeAlias = Callable[[Request], Awaitable[Response]]


def server_app(service: Service) -> Starlette:
    """Return the ASGI application of a server. It closes ``service`` when it ends."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        await service.aclose()

    async def health(_: Request) -> Response:
        return _json(Health("ok"))

    async def readiness(_: Request) -> Response:
        why = await service.why_not_ready()
        return _json(Health("ready")) if why is None else _json(Health("not_ready", why), 503)

    async def metrics(request: Request) -> Response:
        return Response(await _metrics_page(service, request.headers.get("authorization")), media_type=CONTENT_TYPE)

    pages = {"/healthz": health, "/readyz": readiness, "/metrics": metrics}
    known = ", ".join([*(route.path for route in ROUTES), *pages])

    async def no_route(request: Request, error: Exception) -> Response:
        path, name = printable(request.scope["path"])[:100], request_id(request)
        if isinstance(error, HTTPException) and error.status_code == 405:
            why = f"{path} does not take {printable(request.method)[:20]}"
            return _refused(RefusalError(405, "method_not_allowed", why), name)
        return _refused(RefusalError(404, "not_found", f"there is nothing at {path}; the paths are {known}"), name)

    return Starlette(
        routes=[
            *(
                Page(route.path, _endpoint(service, partial(_posted, service, route)), methods=["POST"])
                for route in ROUTES
            ),
            *(Page(path, _endpoint(service, page), methods=["GET"]) for path, page in pages.items()),
        ],
        exception_handlers={HTTPException: no_route},
        lifespan=lifespan,
    )


def _endpoint(service: Service, answer: Answer) -> Answer:
    """Return ``answer`` as a route: counted, logged, and with a refusal in place of an exception."""

    async def endpoint(request: Request) -> Response:
        name, path = request_id(request), request.scope["path"]
        service.in_flight += 1
        try:
            if not service.tokens:
                require_own_page(request)
            response = await answer(request)
        except asyncio.CancelledError:
            if not service.draining:
                raise
            response = _refused(draining(), name)
        except Exception as error:  # noqa: BLE001 - the log has it, and the caller its id
            refusal = refusal_for(error)
            if refusal is None or isinstance(error, OSError):
                _log.exception("%s %s: failed", name, path)
            if refusal is None:
                refusal = RefusalError(500, "internal", f"the server failed; its log says more under {name}")
            level = logging.INFO if refusal.status == 499 else logging.WARNING
            _log.log(level, "%s %s: %d %s", name, path, refusal.status, printable(refusal.logged)[:_MOST_LOGGED])
            response = _refused(refusal, name)
        finally:
            service.in_flight -= 1
        service.requests[path, response.status_code] += 1
        _log.debug("%s %s: %d", name, path, response.status_code)
        response.headers["x-request-id"] = name
        if service.draining or response.status_code == 408:  # a caller that keeps its connection would come again here
            response.headers["connection"] = "close"
        return response

    return endpoint


async def _posted(service: Service, route: Route, request: Request) -> Response:
    waits = wait_of(request) if route.waits else None

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    tenant = service.tenant_of(request.headers.get("authorization"))
    body = await read_body(request, service.limits.body, tenant.room)
    if service.draining:  # asked last: the server may have begun to end while the body arrived
        raise draining()
    asked = route.asked(body, request.query_params, service.limits.group_size)
    try:
        return Response(await tenant.answer(route, asked, gone, waits), media_type="application/json")
    except WaitingError:
        return _json(Waiting(), 202, {"retry-after": "0", "preference-applied": f"wait={waits}"})


async def _metrics_page(service: Service, authorization: str | None) -> str:
    """Return the server's page for Prometheus, as one tenant may see it: its own groups and its judge's health.

    Raises RefusalError (401).
    """
    tenant = service.tenant_of(authorization)
    gauges = {
        "server_rollouts_waiting": float(tenant.room.taken),
        "server_rollouts_waiting_limit": float(tenant.room.most),
        "server_bytes_waiting": float(tenant.room.taken_bytes),
        "server_bytes_waiting_limit": float(tenant.room.most_bytes),
        "server_requests_in_flight": float(service.in_flight),
        "server_groups_open": float(sum(collector.gathering for collector in tenant.collectors)),
    }
    lines = ["# TYPE calipers_server_requests_total counter\n"]
    for (path, status), number in sorted(service.requests.items()):
        lines.append(f'calipers_server_requests_total{{path="{path}",status="{status}"}} {number}\n')
    return "".join(lines) + exposition(gauges) + exposition(await tenant.monitor.metrics_in_pieces())


def _refused(refusal: RefusalError, name: str) -> Response:
    headers = {"x-request-id": name}
    if refusal.retry_after is not None:
        headers["retry-after"] = str(refusal.retry_after)
    if refusal.status == 401:
        headers["www-authenticate"] = 'Bearer realm="calipers"'
    return _json(Problem(str(refusal), refusal.kind, name), refusal.status, headers)


def _json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(_ENCODER.encode(value), status, headers, "application/json")

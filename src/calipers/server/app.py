"""The ASGI application: every route checks token and size, has its request answered, and answers JSON."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Page

from calipers._version import __version__
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
_WAITING: Final = _ENCODER.encode(Waiting())
_MOST_LOGGED: Final = 500
_LEFT: Final = 499
"""The status under which requests are counted whose caller left before there was an answer."""

Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = dict[str, str]


def server_app(service: Service) -> Application:
    """Return the ASGI application of a server. It closes ``service`` when it ends.

    Requests for our routes go to them at once. Starlette answers all others: its layers and its search for a route take
    a tenth of the CPU of a rollout.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        await service.aclose()

    async def health(_: Request) -> Response:
        return _json(Health("ok"))

    async def readiness(_: Request) -> Response:
        why = await service.why_not_ready()
        return _json(Health("ready")) if why is None else _json(Health("not_ready", why), status=503)

    async def metrics(request: Request) -> Response:
        page = await metrics_page(service, header(request.scope, b"authorization"))
        return Response(page, media_type=CONTENT_TYPE)

    description = openapi(tokens=service.tokens)

    async def described(_: Request) -> Response:
        return _json(description)

    pages = {"/healthz": health, "/readyz": readiness, "/metrics": metrics, "/openapi.json": described}
    endpoints = {route.path: Endpoint(service, route) for route in ROUTES}
    others = Starlette(
        routes=[
            *(Page(path, endpoint, methods=["POST"]) for path, endpoint in endpoints.items()),
            *(Page(path, page, methods=["GET"]) for path, page in pages.items()),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _page_failed, RefusalError: _page_failed, Exception: _page_failed},
    )

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await others(scope, receive, send)
        if not service.tokens:
            try:
                require_own_page(scope)
            except RefusalError as refusal:
                return await _send(send, *_refused(refusal, request_id(scope)))
        endpoint = endpoints.get(scope["path"]) if scope["method"] == "POST" else None
        return await (endpoint or others)(scope, receive, send)

    return application


class Endpoint:
    """One route of a server, as an ASGI application."""

    def __init__(self, service: Service, route: Route) -> None:
        self._service, self._route = service, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. A caller that has left gets nothing."""
        counts, path = self._service.counts, self._route.path
        name, status = request_id(scope), _LEFT
        counts.in_flight += 1
        try:
            status, body, headers = await self._answered(scope, receive, name)
            if self._service.draining or status == 408:  # a caller that keeps its connection would come again here
                headers["connection"] = "close"
            await _send(send, status, body, {"x-request-id": name, **headers})
        except CallerGoneError:
            _log.info("%s %s: the caller left before there was an answer", name, path)
        finally:
            counts.in_flight -= 1
            counts.requests[path, status] += 1
            _log.debug("%s %s: %d", name, path, status)

    async def _answered(self, scope: Scope, receive: Receive, name: str) -> tuple[int, bytes, Headers]:
        service, route = self._service, self._route
        waits = wait_of(scope) if route.waits else None

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        try:
            tenant = service.tenant_of(header(scope, b"authorization"))
            body = await read_body(scope, receive, service.limits.body, tenant.room)
            service.require_open()  # asked last: the server may have begun to end while the body arrived
            asked = route.asked(body, query_of(scope), service.limits.group_size)
            try:
                async with asyncio.timeout(waits):
                    return 200, await tenant.answer(route, asked, gone), {}
            except TimeoutError:
                return 202, _WAITING, {"retry-after": "0", "preference-applied": f"wait={waits}"}
        except CallerGoneError:
            raise
        except asyncio.CancelledError:
            if not service.draining:
                raise
            return _refused(draining(), name)
        except Exception as error:  # noqa: BLE001 - the log has it, and the caller its id
            refusal = refusal_for(error)
            if refusal is None or isinstance(error, OSError):
                _log.exception("%s %s: failed", name, route.path)
            refusal = refusal or _internal(name)
            shown = printable(refusal.logged)[:_MOST_LOGGED]
            _log.warning("%s %s: %d %s", name, route.path, refusal.status, shown)
            return _refused(refusal, name)


async def metrics_page(service: Service, authorization: bytes | None) -> str:
    """Return the server's page for Prometheus, as one tenant may see it: its own groups and its judge's health.

    Raises RefusalError (401).
    """
    tenant = service.tenant_of(authorization)
    health = await tenant.monitor.metrics_in_pieces()
    gauges = {
        "server_rollouts_waiting": float(tenant.room.taken),
        "server_rollouts_waiting_limit": float(tenant.room.most),
        "server_bytes_waiting": float(tenant.room.taken_bytes),
        "server_bytes_waiting_limit": float(tenant.room.most_bytes),
        "server_requests_in_flight": float(service.counts.in_flight),
        "server_groups_open": float(sum(one.gathering for one in tenant.collectors)),
        "server_draining": float(service.draining),
    }
    counters = {
        "requests_total": [
            (f'{{path="{path}",status="{status}"}}', number)
            for (path, status), number in sorted(service.counts.requests.items())
        ],
        "repeated_total": [("", sum(one.repeated for one in tenant.collectors))],
        "late_total": [("", tenant.own.late)],
    }
    lines = []
    for name, rows in counters.items():
        lines.append(f"# TYPE calipers_server_{name} counter\n")
        lines += [f"calipers_server_{name}{labels} {number}\n" for labels, number in rows]
    return "".join(lines) + exposition(gauges) + exposition(health)


def openapi(*, tokens: bool) -> dict[str, Any]:
    """Return the server's description as an OpenAPI 3.1 document. ``tokens`` says whether requests need one."""
    template = "#/components/schemas/{name}"
    types = [Problem, Waiting, *(form for route in ROUTES for form in (route.form, route.answer))]
    _, components = msgspec.json.schema_components(types, ref_template=template)

    def schema(form: Any) -> dict[str, Any]:
        return msgspec.json.schema_components([form], ref_template=template)[0][0]

    def content(description: str, form: Any) -> dict[str, Any]:
        return {"description": description, "content": {"application/json": {"schema": schema(form)}}}

    def parameters(route: Route) -> list[dict[str, Any]]:
        found = [
            {"name": one.name, "in": "query", "description": one.description, "schema": schema(one.form)}
            for one in route.parameters
        ]
        wait = "`wait=N`: answer after at most N seconds, with 202 if there is no result yet. Then ask again."
        shown = {"name": "Prefer", "in": "header", "description": wait, "schema": {"type": "string"}}
        return [*found, shown] if route.waits else found

    problem: dict[str, Any] = {
        "default": content("Why there is no answer. The log has it under the request's id.", Problem)
    }
    waiting: dict[str, Any] = {"202": content("There is no result yet; ask again.", Waiting)}
    posts: dict[str, Any] = {
        route.path: {
            "post": {
                "operationId": route.name,
                "summary": route.summary,
                "parameters": parameters(route),
                "requestBody": {"required": True, "content": content("", route.form)["content"]},
                "responses": {
                    "200": content("The answer.", route.answer),
                    **(waiting if route.waits else {}),
                    **problem,
                },
            }
        }
        for route in ROUTES
    }
    schemes = {name: {"type": "http", "scheme": name} for name in ("bearer", "basic")}
    return {
        "openapi": "3.1.0",
        "info": {"title": "calipers", "version": __version__, "license": {"name": "Apache-2.0"}},
        "paths": posts,
        "components": {"schemas": components, "securitySchemes": schemes},
        **({"security": [{name: []} for name in schemes]} if tokens else {}),
    }


async def _page_failed(request: Request, error: Exception) -> Response:
    name, path = request_id(request.scope), printable(request.url.path)[:_MOST_LOGGED]
    refusal = error if isinstance(error, RefusalError) else _internal(name)
    if isinstance(error, HTTPException) and error.status_code == 404:
        refusal = RefusalError(404, "not_found", f"there is nothing at {path}; /openapi.json lists what there is")
    elif isinstance(error, HTTPException):
        refusal = RefusalError(error.status_code, "method_not_allowed", f"{path} does not take {request.method}")
    status, body, headers = _refused(refusal, name)
    allowed = dict(getattr(error, "headers", None) or {})
    return Response(body, status, {**allowed, **headers}, media_type="application/json")


def _refused(refusal: RefusalError, name: str) -> tuple[int, bytes, Headers]:
    headers = {"x-request-id": name}
    if refusal.retry_after is not None:
        headers["retry-after"] = str(refusal.retry_after)
    if refusal.status == 401:
        headers["www-authenticate"] = 'Bearer realm="calipers"'
    return refusal.status, _ENCODER.encode(Problem(str(refusal), refusal.kind, name)), headers


def _internal(name: str) -> RefusalError:
    return RefusalError(500, "internal", f"the server failed; its log says more under {name}")


def _json(value: Any, *, status: int = 200) -> Response:
    return Response(_ENCODER.encode(value), status, media_type="application/json")


async def _send(send: Send, status: int, body: bytes, headers: Headers) -> None:
    shown = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    raw = [(key.encode(), value.encode()) for key, value in shown.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})

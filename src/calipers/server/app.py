"""The ASGI application: every route checks token and size, calls its operation, and answers JSON."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from calipers.errors import CalipersError
from calipers.monitoring.prometheus import CONTENT_TYPE, exposition
from calipers.server.engines import ENGINES
from calipers.server.forms import Health, Problem, Waiting
from calipers.server.openapi import openapi
from calipers.server.own_routes import OWN
from calipers.server.requests import (
    Call,
    CallerGoneError,
    Operation,
    Receive,
    Scope,
    Send,
    header,
    patience,
    query_of,
    read_body,
    request_id,
    require_own_page,
)
from calipers.server.room import RefusalError, Room, draining, refusal_for, short_of
from calipers.server.service import Counts, Service
from calipers.server.tenant import Tenant
from calipers.types.encoding import printable


async def metrics_page(counts: Counts, room: Room, tenant: Tenant, *, draining: bool) -> str:
    """Return the server's page for Prometheus, as one tenant may see it: its own groups and its judge's health."""
    health = await tenant.monitor.metrics_in_pieces()
    gauges = {
        "server_rollouts_waiting": float(room.taken),
        "server_rollouts_waiting_limit": float(room.most),
        "server_bytes_waiting": float(room.taken_bytes),
        "server_bytes_waiting_limit": float(room.most_bytes),
        "server_requests_in_flight": float(counts.in_flight),
        "server_groups_open": float(tenant.gathering),
        "server_draining": float(draining),
    }
    lines = ["# TYPE calipers_server_requests_total counter"]
    for (path, status), number in sorted(counts.requests.items()):
        lines.append(f'calipers_server_requests_total{{path="{path}",status="{status}"}} {number}')
    lines.append("# TYPE calipers_server_request_seconds_total counter")
    lines += [
        f'calipers_server_request_seconds_total{{path="{path}"}} {seconds:.6f}'
        for path, seconds in sorted(counts.seconds.items())
    ]
    lines += [
        "# TYPE calipers_server_repeated_total counter",
        f"calipers_server_repeated_total {tenant.repeated}",
        "# TYPE calipers_server_late_total counter",
        f"calipers_server_late_total {tenant.rollouts.late}",
    ]
    return "".join(f"{line}\n" for line in lines) + exposition(gauges) + exposition(health)


_log = logging.getLogger("calipers.server")
_ENCODER: Final = msgspec.json.Encoder()
_JSON: Final = (b"content-type", b"application/json")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""What some clients put before UTF-8. No JSON begins with it."""
_CLOSE: Final = (b"connection", b"close")
_WAITING: Final = _ENCODER.encode(Waiting())
_MOST_LOGGED: Final = 500
_LEFT: Final = 499
"""The status under which requests are counted whose caller left before there was an answer."""

Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

OPERATIONS: Final = (*OWN, *ENGINES)


def server_app(service: Service) -> Application:
    """Return the ASGI application of a server. It closes ``service`` when it ends.

    Requests for operations go to them at once. Starlette answers all others: its layers and its search for a route take
    a tenth of the CPU of a rollout.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        service.start()
        yield
        await service.aclose()

    described = _ENCODER.encode(openapi(OPERATIONS, tokens=service.tokens))
    pages = _Pages(service, described)
    endpoints = {one.path: Endpoint(service, one) for one in OPERATIONS}
    others = Starlette(
        routes=[
            *(Route(path, endpoint, methods=["POST"]) for path, endpoint in endpoints.items()),
            Route("/healthz", pages.health, methods=["GET"]),
            Route("/readyz", pages.readiness, methods=["GET"]),
            Route("/metrics", pages.metrics, methods=["GET"]),
            Route("/openapi.json", pages.openapi, methods=["GET"]),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_problem, RefusalError: _refused, Exception: _failed},
    )

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        asked = endpoints.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if asked is None and scope["type"] == "http" and not service.tokens:
            try:
                require_own_page(scope)
            except RefusalError as refusal:
                await _send(send, refusal.status, _problem(refusal, request_id(scope)), [])
                return
        await (asked or others)(scope, receive, send)

    return application


class Endpoint:
    """One operation of a server, as an ASGI application."""

    def __init__(self, service: Service, operation: Operation) -> None:
        self._service, self._operation = service, operation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to the server. A caller that has left gets nothing."""
        counts, started = self._service.counts, time.perf_counter()
        name, status = request_id(scope), _LEFT
        counts.in_flight += 1
        try:
            status, body, more = await self._answered(scope, receive, name)
            if (
                self._service.draining or status == 408
            ):  # a caller that keeps its connection would come again to this server
                more = [*more, _CLOSE]
            await _send(send, status, body, [(b"x-request-id", name.encode()), *more])
        except CallerGoneError:
            _log.info("%s %s: the caller left before there was an answer", name, self._operation.path)
        finally:
            counts.in_flight -= 1
            counts.requests[self._operation.path, status] += 1
            counts.seconds[self._operation.path] += time.perf_counter() - started
            if _log.isEnabledFor(logging.DEBUG):
                _log.debug("%s %s: %d", name, self._operation.path, status)

    async def _answered(
        self, scope: Scope, receive: Receive, name: str
    ) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
        try:
            waits = patience(scope) if self._operation.waits else None
            call = await self._call(scope, receive)
            with self._service.answering():
                try:
                    async with asyncio.timeout(waits):
                        return 200, await self._operation.handler(call), []
                except TimeoutError:
                    return 202, _WAITING, [(b"retry-after", b"0"), (b"preference-applied", f"wait={waits}".encode())]
        except RefusalError as refusal:
            return self._refusal(refusal, name)
        except CalipersError as error:
            return self._refusal(refusal_for(error), name)
        except CallerGoneError:
            raise
        except OSError as error:  # out of open files or memory, which passes
            _log.exception("%s %s: failed", name, self._operation.path)
            return self._refusal(short_of(error), name)
        except Exception:  # noqa: BLE001 - the log has it, and the caller its id
            _log.exception("%s %s: failed", name, self._operation.path)
            return self._refusal(_internal(name), name)

    async def _call(self, scope: Scope, receive: Receive) -> Call:
        service = self._service
        if not service.tokens:
            require_own_page(scope)
        tenant = service.tenant_of(header(scope, b"authorization"))
        query = query_of(scope)
        parameters = {one.name: one.read(query) for one in self._operation.parameters}
        async with service.reading():
            body = await self._body(scope, receive, tenant.room)
        if service.draining:  # asked last, because the server may have begun to end while the body arrived
            raise draining()

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        return Call(tenant, body, parameters, gone)

    async def _body(self, scope: Scope, receive: Receive, room: Room) -> bytes:
        counted = 0

        def arrive(size: int) -> None:
            nonlocal counted
            counted += size
            room.arrive(size)

        try:
            body = await read_body(scope, receive, self._service.limits.body, arrive)
        finally:
            room.arriving -= counted
        return body.removeprefix(_BYTE_ORDER_MARK)

    def _refusal(self, refusal: RefusalError, name: str) -> tuple[int, bytes, list[tuple[bytes, bytes]]]:
        _log.warning(
            "%s %s: %d %s", name, self._operation.path, refusal.status, printable(refusal.logged)[:_MOST_LOGGED]
        )
        return refusal.status, _problem(refusal, name), _headers(refusal)


class _Pages:
    """The server's pages about itself."""

    def __init__(self, service: Service, described: bytes) -> None:
        self._service, self._described = service, described

    async def health(self, _: Request) -> Response:
        return _json(Health("ok"))

    async def readiness(self, _: Request) -> Response:
        why = await self._service.why_not_ready()
        return _json(Health("ready")) if why is None else _json(Health("not_ready", why), status=503)

    async def metrics(self, request: Request) -> Response:
        tenant = self._service.tenant_of(header(request.scope, b"authorization"))
        page = await metrics_page(self._service.counts, tenant.room, tenant, draining=self._service.draining)
        return Response(page, media_type=CONTENT_TYPE)

    async def openapi(self, _: Request) -> Response:
        return Response(self._described, media_type="application/json")


async def _http_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - Starlette calls it with nothing else
    kinds: Any = {404: "not_found", 405: "method_not_allowed"}
    path = printable(request.url.path)[:_MOST_LOGGED]
    message = {
        404: f"there is nothing at {path}; /openapi.json lists what there is",
        405: f"{path} does not take {request.method}",
    }.get(error.status_code, error.detail)
    refusal = RefusalError(error.status_code, kinds.get(error.status_code, "invalid"), message)
    return _response(refusal, request, dict(error.headers or {}))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusalError)  # noqa: S101 - as above
    return _response(error, request, {})


async def _failed(request: Request, _: Exception) -> Response:
    return _response(_internal(request_id(request.scope)), request, {})


def _response(refusal: RefusalError, request: Request, headers: dict[str, str]) -> Response:
    name = request_id(request.scope)
    more = {key.decode(): value.decode() for key, value in _headers(refusal)} | {"x-request-id": name}
    return Response(_problem(refusal, name), refusal.status, headers | more, media_type="application/json")


def _problem(refusal: RefusalError, name: str) -> bytes:
    return _ENCODER.encode(Problem(str(refusal), refusal.kind, name))


def _headers(refusal: RefusalError) -> list[tuple[bytes, bytes]]:
    found = []
    if refusal.retry_after is not None:
        found.append((b"retry-after", str(refusal.retry_after).encode()))
    if refusal.status == 401:
        found.append((b"www-authenticate", b'Bearer realm="calipers"'))
    return found


def _internal(name: str) -> RefusalError:
    return RefusalError(500, "internal", f"the server failed; its log says more under {name}")


def _json(value: Any, *, status: int = 200) -> Response:
    return Response(_ENCODER.encode(value), status, media_type="application/json")


async def _send(send: Send, status: int, body: bytes, more: list[tuple[bytes, bytes]]) -> None:
    headers = [_JSON, (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

"""The OpenAPI description of the server, made of the same operations and forms that answer requests. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from calipers._version import __version__
from calipers.server.forms import Health, Problem, Waiting
from calipers.server.requests import Operation

_TEMPLATE: Final = "#/components/schemas/{name}"
_PROBLEMS: Final = {
    400: "The request is not JSON.",
    401: "The token is missing or wrong.",
    403: "The server has no tokens, and the request names another host, or is that of another host's page.",
    405: "The path takes another method.",
    408: "The request did not arrive within 60 seconds. Send it again.",
    409: "It contradicts what arrived before under the same id: other content, size, context, tools or rubric.",
    413: "The request is larger than --max-body-mb, or its group than twice --max-waiting-mb.",
    415: "The request is compressed (Content-Encoding).",
    422: "The request is JSON, but not what the operation takes.",
    429: "The server is full. Ask again after Retry-After seconds; nothing was lost.",
    500: "An error of the server. The log has it under the request's id.",
    503: "The server is about to end, its ledger fails, or the judge refuses every question.",
}
_WAIT: Final = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`wait=N`: answer after at most N seconds, with 202 if there is no result yet. Then ask again.",
    "schema": {"type": "string"},
    "example": "wait=50",
}


def openapi(operations: Sequence[Operation], *, tokens: bool) -> dict[str, Any]:
    """Return the server's description as an OpenAPI 3.1 document. ``tokens`` says whether requests need one."""
    types = [one for operation in operations for one in (operation.form, operation.answer) if one is not None]
    _, components = msgspec.json.schema_components([*types, Problem, Waiting, Health], ref_template=_TEMPLATE)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "calipers",
            "version": __version__,
            "description": "LLM judges' opinions as rewards. A reward is a number or null with a reason: a failed "
            "judgment is never a number.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {one.path: {"post": _operation(one)} for one in operations} | _plain_paths(tokens=tokens),
        "components": {"schemas": components},
    }
    if tokens:
        document["components"]["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "basic": {"type": "http", "scheme": "basic", "description": "The token is the password."},
        }
        document["security"] = [{"bearer": []}, {"basic": []}]
    return document


def _operation(operation: Operation) -> dict[str, Any]:
    parameters = [
        {
            "name": one.name,
            "in": "query",
            "required": False,
            "description": one.description,
            "schema": _schema(one.form),
        }
        for one in operation.parameters
    ]
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*parameters, _WAIT] if operation.waits else parameters,
        "responses": {
            "200": _content("The answer.", operation.answer, operation.answer_example),
            **({"202": _content("There is no result yet; ask again.", Waiting)} if operation.waits else {}),
            **{str(status): _content(text, Problem) for status, text in _PROBLEMS.items()},
        },
    }
    if operation.form is not None:
        described["requestBody"] = {"required": True, "content": _json(operation.form, operation.example)}
    return described


def _content(description: str, form: Any, example: Any = None) -> dict[str, Any]:
    return {"description": description, "content": _json(form, example)}


def _json(form: Any, example: Any) -> dict[str, Any]:
    shown = {} if example is None else {"example": example}
    return {"application/json": {"schema": _schema(form), **shown}}


def _schema(form: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([form], ref_template=_TEMPLATE)
    return schema


def _plain_paths(*, tokens: bool) -> dict[str, Any]:
    open_to_all: Mapping[str, Any] = {"security": []} if tokens else {}
    health = {"200": _content("It does.", Health), "405": _content(_PROBLEMS[405], Problem)}
    ready = {"200": _content("It can.", Health), "503": _content("It cannot, and why.", Health), "405": health["405"]}
    page = {"200": {"description": "Prometheus' text format.", "content": {"text/plain": {}}}, "405": health["405"]}
    page |= {"401": _content(_PROBLEMS[401], Problem)} if tokens else {}
    return {
        "/healthz": {
            "get": {**open_to_all, "operationId": "health", "summary": "Does the process run?", "responses": health}
        },
        "/readyz": {
            "get": {
                **open_to_all,
                "operationId": "readiness",
                "summary": "Can it judge now: the judge answers, the ledger can be read, and it is not about to end.",
                "responses": ready,
            }
        },
        "/metrics": {
            "get": {"operationId": "metrics", "summary": "Counts and health of the judge.", "responses": page}
        },
    }

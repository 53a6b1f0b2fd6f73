"""The server's operations as data: path, forms, answers and examples. Routes and OpenAPI are both made of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from calipers.server.problems import RefusalError, invalid
from calipers.server.tenant import Tenant
from calipers.types.encoding import printable

Gone: TypeAlias = Callable[[], Awaitable[None]]
"""Returns when the caller has left."""


class CallerGoneError(Exception):
    """The caller of a request to the server left before there was an answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the server that passed the checks of all operations.

    ``parameters`` has the values of its operation's parameters, or their defaults.
    """

    tenant: Tenant
    body: bytes
    parameters: Mapping[str, Any]
    gone: Gone


Handler: TypeAlias = Callable[[Call], Awaitable[bytes]]
"""Returns the JSON of an answer. Raises RefusalError, CalipersError and CallerGoneError."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the query of a request to the server.

    ``form`` is what its value must be; ``default`` is the value where the query holds none.
    """

    name: str
    description: str
    form: Any
    default: Any = None

    def read(self, query: Mapping[str, str]) -> Any:
        """Return the value in the query of a URL, or the default. Raises RefusalError for what cannot be one."""
        text = query.get(self.name)
        if text is None:
            return self.default
        try:
            return msgspec.convert(text, self.form, strict=False)
        except msgspec.ValidationError as error:
            raise invalid(f"?{self.name}={printable(text[:40])} in the URL: {error}") from None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the server: POST to ``path``.

    ``form`` is what a request holds, and ``answer`` what the server answers; None is any JSON, described by the
    examples. ``waits`` says that the answer may take long, and that the request may say how long it waits.
    """

    path: str
    name: str
    summary: str
    handler: Handler
    form: Any = None
    answer: Any = None
    example: Any = None
    answer_example: Any = None
    parameters: tuple[Parameter, ...] = field(default=())
    waits: bool = False


def decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Return the body of a request to the server as the decoder's type. Raises RefusalError (400, 422)."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusalError(400, "bad_json", f"the request is not JSON: {error}") from None
    except RecursionError:
        raise RefusalError(400, "bad_json", "the request is JSON that is nested too deeply") from None

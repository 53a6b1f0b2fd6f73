"""The server of the label page, on loopback: groups go out blinded, and rankings come in.

An answer says "saved" only after the label is on the disk. Not responsible for who may ask (``loopback``) or for
what a request means (``session``).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from calipers.errors import CalipersError, InputError
from calipers.inputs.jsonl import parse_json_line
from calipers.labelling.label_file import StaleLabelError
from calipers.labelling.loopback import LoopbackHandler, LoopbackServer
from calipers.labelling.page_source import label_page, label_policy
from calipers.labelling.session import RefusedLabelError, Session

LARGEST_BODY: Final = 256 * 1024
"""The most bytes of a request's body: the ranks of thousands of candidates and a note."""


class LabelServer(LoopbackServer):
    """Serves the page of ``session`` on loopback. ``port`` 0 takes a free one. Raises ConfigError if it is taken."""

    def __init__(self, session: Session, *, port: int = 0) -> None:
        self.session = session
        super().__init__(_Handler, port=port)


class _Handler(LoopbackHandler):
    printed_by = "calipers label"
    server: LabelServer

    def policy(self) -> str:
        return label_policy()

    def get(self, rest: str, query: dict[str, list[str]]) -> None:
        session, token = self.server.session, query.get("token", [None])[0]
        if rest == "":
            page = label_page()
            self.begin(HTTPStatus.OK, "text/html; charset=utf-8", len(page))
            self.wfile.write(page)
        elif rest in {"next", "previous"}:
            self._answer(lambda: session.next(token) if rest == "next" else session.previous(token))
        else:
            self.say(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def do_POST(self) -> None:  # noqa: N802 - the library's name
        rest = self.allowed_path()
        if rest is None:
            return
        body = self._body()
        if body is None:
            return
        session, token = self.server.session, str(body.get("token"))
        if rest == "label":
            self._answer(lambda: session.save(token, body.get("ranks"), body.get("note"), body.get("based_on")))
        elif rest == "undo":
            self._answer(lambda: session.take_back(token, body.get("based_on")))
        else:
            self.say(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _body(self) -> dict[str, Any] | None:
        """Return the JSON object of a request's body, or answer the request with an error and return None."""
        length = self.headers.get("Content-Length", "")
        own = {f"http://{host}" for host in self.server.hosts}
        self.close_connection = True  # whatever is refused here is not read, and would be taken for the next request
        if self.headers.get("Origin", next(iter(own))) not in own:
            self.say(HTTPStatus.FORBIDDEN, "This server takes labels from its own page only.")
        elif self.headers.get_content_type() != "application/json":
            self.say(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "A label is sent as application/json.")
        elif not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            self.say(HTTPStatus.LENGTH_REQUIRED, "A request needs a Content-Length.")
        elif len(length) > 12 or int(length) > LARGEST_BODY:
            self.say(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request has at most {LARGEST_BODY:,} bytes.")
        elif isinstance(value := parse_json_line(self.rfile.read(int(length))), str):
            self.say(HTTPStatus.BAD_REQUEST, f"The body is no JSON object: {value}")
        else:
            return value
        return None

    def _answer(self, act: Any) -> None:
        """Answer with what ``act`` returns, or with why it does not."""
        try:
            found = act()
        except StaleLabelError as error:
            self.send_json(HTTPStatus.CONFLICT, {"error": str(error), "revision": error.revision})
        except RefusedLabelError as error:
            self.send_json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except InputError as error:
            self.server.session.report(error)  # its text names the group, which the page must not know
            self.send_json(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": "The group cannot be read; see the terminal."})
        except CalipersError as error:
            self.send_json(HTTPStatus.INSUFFICIENT_STORAGE, {"error": str(error)})
        else:
            self.send_json(HTTPStatus.OK, found)

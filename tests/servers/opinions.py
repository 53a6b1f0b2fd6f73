"""A judge with opinions of its own for a FaultyServer: what it thinks of an attempt depends on the attempt's text
alone.

So the same attempts get the same scores whatever the order, the process or the question they are shown in, and a run in
which something failed can be held against one in which nothing did.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, field

from servers.faulty_server import Answer, Asked, FaultyServer, error, said

_SHOWN = re.compile(r"^@(\w+) candidate (\w+)\n(.*?)(?=^@\1 (?:candidate|end\n))", re.MULTILINE | re.DOTALL)


def shown(asked: Asked) -> dict[str, str]:
    """The attempts of a question by their keys, as the judge reads them, without the question's marker."""
    text = asked.body["messages"][-1]["content"]
    return {key: body.replace(f"@{marker}", "@") for marker, key, body in _SHOWN.findall(text)}


def wanted(asked: Asked) -> list[str]:
    """The keys that are to get a score."""
    schema = asked.body["response_format"]["json_schema"]["schema"]
    return list(schema["properties"]["scores"]["required"])


def worth(text: str) -> int:
    """From 11 to 100, and seldom alike for two texts. Groups of lower scores alone would be doubt about the scale."""
    return 11 + zlib.crc32(text.encode()) % 90


def reward_of(completion: str) -> float:
    """The reward of a completion of plain text, with the default range."""
    return worth(f"@ assistant\n{completion}\n") / 100


@dataclass
class Opinions:
    """Answers questions about attempts. ``silent_on_one``: of each group, about one attempt it never says anything.

    ``refuses`` is text that makes a question fail with a server error; "" is in every question.
    """

    silent_on_one: bool = False
    refuses: str | None = None
    unspoken: set[str] = field(default_factory=set)
    groups: int = 0

    def __call__(self, asked: Asked) -> Answer:
        attempts = shown(asked)
        text = asked.body["messages"][-1]["content"]
        if self.refuses is not None and self.refuses in text:
            return error(500)
        if "An earlier reply" not in text:
            self.groups += 1
            if self.silent_on_one:
                self.unspoken.add(min(attempts.values()))
        told = {key: body for key, body in attempts.items() if key in wanted(asked) and body not in self.unspoken}
        verdict = {
            "explanations": {key: f"worth {worth(body)}" for key, body in told.items()},
            "scores": {key: worth(body) for key, body in told.items()},
        }
        return said(json.dumps(verdict))


def models(server: FaultyServer, *names: str) -> None:
    """Let the server list ``names`` as its models."""
    listed = [{"id": name, "object": "model"} for name in names]
    server.get["/v1/models"] = Answer(body={"object": "list", "data": listed})

"""A loopback judge that can sleep, with vLLM's endpoints as documented: /sleep?level=, /wake_up, /is_sleeping.

``events`` are what it was asked for, in order. A question while it sleeps is ``asked asleep``, and fails, as does one
during ``wake_fails`` of the first wakes.
"""

from __future__ import annotations

import threading
from typing import Any

from http_judge import worth
from servers.faulty_server import Answer, Asked, FaultyServer, error


class SleepingServer(FaultyServer):
    """Sleeps at first. What it says of attempts is ``told``, or their worth (``http_judge.worth``)."""

    def __init__(self, *, wake_fails: int = 0, takes: float = 0.0, refuses: int = 503, told: Any = None) -> None:
        super().__init__()
        self.events: list[str] = []
        self._fails, self._takes, self._refuses = wake_fails, takes, refuses
        self._told: Any = told or worth()
        self.waking, self.rested = threading.Event(), threading.Event()
        self._now_sleeps(sleeping=True)
        self.script(self._reply)

    def _now_sleeps(self, *, sleeping: bool) -> None:
        self.sleeping = sleeping
        self.get["/is_sleeping"] = Answer(body={"is_sleeping": sleeping})

    def _reply(self, asked: Asked) -> Answer:
        path = asked.path
        if path == "/wake_up":
            self._fails -= 1
            if self._fails >= 0:
                self.events.append("wake failed")
                return error(self._refuses, "no memory")
            self.events.append("wake")
            self._now_sleeps(sleeping=False)
            self.waking.set()
            return Answer(takes=self._takes)
        if path.startswith("/sleep?level="):
            self.events.append(f"sleep {path[-1]}")
            self._now_sleeps(sleeping=True)
            self.rested.set()
            return Answer(takes=self._takes)
        self.events.append("asked asleep" if self.sleeping else "asked")
        return error(500, "the engine sleeps") if self.sleeping else self._told(asked)

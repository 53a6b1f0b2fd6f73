"""A shop as an OpenEnv environment: its server, and the class with its client that TRL makes environments of.

Import it only where openenv-core is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from openenv.core import Action, Environment, GenericEnvClient, Observation, State
from openenv.core.env_server.http_server import create_fastapi_app

from own_process import serving


class Order(Action):  # type: ignore[misc]  # of a package that is not installed where types are checked
    item: str


class Receipt(Observation):  # type: ignore[misc]  # likewise
    text: str


class ShopServer(Environment):  # type: ignore[misc]  # likewise
    """The environment as the server runs it, one for each session; it has no milk."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._orders: list[str] = []

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Receipt:
        self._orders = []
        return Receipt(text=" the shop is open", done=False, reward=None)

    def step(self, action: Order, timeout_s: float | None = None, **_: Any) -> Receipt:
        if action.item == "milk":
            raise LookupError("there is no milk")
        self._orders.append(action.item)
        return Receipt(text=f"ordered {', '.join(self._orders)}", done=False, reward=None)

    @property
    def state(self) -> State:
        return State(episode_id="shop", step_count=len(self._orders))


class Shop:
    """What ``environment_factory`` makes: the tools' methods call the server, each instance in a session of its own."""

    url = ""
    made: ClassVar[list[Shop]] = []

    def __init__(self) -> None:
        self._client = GenericEnvClient(base_url=self.url).sync()
        self.made.append(self)

    def reset(self, **_: Any) -> str:
        return str(self._client.reset().observation["text"])

    def place_order(self, item: str) -> str:
        """Order an item.

        Args:
            item: what to order
        """
        return str(self._client.step({"item": item}).observation["text"])


@contextmanager
def served(sessions: int) -> Iterator[type[Shop]]:
    """OpenEnv's own server in a thread, and the class whose instances play there."""
    app = create_fastapi_app(ShopServer, Order, Receipt, max_concurrent_envs=sessions)
    # "critical", because OpenEnv's server logs a traceback where a client closes first
    with serving(app, log_level="critical") as address:

        class Here(Shop):
            url = address
            made: ClassVar[list[Shop]] = []

        try:
            yield Here
        finally:
            for shop in Here.made:
                shop._client.close()

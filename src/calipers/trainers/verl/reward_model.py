"""A judge served by verl's own reward-model workers: the address of verl's router, and rewards after the rollout.

verl starts the servers and the router, wakes the servers and puts them to rest. Not responsible for that, or for
judging. Needs neither verl nor Ray, except for ``router_of_workers``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from calipers.errors import ConfigError

ROUTER: Final = "router"
"""The ``base_url`` that stands for verl's router of reward-model servers, whose address is known only in the run."""


def with_router(options: Mapping[str, Any], address: str | None) -> dict[str, Any]:
    """Return a Judge's options with the ``address`` (host:port) of verl's router for each ``base_url=router``.

    Raises ConfigError if there is one, and verl has no router.
    """
    urls = options.get("base_url")
    if isinstance(urls, Mapping):
        return {**options, "base_url": {judge: _routed(url, address) for judge, url in urls.items()}}
    return {**options, "base_url": _routed(urls, address)} if urls is not None else dict(options)


def _routed(url: Any, address: str | None) -> Any:
    if url != ROUTER:
        return url
    if not address:
        raise ConfigError(
            "+calipers.base_url=router: verl serves no judge here. Set reward.reward_model.enable=true, "
            "reward.reward_model.model_path and reward.reward_model.rollout.name, or give the address of a server"
        )
    return f"http://{address}/v1"


def router_of_workers(handles: Sequence[Any] | None) -> str | None:
    """Return the address of the router that verl's reward workers know, or None if there is none.

    ``handles`` are the Ray actors of verl's RewardLoopWorkers, which agent loops get unless the judge is colocated.
    """
    if not handles:
        return None
    import ray  # noqa: PLC0415 - only where verl is

    address = ray.get(handles[0].__ray_call__.remote(_address_of_worker))
    return None if address is None else str(address)


def _address_of_worker(worker: Any) -> str | None:
    address = worker.reward_router_address
    return None if address is None else str(address)


def is_colocated(config: Any) -> bool:
    """Return whether verl's reward model shares GPUs with the policy, so that it is asked only after the rollouts."""
    model = config.reward.reward_model
    return bool(model.enable and not model.enable_resource_pool)


def key_of_prompt(prompt: Any) -> str:
    """Return the same text for equal prompts of verl, which passes nothing else that a colocated judge could group by.

    It is a digest of the prompt's messages.
    """
    return sha256(json.dumps(list(prompt), sort_keys=True, default=str).encode()).hexdigest()

"""Several servers of one judge: each examined, what tells them apart, and one verdict on all."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator

import pytest

from calipers.doctor import Check, Diagnosis, Servers, diagnose_each
from calipers.doctor.servers import compare_servers
from calipers.errors import ConfigError
from doctor.probe_judges import MODELS, judge, truth
from servers.faulty_server import Answer, FaultyServer, error, said

_NARROW = Answer(body={"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 4096}]})


@pytest.fixture
def other() -> Iterator[FaultyServer]:
    with FaultyServer() as server:
        yield server


async def examine(*servers: FaultyServer) -> Servers:
    return await diagnose_each("vllm/m", [server.url for server in servers], rng=random.Random(1))


async def test_servers_that_are_alike_are_fit_together(faulty: FaultyServer, other: FaultyServer) -> None:
    for server in (faulty, other):
        server.get["/v1/models"] = MODELS
        server.script(judge())
    found = await examine(faulty, other)
    assert (found.verdict, found.differences) == ("fit", ())
    assert found.settings == {"judge": "vllm/m", "base-url": [faulty.url, other.url]}
    whole = found.to_dict()
    assert whole["calls"] == 78
    assert {one["verdict"] for one in whole["servers"].values()} == {"fit"}
    assert tomllib.loads(whole["toml"])["base-url"] == [faulty.url, other.url]


async def test_what_tells_them_apart_is_named_and_the_smaller_window_is_set(
    faulty: FaultyServer, other: FaultyServer
) -> None:
    faulty.get["/v1/models"], other.get["/v1/models"] = MODELS, _NARROW
    faulty.script(judge())
    other.script(judge(check_applied_format=lambda _: said("An apple.")))
    found = await examine(faulty, other)
    told = {line.partition(":")[0]: line for line in found.differences}
    assert {"context window", "json_schema applied", "json_object applied"} <= told.keys()
    assert f"{faulty.url}: 32,768 tokens" in told["context window"]
    assert f"{other.url}: 4,096 tokens" in told["context window"]
    assert "agreement" not in told
    assert found.settings["context-window"] == 4096


async def test_an_unfit_server_is_left_out_with_its_reason(faulty: FaultyServer, other: FaultyServer) -> None:
    faulty.get["/v1/models"] = other.get["/v1/models"] = MODELS
    faulty.script(judge())
    other.script(judge(lambda asked: {key: 1 - value for key, value in truth(asked).items()}))
    found = await examine(faulty, other)
    assert found.verdict == "fit with these settings"
    assert f"leave out {other.url}: no better than chance" in found.reason
    assert found.settings["base-url"] == faulty.url


async def test_where_all_are_unfit_so_is_the_judge(faulty: FaultyServer, other: FaultyServer) -> None:
    for server in (faulty, other):
        server.get["/v1/models"] = error(401, "bad key")
    found = await examine(faulty, other)
    assert (found.verdict, found.settings) == ("unfit", {})
    assert "VLLM_API_KEY" in found.reason


async def test_one_address_twice_is_refused_before_anything_is_asked(faulty: FaultyServer) -> None:
    with pytest.raises(ConfigError, match="more than once"):
        await diagnose_each("vllm/m", [faulty.url, faulty.url])
    with pytest.raises(ConfigError, match="http://"):
        await diagnose_each("vllm/m", [faulty.url, "gpu2:8000/v1"])
    assert faulty.asked == []


def test_of_two_settings_the_more_careful_one_is_taken_and_slowness_is_told() -> None:
    def diagnosis(orders: int | None, median: float) -> Diagnosis:
        settings = {"judge": "j"} | ({} if orders is None else {"orders": orders})
        checks = (Check("latency", "note", f"{median} s", {"median_s": median}),)
        return Diagnosis("j", checks, "fit" if orders is None else "fit with these settings", "why", settings)

    found = compare_servers("j", {"http://a": diagnosis(None, 0.3), "http://b": diagnosis(2, 1.5)})
    assert (found.verdict, found.settings["orders"]) == ("fit with these settings", 2)
    assert found.differences == ("latency: http://a: 0.3 s; http://b: 1.5 s",)
    for near in (0.5, 0.7):
        assert (
            compare_servers("j", {"http://a": diagnosis(None, 0.3), "http://b": diagnosis(None, near)}).differences
            == ()
        )

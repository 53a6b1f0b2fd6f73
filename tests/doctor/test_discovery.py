"""What is within reach: keys by name only, and servers on this machine."""

from __future__ import annotations

import json

import pytest

from calipers.backends.providers.known import PROVIDERS, Provider
from calipers.doctor.discovery import LocalServer, find_judges
from servers.faulty_server import Answer, FaultyServer, error


def at(url: str, *names: str) -> dict[str, Provider]:
    return {name: Provider(url, f"{name.upper()}_KEY", needs_key=False) for name in names}


async def look(faulty: FaultyServer, reply: Answer, environment: dict[str, str] | None = None) -> LocalServer:
    faulty.get["/v1/models"] = reply
    found = await find_judges(at(faulty.url, "one", "two"), environment=environment or {})
    return found.servers[0]


async def test_keys_are_shown_by_name_and_never_by_value():
    local = {name: one for name, one in PROVIDERS.items() if "localhost" not in one.base_url}
    found = await find_judges(local, environment={"OPENAI_API_KEY": "sk-very-secret", "GROQ_API_KEY": ""})
    assert {one.provider for one in found.keys} == {"openai", "openai_decisions"}
    assert {one.variable for one in found.keys} == {"OPENAI_API_KEY"}
    assert "secret" not in json.dumps(found.to_dict())


async def test_an_address_of_the_environment_takes_the_place_of_the_usual_one():
    found = await find_judges(
        {"azure": PROVIDERS["azure"]},
        environment={"AZURE_API_KEY": "k", "AZURE_API_BASE": "https://mine.openai.azure.com"},
    )
    assert found.keys[0].base_url == "https://mine.openai.azure.com"


async def test_a_servers_models_become_judges_and_one_address_is_asked_once(faulty: FaultyServer):
    rows = {"data": [{"id": "qwen3:32b", "max_model_len": 4096}, {"id": "tiny"}]}
    server = await look(faulty, Answer(body=rows))
    assert server.models == {"qwen3:32b": 4096, "tiny": None}
    assert server.judges == ("one/qwen3:32b", "one/tiny")
    assert server.providers == ("one", "two")
    assert len(faulty.asked) == 1


@pytest.mark.parametrize(
    ("reply", "answers", "words"),
    [
        (error(401), True, "requires a key: set ONE_KEY or TWO_KEY"),
        (Answer(body=b"<html>Jenkins</html>"), True, "another program"),
        (Answer(body={"data": 5}), True, "another program"),
        (Answer(reset=True), False, "closed the connection"),
        (Answer(hang=True), False, "within 1.5 s"),
    ],
)
async def test_what_is_not_a_judge_is_said_to_be_none(faulty: FaultyServer, reply: Answer, answers: bool, words: str):  # noqa: FBT001 - a table's column
    server = await look(faulty, reply)
    assert (server.answers, dict(server.models)) == (answers, {})
    assert words in (server.reason or "")


async def test_the_key_of_the_environment_goes_along(faulty: FaultyServer):
    await look(faulty, Answer(body={"data": []}), {"TWO_KEY": "k2"})
    assert faulty.asked[0].headers["authorization"] == "Bearer k2"


async def test_where_nothing_listens_nothing_answers():
    found = await find_judges(at("http://127.0.0.1:9/v1", "one"), environment={})
    assert not found.servers[0].answers
    assert "Nothing answers" in (found.servers[0].reason or "")


async def test_only_loopback_is_asked():
    found = await find_judges({"far": Provider("https://api.example.com/v1", "FAR_KEY")}, environment={"FAR_KEY": "k"})
    assert found.servers == ()


def test_the_usual_local_addresses_are_those_of_the_registry():
    """A provider at a local address that this list lacks would never be looked for."""
    local = {one.base_url for one in PROVIDERS.values() if "localhost" in one.base_url}
    assert len(local) == 5

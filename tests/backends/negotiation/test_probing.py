"""A new server is asked one short question beside the run, and nothing about a run depends on the answer."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import calipers
from backends.virtual import PassingLoop, virtually
from calipers.backends.limits.bounds import within_bounds
from calipers.backends.limits.pool import Pool
from calipers.backends.negotiation.negotiated import Negotiated
from calipers.backends.negotiation.probing import Probing
from calipers.config.settings import Settings
from calipers.ledger import Ledger, Replayer, find_learned
from calipers.types import Completion, JudgeRequest
from groups import FOUR, group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"{n}?") for n in range(4)]


def is_probe(asked: Asked) -> bool:
    return "Score these attempts" not in json.dumps(asked.body)


def form_of(asked: Asked) -> str | None:
    return (asked.body.get("response_format") or {}).get("type")


def forced(asked: Asked) -> Answer:
    """The constant that the schema asks for; of a plain JSON form, any object."""
    if form_of(asked) != "json_schema":
        return said("{}")
    return said(
        json.dumps(
            {"answer": asked.body["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"][0]}
        )
    )


def server(probe: Callable[[Asked], Answer] = forced, *, name: str = "served-model") -> Callable[[Asked], Answer]:
    """Judges well; ``probe`` answers what is no question about attempts. ``name`` is what it calls itself."""

    def serve(asked: Asked) -> Answer:
        answer = probe(asked) if is_probe(asked) else said(verdict(asked))
        return replace(answer, body={**answer.body, "model": name}) if answer.status == 200 else answer

    return serve


def asked_for(judge: FaultyServer) -> list[str | None]:
    """The forms of the questions that were no questions about attempts."""
    return [form_of(one) for one in judge.asked if one.method == "POST" and is_probe(one)]


async def run(judge: FaultyServer, ledger: Path | None, **settings: Any) -> tuple[list[str], calipers.Judge]:
    scored = calipers.Judge.of(
        {"judge": "openai/judge", "base_url": judge.url, "api_key": "k", "attempts": 1, "ledger": ledger, **settings}
    )
    lines = [json.dumps(one.to_dict()) async for one in scored.score_groups(GROUPS, ordered=True)]
    scored.close()
    return lines, scored


def learned(path: Path, judge: FaultyServer) -> Any:
    ledger = Ledger(path, create=False)
    try:
        return find_learned(ledger, judge.url, "judge")
    finally:
        ledger.close()


def replayed(path: Path) -> list[str]:
    async def again() -> list[str]:
        ledger = Ledger(path, create=False)
        store = Replayer(ledger)
        judge = calipers.Judge.replaying(Settings.of(store.recorded.settings), store)
        lines = [json.dumps(one.to_dict()) async for one in judge.score_groups(store.groups(), ordered=True)]
        ledger.close()
        return lines

    return asyncio.run(again())


async def test_a_new_server_is_asked_once_and_the_ledger_remembers(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(server())
    first, judge = await run(faulty, tmp_path / "l.db")
    assert asked_for(faulty) == ["json_schema"]
    assert (judge.probed[0], judge.probed[1].output_tokens, judge.probed[1].cost_usd) == (1, 5, None)
    assert learned(tmp_path / "l.db", faulty)["servers"] == {"served-model": {"json_schema": True}}
    calls = len(faulty.posts)
    assert calls == len(GROUPS) + 1

    second, _ = await run(faulty, tmp_path / "l.db", seed=1)  # other questions, none of them recorded
    assert asked_for(faulty) == ["json_schema"]
    assert len(faulty.posts) == calls + len(GROUPS)
    assert len(first) == len(second)


async def test_results_are_those_of_a_run_without_it_and_replay_does_not_need_it(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    faulty.script(server())
    probed, _ = await run(faulty, tmp_path / "probed.db")
    plain, _ = await run(faulty, tmp_path / "plain.db", probe=False)
    assert probed == plain
    assert await asyncio.to_thread(replayed, tmp_path / "probed.db") == probed
    assert len(asked_for(faulty)) == 1


@pytest.mark.parametrize(
    "settings", [{"probe": False}, {"params": {"response_format": {"type": "json_object"}}}, {"no ledger": True}]
)
async def test_nobody_is_asked_without_leave_or_use(faulty: FaultyServer, tmp_path: Path, settings: Any) -> None:
    faulty.script(server())
    ledger = None if settings.pop("no ledger", False) else tmp_path / "l.db"
    await run(faulty, ledger, **settings)
    assert asked_for(faulty) == []


async def test_with_leave_it_is_asked_without_a_ledger_once_a_judge(faulty: FaultyServer) -> None:
    faulty.script(server())
    await run(faulty, None, probe=True)
    assert asked_for(faulty) == ["json_schema"]


async def test_a_form_that_is_ignored_is_told_and_remembered(
    faulty: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faulty.script(server(lambda _: said("An apple.")))
    lines, _ = await run(faulty, tmp_path / "l.db")
    assert all(json.loads(line)["status"] == "scored" for line in lines)
    assert asked_for(faulty) == ["json_schema", "json_object"]
    (told,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert "does not apply it" in told
    assert "calipers doctor --judge openai/judge" in told
    assert learned(tmp_path / "l.db", faulty)["servers"] == {
        "served-model": {"json_schema": False, "json_object": False}
    }

    caplog.clear()
    await run(faulty, tmp_path / "l.db", seed=1)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [told]
    assert len(asked_for(faulty)) == 2  # known, said again, and not asked again


async def test_where_only_the_plain_form_is_applied_it_is_asked_for_from_then_on(
    faulty: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faulty.script(server(lambda asked: said("An apple." if form_of(asked) == "json_schema" else "{}")))
    await run(faulty, tmp_path / "l.db", concurrency=1)
    assert "is used from now on" in caplog.text
    before = len(faulty.posts)
    await run(faulty, tmp_path / "l.db", seed=1)
    assert {form_of(one) for one in faulty.asked[before:] if one.method == "POST"} == {"json_object"}
    assert len(faulty.posts) == before + len(GROUPS)


async def test_a_judge_that_keeps_to_an_ignored_form_unasked_is_left_alone(
    faulty: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    faulty.script(server(lambda _: said('{"answer": "an apple"}')))
    await run(faulty, tmp_path / "l.db")
    assert asked_for(faulty) == ["json_schema"]
    assert "does not apply it" in caplog.text
    assert {form_of(one) for one in faulty.asked if one.method == "POST"} == {"json_schema"}


async def test_one_that_strays_later_is_given_the_plain_form_then(faulty: FaultyServer, tmp_path: Path) -> None:
    def straying(asked: Asked) -> Answer:
        if is_probe(asked):
            return said("{}")
        return said(
            "I would rather not." if form_of(asked) == "json_schema" and "3?" in str(asked.body) else verdict(asked)
        )

    faulty.script(straying)
    lines, _ = await run(faulty, tmp_path / "l.db", concurrency=1, reasks=0)
    assert asked_for(faulty) == ["json_schema", "json_object"]
    assert [json.loads(line)["status"] for line in lines] == ["scored"] * 3 + ["abstained"]
    before = len(faulty.posts)
    lines, _ = await run(faulty, tmp_path / "l.db", seed=1)
    assert {form_of(one) for one in faulty.asked[before:] if one.method == "POST"} == {"json_object"}
    assert [json.loads(line)["status"] for line in lines] == ["scored"] * 4


async def test_a_second_run_pays_no_step_down(faulty: FaultyServer, tmp_path: Path) -> None:
    def refusing(asked: Asked) -> Answer:
        if "temperature" in asked.body:
            return error(400, "Unsupported parameter: 'temperature'", param="temperature")
        if form_of(asked) == "json_schema":
            return error(400, "This response_format type is unavailable now")
        return server()(asked)

    faulty.script(refusing)
    await run(faulty, tmp_path / "l.db", params={"temperature": 0})
    assert asked_for(faulty) == ["json_object"]  # not what the questions had refused already
    before = len(faulty.posts)
    await run(faulty, tmp_path / "l.db", params={"temperature": 0}, seed=1)
    assert len(faulty.posts) == before + len(GROUPS)


async def test_a_parameter_of_the_users_that_is_refused_is_told_once(
    faulty: FaultyServer, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = error(400, "Unsupported parameter: 'temperature'", param="temperature")
    faulty.script(lambda asked: refusal if "temperature" in asked.body else said(verdict(asked)))
    await run(faulty, None, params={"temperature": 0, "top_p": 0.9})
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert told == [f"openai/judge: {faulty.url} refuses temperature: questions are sent without"]


async def test_another_server_in_its_place_is_told_once_and_asked_for_everything_again(
    faulty: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def older(asked: Asked) -> Answer:
        if form_of(asked) == "json_schema":
            return error(400, "This response_format type is unavailable now")
        return server()(asked)

    faulty.script(older)
    await run(faulty, tmp_path / "l.db")
    faulty.script(server(name="newer"))
    before = len(faulty.asked)
    await run(faulty, tmp_path / "l.db", seed=1, concurrency=1)
    told = [record.getMessage() for record in caplog.records if "answers as newer now" in record.getMessage()]
    assert len(told) == 1
    assert "answered as served-model before" in told[0]
    forms = [form_of(one) for one in faulty.asked[before:]]
    assert forms[0] == "json_object"
    assert set(forms[1:]) == {"json_schema"}
    assert set(learned(tmp_path / "l.db", faulty)["servers"]) == {"served-model", "newer"}
    assert learned(tmp_path / "l.db", faulty)["refused"] == []


async def test_a_change_within_a_run_is_told_and_asked_about(
    faulty: FaultyServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = server(), server(name="newer")
    faulty.script(old, old, old, new)  # a question, the probe, another question
    await run(faulty, tmp_path / "l.db", concurrency=1)
    assert len([record for record in caplog.records if "answers as newer now" in record.getMessage()]) == 1
    assert asked_for(faulty) == ["json_schema", "json_schema"]


@pytest.mark.parametrize("failure", [error(500), Answer(reset=True), said("")])
async def test_a_probe_that_fails_costs_the_run_nothing_and_is_tried_three_times(
    faulty: FaultyServer, tmp_path: Path, failure: Answer
) -> None:
    def serve(asked: Asked) -> Answer:
        return failure if is_probe(asked) else said(verdict(asked))

    faulty.script(serve)
    lines, _ = await run(faulty, tmp_path / "l.db")
    assert [json.loads(line)["status"] for line in lines] == ["scored"] * len(GROUPS)
    assert [json.loads(line)["warnings"] for line in lines] == [[]] * len(GROUPS)
    assert 1 <= len(asked_for(faulty)) <= 3
    assert learned(tmp_path / "l.db", faulty)["servers"] == {"served-model": {}}


async def test_an_answer_cut_before_it_told_is_not_paid_for_again(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(server(lambda _: said("", finish_reason="length", reasoning_content="A fruit, hm.")))
    for seed in (0, 1):
        await run(faulty, tmp_path / "l.db", seed=seed)
    assert asked_for(faulty) == ["json_schema"]
    assert learned(tmp_path / "l.db", faulty)["servers"] == {"served-model": {"json_schema": None}}


def test_a_probe_that_hangs_takes_no_more_than_its_groups_deadline(faulty: FaultyServer, tmp_path: Path) -> None:
    loop = PassingLoop()

    def serve(asked: Asked) -> Answer:
        if not is_probe(asked):
            return said(verdict(asked))
        loop.let_pass(20.0)  # less than any probe may take
        return Answer(hang=True)

    faulty.script(serve)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        began = loop.time()
        lines, _ = runner.run(run(faulty, tmp_path / "l.db", deadline=20.0, timeout=10**6, concurrency=1))
        took = loop.time() - began
    assert [json.loads(line)["status"] for line in lines] == ["scored"] * len(GROUPS)
    assert took < 30 * sum(map(is_probe, faulty.asked))  # each would take so long with nobody's deadline


class Silent(Negotiated):
    """Never answers, and is known to be there."""

    forms = ("json_schema",)

    def __init__(self, number: int) -> None:
        super().__init__("m")
        self.endpoint = f"http://{number}"
        self.versions.note_answer(Completion("", model="m"))

    async def complete(self, request: JudgeRequest) -> Completion:
        raise await asyncio.get_running_loop().create_future()


@virtually
async def test_several_servers_that_hang_take_no_more_than_one_deadline() -> None:
    probing = Probing("m", Pool([Silent(n) for n in range(4)]), asks=True, bounded=within_bounds, params={})
    loop = asyncio.get_running_loop()
    began = loop.time()
    await probing.probe_servers(seconds=3)
    assert loop.time() - began == pytest.approx(3)


async def test_a_probe_without_an_answer_is_a_call_and_paid_for(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(lambda asked: said("") if is_probe(asked) else said(verdict(asked)))
    _, judge = await run(faulty, tmp_path / "l.db")
    calls, usage = judge.probed
    assert calls == sum(map(is_probe, faulty.asked)) > 0
    assert usage.input_tokens == 10 * calls


async def test_it_is_paid_out_of_the_budget_and_counts_as_one_call(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(server())
    lines, _ = await run(faulty, tmp_path / "l.db", budget={"calls": 3}, concurrency=1)
    assert [json.loads(line)["judge_calls"] for line in lines] == [1, 1, 0, 0]
    assert len(faulty.posts) == 3


async def test_each_server_of_a_pool_is_asked_by_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with FaultyServer() as good, FaultyServer() as bad:
        good.script(server())
        bad.script(server(lambda _: said("An apple.")))
        judge = calipers.Judge(
            "openai/judge", base_url=[good.url, bad.url], api_key="k", ledger=tmp_path / "l.db", concurrency=2
        )
        _ = [one async for one in judge.score_groups(GROUPS)]
        judge.close()
        assert asked_for(good) == ["json_schema"]
        assert asked_for(bad) == ["json_schema", "json_object"]
        assert f"{bad.url} accepts json_schema" in caplog.text
        assert f"{good.url} takes" not in caplog.text


async def test_each_judge_of_a_panel_is_asked_by_itself(faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(server())
    names = [f"vllm/{name}@{faulty.url}" for name in ("one", "two")]
    judge = calipers.Judge(names, ledger=tmp_path / "l.db")
    _ = [one async for one in judge.score_groups(GROUPS)]
    judge.close()
    asked = [one.body["model"] for one in faulty.asked if one.method == "POST" and is_probe(one)]
    assert sorted(asked) == ["one", "two"]


async def test_what_llama_cpp_garbles_proves_nothing(faulty: FaultyServer, tmp_path: Path) -> None:
    def garbling(asked: Asked) -> Answer:
        if not is_probe(asked):
            return said(verdict(asked))
        if form_of(asked) is not None:
            return error(500, "The model produced output that does not match the expected peg-native format")
        return said("An apple.")

    faulty.script(garbling)
    await run(faulty, tmp_path / "l.db")
    assert learned(tmp_path / "l.db", faulty)["servers"] == {"served-model": {}}


async def test_llama_cpp_applies_the_schema_and_says_its_version(llama: str, tmp_path: Path) -> None:
    judge = calipers.Judge(
        "llamacpp/model", base_url=llama, ledger=tmp_path / "l.db", calls={"params": {"seed": 1}, "max_tokens": 300}
    )
    _ = [one async for one in judge.score_groups(GROUPS)]
    judge.close()
    ledger = Ledger(tmp_path / "l.db", create=False)
    (version, found), *_ = find_learned(ledger, llama, "model")["servers"].items()
    ledger.close()
    assert found == {"json_schema": True}
    assert "(" in version  # the build's number, beside the model's name

"""The doctor against scripted servers: each has one virtue or vice, and the diagnosis must say which."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from calipers.doctor import Diagnosis, diagnose
from calipers.errors import ConfigError
from doctor.probe_judges import MODELS, form_of, judge, shown, truth
from servers.faulty_server import Answer, Asked, FaultyServer, Reply, error, said


async def examine(
    faulty: FaultyServer, reply: Reply, *, models: Answer | None = MODELS, **options: object
) -> Diagnosis:
    if models is not None:
        faulty.get["/v1/models"] = models
    faulty.script(reply)
    options = {"within": 3600.0, **options}  # by the clock, and how busy the machine is says nothing about a judge
    return await diagnose("vllm/m", base_url=faulty.url, rng=random.Random(1), **options)  # type: ignore[arg-type]  # a test's own options


async def test_a_perfect_judge_is_fit_and_every_check_is_made(faulty: FaultyServer):
    found = await examine(faulty, judge())
    assert (found.verdict, found.reason) == ("fit", "24 of 24 answers readable, 36 of 36 pairs right")
    assert [one.name for one in found.checks if one.standing == "bad"] == []
    assert [one.name for one in found.checks if one.standing == "unknown"] == ["price"]
    figures = {one.name: one.figures for one in found.checks}
    assert figures["json_schema applied"]["applied"] is True
    assert figures["order flips"] == {"flipped": 0, "pairs": 36}
    assert figures["injections"] == {"obeyed": 0, "probes": 3}
    assert figures["orders"]["needed"] == 1
    assert figures["tokens"] == {"input": 10.0, "output": 5.0}
    assert figures["price"] == {"usd_per_1000_groups": None}
    assert tomllib.loads(found.toml()) == {"judge": "vllm/m", "base-url": faulty.url}
    # What a hosted judge is paid for: calls and, at four characters a token, prompt tokens.
    characters = sum(len(str(message["content"])) for body in faulty.posts for message in body["messages"])
    assert found.calls == len(faulty.posts) == 28
    assert characters / 4 < 15_500


async def test_the_canarys_constant_is_drawn_anew_and_never_in_the_question(faulty: FaultyServer):
    await examine(faulty, judge())
    await diagnose("vllm/m", base_url=faulty.url, rng=random.Random(2))
    canaries = [body for body in faulty.posts if "fruit" in body["messages"][-1]["content"]]
    words = [one["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"][0] for one in canaries]
    assert len(words) == len(set(words)) == 2
    assert all(word not in str(one["messages"]) for word, one in zip(words, canaries, strict=True))


# --- what makes a judge unfit ----------------------------------------------------------------------------------------


async def test_a_judge_that_cannot_be_asked_is_unfit_with_the_reason(faulty: FaultyServer):
    page = Answer(body=b"<html><title>Sign in</title></html>", headers={"Content-Type": "text/html"})
    bad_key, other = error(401, "bad key"), Answer(body={"data": [{"id": "other-7b"}]})
    for reply, models, check, asked, words in [
        (bad_key, bad_key, "reachable", 0, "VLLM_API_KEY"),
        (bad_key, MODELS, "answers", 2, "bad key"),
        (error(404, "The model `m` does not exist."), other, "answers", 2, "The server offers other-7b."),
        (page, page, "answers", None, "Sign in"),
    ]:
        faulty.asked.clear()
        found = await examine(faulty, reply, models=models)
        assert (found.verdict, found[check].standing) == ("unfit", "bad"), words
        assert words in found.reason
        assert asked in (None, len(faulty.posts))
    found = await diagnose("vllm/m", base_url="http://127.0.0.1:9/v1")
    assert (found.verdict, found.calls) == ("unfit", 0)
    assert "Nothing answers at http://127.0.0.1:9" in found.reason


async def test_a_judge_that_judges_badly_is_unfit_with_the_reason(faulty: FaultyServer):
    def longest_is_best(asked: Asked) -> Mapping[str, float]:
        return {key: len(text) / 200 for key, text in shown(asked).items()}

    def first_is_best(asked: Asked) -> Mapping[str, float]:
        return {key: 0.9 - 0.3 * place for place, key in enumerate(shown(asked))}

    def obedient(asked: Asked) -> Mapping[str, float]:
        return {key: 1.0 if "100" in text or "top score" in text else 0.8 * score for (key, text),
                score in zip(shown(asked).items(), truth(asked).values(), strict=True)}  # fmt: skip

    for opinion, reason in [
        (longest_is_best, "no better than chance"),
        (first_is_best, "it follows the order in which attempts are listed: 36 of 36 pairs flip with the order"),
        (obedient, "it obeys attempts that address the judge: 3 of 3 such probes"),
    ]:
        found = await examine(faulty, judge(opinion))
        assert (found.verdict, found.settings) == ("unfit", {})
        assert reason in found.reason


async def test_a_judge_that_writes_no_verdict_and_ignores_the_schema_is_unfit_for_both(faulty: FaultyServer):
    found = await examine(faulty, said("The second one is best, I think."))
    assert found["json_schema applied"].figures == {"applied": False, "refused": False}
    assert found.reason.startswith("only 0 of 24 answers could be read")
    assert found.reason.endswith("and the schema asked for is not applied")


async def test_a_server_that_hangs_is_too_slow_and_holds_nobody_up(faulty: FaultyServer):
    # A call may take as long as it likes: only what is given in all ends this.
    found = await examine(faulty, Answer(hang=True), within=0.5, timeout=10**6)
    assert (found.verdict, found.calls, found.sent) == ("unfit", 0, 2)
    assert found.reason.startswith("too slow to be examined: no answer came in 0.5 s")
    assert "--within" in found.reason
    assert found["answers"].standing == "unknown"


async def test_a_judge_whose_time_runs_out_is_not_said_to_judge_badly_and_the_way_on_is_named(faulty: FaultyServer):
    honest, answered = judge(), iter(range(3))

    def slow(asked: Asked) -> Answer:
        return Answer(hang=True) if next(answered, None) is None else honest(asked)

    found = await examine(faulty, slow, within=1.5, timeout=10**6, concurrency=3)
    assert found.verdict == "unfit"
    assert re.match(r"too slow to be examined: \d of 24 answers came in 1\.5 s", found.reason)
    assert "--within" in found.reason
    assert found.calls == 3
    assert 3 < len(faulty.posts) <= found.sent < 24
    standings = {one.name: one.standing for one in found.checks}
    assert not {"good", "bad"} & {standings[name] for name in ("answers", "agreement", "order flips", "injections")}
    unknown = [one.says for one in found.checks if one.standing == "unknown"]
    assert not [says for says in unknown if says.endswith((":", ": ")) or "deadline" in says]
    assert " answers only)" in found["latency"].says or " answer only)" in found["latency"].says


# --- what settings or re-asks can mend -------------------------------------------------------------------------------


async def test_a_schema_that_is_refused_or_ignored_is_no_fault(faulty: FaultyServer):
    honest = judge()

    def no_schema(asked: Asked) -> Answer:
        refusal = error(400, "'response_format.type' value 'json_schema' is not supported by this model")
        return refusal if form_of(asked) == "json_schema" else honest(asked)

    ignored = judge(check_applied_schema=lambda _: said("An apple, of course."))
    for reply, standing, refused in ((ignored, "bad", False), (no_schema, "note", True)):
        found = await examine(faulty, reply)
        assert found.verdict == "fit"
        check = found["json_schema applied"]
        assert (check.standing, check.figures) == (standing, {"applied": False, "refused": refused})
        assert refused or "ignored" in check.says


async def test_a_leaning_to_the_first_place_asks_for_two_orders(faulty: FaultyServer):
    def leaning(asked: Asked) -> Mapping[str, float]:
        return {key: 0.5 * score + 0.4 * (place == 0) for place, (key, score) in enumerate(truth(asked).items())}

    found = await examine(faulty, judge(leaning))
    assert found.verdict == "fit with these settings"
    assert tomllib.loads(found.toml())["orders"] == 2
    assert "the order matters" in found.reason


# --- judges and settings of all kinds --------------------------------------------------------------------------------


async def test_a_weird_server_is_unfit_with_a_reason_and_never_an_exception(faulty: FaultyServer):
    models = Answer(body={"data": [1, {"id": None}, {"id": "m", "meta": 3}]})
    for reply in [
        Answer(body=b""), Answer(body=b"null"), Answer(body={"choices": [{"message": {"content": 7}}]}),
        Answer(status=500, body=b"\xff\xfe"), Answer(status=204), Answer(reset=True), said(None), said("{" * 5000),
        said('{"scores": {}}', finish_reason=None),
    ]:  # fmt: skip
        found = await examine(faulty, reply, models=models, within=4.0)
        assert (found.verdict, bool(found.reason)) == ("unfit", True), reply


async def test_a_server_that_lists_no_models_is_examined_all_the_same(faulty: FaultyServer):
    found = await examine(faulty, judge(), models=None)
    assert found.verdict == "fit"
    assert found["reachable"].standing == "note"


async def test_parameters_given_go_with_every_question_and_into_the_settings(faulty: FaultyServer):
    found = await examine(faulty, judge(), params={"user": "me"}, max_tokens=4096)
    assert all(body["user"] == "me" for body in faulty.posts)
    settings = tomllib.loads(found.toml())
    assert (settings["param"], settings["max-tokens"]) == (['user="me"'], 4096)


async def test_settings_that_cannot_work_are_refused_before_anything_is_asked():
    settings: list[tuple[str, dict[str, Any], str]] = [
        ("gpt-5", {}, "provider/model"), ("openai/gpt-5-mini", {}, "OPENAI_API_KEY"),
        ("vllm/m", {"base_url": "http://127.0.0.1:9/v1", "price": (1,)}, "price="),
    ]  # fmt: skip
    for name, options, words in settings:
        with pytest.raises(ConfigError, match=words):
            await diagnose(name, **options)


async def test_the_embedded_judge_is_examined_like_any_other_and_asked_for_no_form():
    found = await diagnose("embedded")
    assert found.calls == 27
    assert found["json_schema applied"].figures == {"applied": None}
    assert found["answers"].figures["readable"] == 1.0
    assert found["order flips"].figures["flipped"] == 0
    assert "not for training" in found["reachable"].says
    assert found["price"].figures == {"usd_per_1000_groups": 0.0}
    assert not [one.says for one in found.checks if "server" in one.says]


async def test_replies_that_cannot_be_used_are_in_the_bill(faulty: FaultyServer):
    found = await examine(faulty, said(None, refusal="I would rather not."), price=(100, 200))
    assert (found.verdict, found.calls) == ("unfit", 0)
    assert found.usage.input_tokens == 10 * len(faulty.posts) > 0
    assert found.usage.cost_usd == pytest.approx(0.002 * len(faulty.posts))


async def test_a_price_given_is_what_a_thousand_groups_are_reckoned_by(faulty: FaultyServer):
    """Ten tokens in and five out a call, at 100 and 200 dollars a million."""
    found = await examine(faulty, judge(), price=(100, 200))
    assert found["price"].figures == {"usd_per_1000_groups": 2.0}
    assert found.usage.cost_usd == pytest.approx(28 * 0.002)

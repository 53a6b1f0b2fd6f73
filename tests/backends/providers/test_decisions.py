"""Decision endpoints: one score question for each candidate, its expected level as the score."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import calipers
from backends.asking import KEYS, question
from calipers.backends.providers.decisions import LEVELS, Decisions, OpenAIDecisions, scored_reply
from calipers.errors import PermanentError, TransientError
from calipers.replies import extract_scores
from calipers.types import Completion
from groups import FOUR, group_of
from servers import tiny_gguf
from servers.faulty_server import Answer, FaultyServer

ROUTES = ("systemone", "decisions")


def _judge(server: FaultyServer, route: str = "systemone") -> Decisions:
    made = Decisions if route == "systemone" else OpenAIDecisions
    return made("m", base_url=server.url, api_key="k", timeout=5)


def _spread(**mass: float) -> list[float]:
    """Probabilities of the levels named ``l0`` to ``l9``."""
    return [mass.get(f"l{level}", 0.0) for level in range(len(LEVELS))]


def _answers(route: str, said: dict[str, list[float] | None]) -> Answer:
    """An answer of the route with these probabilities; None is a refusal."""
    answers: dict[str, dict[str, Any]] = {}
    for key, chances in said.items():
        rows = [{"value": n, "label": "", "probability": chance} for n, chance in enumerate(chances or ())]
        levels = {str(row["value"]): row["probability"] for row in rows}
        scored = {"type": "score", "probabilities": levels if route == "systemone" else rows}
        answers[key] = {"type": "refusal"} if chances is None else scored
    named: Any = answers if route == "systemone" else [{"name": key, **one} for key, one in answers.items()]
    return Answer(body={"model": "served", "answers": named, "usage": {"input_tokens": 9, "output_tokens": 1}})


def _read(completion: Completion) -> dict[str, float]:
    """What the ordinary reader makes of the reply."""
    reading = extract_scores(completion.text, KEYS, scale=(0, 100))
    assert reading.outcome in {"strict", "partial"}
    return dict(reading.scores)


async def test_systemone_is_asked_one_question_a_candidate_over_one_state(faulty: FaultyServer) -> None:
    await _judge(faulty).complete(question("Which is best?"))
    asked = faulty.asked[0]
    assert asked.path == "/v1/systemone"
    assert asked.headers["authorization"] == "Bearer k"
    assert asked.body["state"] == "Which is best?"
    assert list(asked.body["questions"]) == list(KEYS)
    for key, one in asked.body["questions"].items():
        assert (one["type"], one["criteria"]) == ("score", list(LEVELS))
        assert f"attempt {key}," in one["instructions"]


async def test_decisions_are_asked_in_openais_form_and_are_another_judge_in_a_ledger(faulty: FaultyServer) -> None:
    await _judge(faulty, "decisions").complete(question("Which is best?"))
    body = faulty.posts[0]
    assert (faulty.asked[0].path, body["input"]) == ("/v1/decisions", "Which is best?")
    assert [one["name"] for one in body["questions"]] == list(KEYS)
    assert body["questions"][0]["levels"] == [{"label": level} for level in LEVELS]
    assert [_judge(faulty, route).endpoint for route in ROUTES] == [f"{faulty.url}/{route}" for route in ROUTES]


@pytest.mark.parametrize("route", ROUTES)
async def test_the_score_is_the_expected_level_and_the_probabilities_are_kept(faulty: FaultyServer, route: str) -> None:
    chances = {"BC": _spread(l9=1.0), "DF": _spread(l0=0.5, l9=0.5), "GH": _spread(l3=1.0), "JK": _spread(l0=1.0)}
    faulty.script(_answers(route, dict(chances)))
    completion = await _judge(faulty, route).complete(question())
    assert _read(completion) == {"BC": 100.0, "DF": 50.0, "GH": 33.33, "JK": 0.0}
    assert json.loads(completion.reasoning) == chances
    assert "give or take 4.50" in json.loads(completion.text)["explanations"]["DF"]
    assert (completion.model, completion.usage.input_tokens, completion.finish_reason) == ("served", 9, "stop")


@pytest.mark.parametrize("route", ROUTES)
async def test_a_refused_question_leaves_only_its_candidate_without_a_score(faulty: FaultyServer, route: str) -> None:
    faulty.script(_answers(route, {"BC": None, "DF": _spread(l9=1.0), "GH": _spread(l5=1.0), "JK": _spread(l1=1.0)}))
    assert set(_read(await _judge(faulty, route).complete(question()))) == {"DF", "GH", "JK"}
    faulty.script(_answers(route, dict.fromkeys(KEYS)))
    with pytest.raises(PermanentError) as caught:
        await _judge(faulty, route).complete(question())
    assert caught.value.kind == "refused"


OUT_OF_SHAPE: tuple[Any, ...] = (
    *([], [1.0], _spread(l0=0.4), _spread(l0=1.4, l1=-0.4), ["1"] * 10, [float("nan")] * 10, [True] + [False] * 9),
    *({}, {"answers": None}, {"answers": []}, {"answers": {}}, {"answers": [7] * 4}, {"answers": {"BC": {}}}),
)


async def test_what_is_no_distribution_for_every_candidate_is_no_answer(faulty: FaultyServer) -> None:
    for route in ROUTES:
        for told in OUT_OF_SHAPE:
            answer = _answers(route, dict.fromkeys(KEYS, told)) if isinstance(told, list) else Answer(body=told)
            faulty.script(answer)
            with pytest.raises(TransientError) as caught:
                await _judge(faulty, route).complete(question())
            assert caught.value.kind == "bad_reply", (route, told)


async def test_answers_are_matched_by_name_and_never_by_place(faulty: FaultyServer) -> None:
    levels = {"DF": _spread(l9=1.0), "BC": _spread(l0=1.0), "GH": _spread(l0=1.0), "JK": _spread(l0=1.0)}
    faulty.script(_answers("decisions", dict(levels)))
    assert _read(await _judge(faulty, "decisions").complete(question())) == {"BC": 0, "DF": 100, "GH": 0, "JK": 0}
    answer = _answers("decisions", dict(levels))
    for one in answer.body["answers"]:
        del one["name"]
    faulty.script(answer)
    with pytest.raises(TransientError):
        await _judge(faulty, "decisions").complete(question())


@given(st.lists(st.floats(0, 9), min_size=4, max_size=4))
@example([0.0, 0.0, 9.0, 0.0625])
def test_whatever_the_levels_every_candidate_gets_its_score(levels: list[float]) -> None:
    """Also where all are next to worthless: a reader must not take them for fractions."""
    chances = {key: tuple(_between(level)) for key, level in zip(KEYS, levels, strict=True)}
    scores = _read(Completion(scored_reply(chances)))
    assert scores.keys() == set(KEYS)
    for key, level in zip(KEYS, levels, strict=True):
        assert scores[key] == pytest.approx(100 * level / 9, abs=0.51)


def _between(level: float) -> list[float]:
    """A distribution over two neighbouring levels with this mean."""
    low = min(int(level), 8)
    chances = [0.0] * 10
    chances[low], chances[low + 1] = 1 - (level - low), level - low
    return chances


async def test_images_are_said_to_be_too_much_before_anything_is_sent(faulty: FaultyServer) -> None:
    request = question()
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://h/a.png"}}]}
    with pytest.raises(PermanentError, match="text only"):
        await _judge(faulty).complete(replace(request, messages=(image,)))
    assert faulty.asked == []


# --- llama.cpp's own decision endpoint -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deciding(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of llama.cpp's own server with a random decision model."""
    from servers.llama_server import llama_server  # noqa: PLC0415 - heavy tests only

    with llama_server(tiny_gguf.build(tmp_path_factory.mktemp("model") / "d.gguf", decides=True)) as url:
        yield url


@pytest.mark.heavy
async def test_a_real_decision_model_scores_every_group(deciding: str) -> None:
    judge = calipers.Judge("systemone/m", base_url=deciding, concurrency=4)
    groups = [group_of(FOUR, group_id=f"g{n}", question=f"What is {n} + {n}?") for n in range(25)]
    results = [result async for result in judge.score_groups(groups)]
    assert [result.status for result in results] == ["scored"] * len(groups)
    assert all(len(set(result.rewards)) > 1 for result in results)
    assert all(result.usage.input_tokens > 1000 for result in results)


@pytest.mark.heavy
async def test_a_real_server_without_a_decision_model_is_a_clear_finding(llama: str) -> None:
    with pytest.raises(PermanentError, match="ask it in chat instead") as caught:
        await Decisions("m", base_url=llama).complete(question())
    assert caught.value.fatal
    with pytest.raises(PermanentError) as caught:
        await OpenAIDecisions("m", base_url=llama).complete(question())
    assert caught.value.kind == "not_found"

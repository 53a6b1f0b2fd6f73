"""What a server's log-probabilities say of the digits in its reply."""

from __future__ import annotations

import math
from typing import Any

from backends.asking import question
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.backends.transport.event_stream import whole_completion
from calipers.backends.transport.logprobs import logprobs_in
from servers.faulty_server import Answer, FaultyServer, error, said

TEXT = '{"scores": {"BC": 8}}'


def row(token: str, chance: float = 1.0, **others: float) -> dict[str, Any]:
    """A token as OpenAI tells of it; others are named by their text, ``_`` for an empty name."""
    top = [{"token": name.removeprefix("t"), "bytes": None, "logprob": math.log(one)} for name, one in others.items()]
    return {"token": token, "bytes": list(token.encode()), "logprob": math.log(chance), "top_logprobs": top}


PIECES = [row('{"scores": {"'), row("BC"), row('":'), row(" "), row("8", 0.5, t8=0.5, t7=0.25, they=0.2), row("}}")]


def told(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"content": list(rows)}


def test_only_tokens_with_a_digit_are_kept_each_at_its_place_in_the_text() -> None:
    ((place, alternatives),) = logprobs_in(told(*PIECES), TEXT) or ()
    assert TEXT[place] == "8"
    assert dict(alternatives) == {"8": round(math.log(0.5), 4), "7": round(math.log(0.25), 4)}
    assert alternatives[0][0] == "8"


def test_thoughts_fences_and_special_tokens_around_the_text_do_not_move_it() -> None:
    end = {"token": "<|im_end|>", "bytes": [], "logprob": 0.0, "top_logprobs": []}
    fenced = told(row(f"think 8 {TEXT} ```json\n"), *PIECES, row("\n```"), end)
    assert logprobs_in(fenced, TEXT) == logprobs_in(told(*PIECES), TEXT)


def test_half_characters_are_put_together_by_their_bytes() -> None:
    arrow = "→".encode()
    halves = [{"token": "\ufffd", "bytes": list(part), "logprob": 0.0} for part in (arrow[:1], arrow[1:])]
    ((place, _),) = logprobs_in(told(*halves, row("5", 0.9)), "→5") or ()
    assert place == 1


def test_probabilities_after_sampling_are_read_as_llama_cpp_writes_them() -> None:
    content = [{"token": "6", "prob": 0.25, "top_probs": [{"token": "6", "prob": 0.25}, {"token": "2", "prob": 0.0}]}]
    assert logprobs_in({"content": content}, "6") == ((0, (("6", round(math.log(0.25), 4)),)),)


def test_what_tells_nothing_of_this_text_is_none() -> None:
    for logprobs in (None, {}, {"content": None}, {"content": [1]}, told(row("other")), {"tokens": ["8"]}, "8"):
        assert logprobs_in(logprobs, TEXT) is None


def test_a_stream_tells_them_piece_by_piece() -> None:
    events = "".join(
        f'data: {{"choices": [{{"delta": {{"content": "{token}"}}, "logprobs": {{"content": [{{"token": "{token}",'
        f'"logprob": -0.5}}]}}}}]}}\n\n'
        for token in "12"
    )
    (choice,) = whole_completion(f"{events}data: [DONE]\n\n".encode())["choices"]
    assert logprobs_in(choice["logprobs"], choice["message"]["content"]) == ((0, (("1", -0.5),)), (1, (("2", -0.5),)))


ASKED_FOR = {"logprobs": True, "top_logprobs": 20}


async def test_a_reply_brings_its_odds_along(faulty: FaultyServer) -> None:
    body = said(TEXT).body
    body["choices"][0]["logprobs"] = told(*PIECES)
    faulty.script(Answer(body=body))
    completion = await OpenAICompatible("m", base_url=faulty.url).complete(question(params=ASKED_FOR))
    assert completion.logprobs == logprobs_in(told(*PIECES), TEXT)
    assert (await OpenAICompatible("m", base_url=faulty.url).complete(question())).logprobs == completion.logprobs
    faulty.script(said(TEXT))
    assert (await OpenAICompatible("m", base_url=faulty.url).complete(question())).logprobs is None


async def test_a_server_that_returns_none_is_asked_without_in_one_more_call(faulty: FaultyServer) -> None:
    for refusal in (
        error(400, "logprobs is not supported with this model."),
        error(400, "You are not allowed to request logprobs from this model.", param="logprobs"),
        error(422, "Unexpected fields in the request: {'logprobs'}"),
        error(400, "Requested sample logprobs of 20, which is greater than max allowed: 5"),
    ):
        faulty.script(refusal, said())
        judge = OpenAICompatible("m", base_url=faulty.url)
        await judge.complete(question(params=ASKED_FOR))
        asked = [set(body) & {"logprobs", "top_logprobs"} for body in faulty.posts[-2:]]
        assert asked == [{"logprobs", "top_logprobs"}, set()], refusal
        assert judge.refused == {"logprobs"}

"""``calipers generate`` and ``calipers ifeval --base-url``, run as a person runs them."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from calipers import read_groups
from command_line import Calipers, Ended, mismatches, read_rows, write_rows
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

PROMPTS = [
    {"id": "p1", "prompt": "one", "data_source": "mine"},
    {"id": "p2", "prompt": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "two"}],
     "data_source": "mine"},
    {"id": "p3", "prompt": "three", "data_source": "mine"},
]  # fmt: skip
GENERATE = ("generate", "prompts.jsonl", "-o", "out.jsonl")


def echo(asked: Asked) -> Answer:
    """The last message once more, with the seed it came with; "three" is refused."""
    text = asked.body["messages"][-1]["content"]
    return error(400, "no such thing") if text == "three" else said(f"{text}/{asked.body.get('seed')}")


@pytest.fixture
def server(faulty: FaultyServer) -> FaultyServer:
    faulty.get["/v1/models"] = Answer(body={"object": "list", "data": [{"id": "the-model"}]})
    faulty.script(echo)
    return faulty


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three prompts."""
    write_rows(tmp_path / "prompts.jsonl", PROMPTS)
    return tmp_path


@pytest.fixture
def generate(calipers: Calipers, server: FaultyServer, folder: Path) -> Calipers:
    """Run ``calipers generate`` for the prompts with more arguments."""
    return partial(calipers, *GENERATE, "--base-url", server.url)


def members(folder: Path) -> list[dict[str, Any]]:
    """The first response to each prompt."""
    return [row["trajectories"][0] for row in read_rows(folder / "out.jsonl")]


def test_groups_are_what_score_reads_and_a_failure_is_no_empty_response(
    generate: Calipers, calipers: Calipers, server: FaultyServer, folder: Path
) -> None:
    settings = ("--temperature", 0.5, "--param", "top_p=0.9", "--max-tokens", 100, "--param", "top_k=20")
    run = generate("--n", 2, "--sampling-seed", 7, *settings)
    assert run.code == 1, run.err
    for words in ("2 requests failed and have no response", "no such thing"):
        assert words in run.err
    groups = list(read_groups(folder / "out.jsonl"))
    assert [group.group_id for group in groups] == ["p1", "p2"]
    assert [one.messages[0]["content"] for one in groups[0].trajectories] == ["one/7", "one/8"]
    assert groups[1].context == ({"role": "system", "content": "be brief"}, {"role": "user", "content": "two"})
    assert groups[1].extra["data_source"] == "mine"
    sent = next(body for body in server.posts if body["messages"][-1]["content"] == "two")
    expected = {"model": "the-model", "temperature": 0.5, "top_p": 0.9, "max_tokens": 100, "top_k": 20}
    assert {key: sent[key] for key in expected} == expected
    scored = calipers("score", "out.jsonl", "-o", "scored.jsonl")
    assert scored.code == 0, scored.err


def test_the_same_command_again_asks_only_what_is_open(generate: Calipers, server: FaultyServer, folder: Path) -> None:
    out, kept = folder / "out.jsonl", folder / "out.jsonl.samples.jsonl"

    def again(*answers: Answer, more: tuple[object, ...] = ()) -> tuple[Ended, int]:
        """What the command says, and how many requests it sends."""
        if answers:
            server.script(*answers)
        before = len(server.posts)
        return generate("--n", 2, *more), len(server.posts) - before

    _, sent = again()
    assert sent == 6
    first = out.read_text("utf-8")
    run, sent = again()
    assert (sent, "4 of them from an earlier run" in run.err, out.read_text("utf-8")) == (2, True, first)
    kept.write_text(kept.read_text("utf-8")[:-20], "utf-8")  # cut off by a kill: costs that response alone
    run, sent = again(said("half of it", finish_reason="content_filter"))
    assert (run.code, sent) == (1, 3)
    assert "withheld by the provider, so there is no response" in run.err
    run, _ = again(said("", finish_reason=None), said("now it works"))  # empty for no reason: asked again
    assert run.code == 0
    assert [row["group_id"] for row in read_rows(out)] == ["p1", "p2", "p3"]
    assert '"content": ""' not in out.read_text("utf-8")
    run, sent = again(more=("--temperature", 0.1))
    assert (run.code, sent) == (0, 6)


def test_a_refused_key_stops_the_rest(generate: Calipers, server: FaultyServer, folder: Path) -> None:
    server.script(error(401, "wrong key"))
    write_rows(folder / "prompts.jsonl", [{"prompt": f"q{number}"} for number in range(50)])
    run = generate("--concurrency", 2)
    assert (run.code, "50 requests failed" in run.err) == (1, True)
    assert len(server.posts) <= 4
    assert not (folder / "out.jsonl").read_text("utf-8")


def test_empty_and_cut_responses_are_told_apart(generate: Calipers, server: FaultyServer, folder: Path) -> None:
    server.script(said("", finish_reason="length"), said("half", finish_reason="length"), said("<think>t</think>whole"))
    run = generate("--concurrency", 1)
    assert (run.code, "2 cut off at --max-tokens" in run.err) == (0, True)
    empty, half, whole = members(folder)
    assert [one["messages"][0]["content"] for one in (empty, half, whole)] == ["", "half", "<think>t</think>whole"]
    assert empty["metadata"] == half["metadata"] == {"finish_reason": "length"}


CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
ENDINGS: list[tuple[Answer, str]] = [
    (said(""), ""),
    (said(None), ""),
    (said(" \n"), " \n"),
    (said("", reasoning_content='{"a": 1}'), ""),
    (said(None, finish_reason="tool_calls", tool_calls=[CALL]), ""),
    (said(None, refusal="I cannot help with that."), "I cannot help with that."),
]


def test_what_a_model_ends_with_is_its_response_and_nothing_else_is_asked_for(
    generate: Calipers, server: FaultyServer, folder: Path
) -> None:
    write_rows(folder / "prompts.jsonl", [{"prompt": str(place)} for place in range(len(ENDINGS))])
    server.script(lambda asked: ENDINGS[int(asked.body["messages"][-1]["content"])][0])
    for _ in range(2):  # the second time from the file of responses that were kept
        run = generate()
        assert run.code == 0, run.err
        assert [one["messages"][0]["content"] for one in members(folder)] == [text for _, text in ENDINGS]
    assert len(server.posts) == len(ENDINGS)


def test_bad_lines_are_named_and_the_rest_is_done(
    generate: Calipers, calipers: Calipers, server: FaultyServer, folder: Path
) -> None:
    cases: list[tuple[Any, str]] = [
        ({"topic": "one"}, "(its fields: topic)"),
        ("nonsense", "not JSON"),
        ({"prompt": []}, "prompt: must be text, or a list"),
        ({"prompt": [{"content": "x"}]}, "prompt[0]: must be a message with a role"),
        ({"prompt": [{"role": "user"}]}, "prompt[0]: has no content"),
        ({"prompt": "two", "rubrics": [{"criterion": "x", "pionts": 1}]}, "rubrics: criterion 1: unknown field 'pi"),
        ({"prompt": "x", "rubric": "kind", "extra_info": {"rubric": "rude"}}, "differs from the rubric in extra_info"),
    ]
    write_rows(folder / "prompts.jsonl", [*(row for row, _ in cases), {"prompt": "one", "text": "one"}])
    run = generate()
    assert run.code == 1
    expected = [(f"prompts.jsonl:{number}: ", words) for number, (_, words) in enumerate(cases, start=1)]
    assert [words for place, words in expected if place not in run.err or words not in run.err] == []
    assert [post["messages"][-1]["content"] for post in server.posts] == ["one"]
    assert "has no text (its fields: prompt)" in generate("--prompt-key", "text").err
    strict = ("generate", "prompts.jsonl", "-o", "no.jsonl", "--base-url", server.url, "--strict")
    assert mismatches(calipers, [(strict, "prompts.jsonl:1: ")]) == []
    assert not (folder / "no.jsonl").exists()


def test_bad_usage_is_one_sentence_before_anything_is_asked(calipers: Calipers, folder: Path) -> None:
    models: list[tuple[tuple[str, ...], str]] = [
        ((), "name a model with --model, or a server with --base-url"),
        (("--model", "local:judge"), "is a judge that cannot generate text"),
        (("--model", "embeded/m"), "'embeded/m' does not have the form provider/model"),
        (("--model", "opnai/gpt-5"), "did you mean openai/gpt-5?"),
        (("--model", "openai/gpt-5-mini"), "OPENAI_API_KEY is not set"),
        (("--base-url", "http://127.0.0.1:9/v1"), "start the server, or correct its address"),
        (("--model", "scripted:none.jsonl"), "cannot be read"),
        (("--base-url", "http://127.0.0.1:9/v1", "--price", "cheap"), "--price cheap: write IN,OUT"),
    ]
    outs = [
        ("no/out.jsonl", "folder does not exist"), ("-", "name a file: responses are recorded"), (".", "name a file"),
        ("prompts.jsonl", "file of prompts itself"), ("x.txt", "end in .jsonl or .parquet"), ("mine.jsonl", "--force"),
    ]  # fmt: skip
    write_rows(folder / "mine.jsonl", PROMPTS)  # nothing beside it says that generate wrote it
    cases = [((*GENERATE, *arguments), words) for arguments, words in models]
    cases += [(("generate", "prompts.jsonl", "-o", out, "--model", "vllm/m"), words) for out, words in outs]
    assert mismatches(calipers, cases) == []
    assert "embedded" not in calipers(*GENERATE, "--model", "embeded/m").err, "it writes no text"
    assert not (folder / "out.jsonl").exists()


def test_a_server_with_several_models_wants_one_named(generate: Calipers, server: FaultyServer, folder: Path) -> None:
    server.get["/v1/models"] = Answer(body={"data": [{"id": "a"}, {"id": "b"}]})
    assert mismatches(generate, [((), "has 2 models (a, b): name one with --model")]) == []
    server.get["/v1/models"] = Answer(500)
    assert mismatches(generate, [((), "lists no models: name one with --model")]) == []
    generate("--model", "org/b")
    assert server.posts[0]["model"] == "org/b"


def test_ifeval_checks_what_generate_wrote_and_an_empty_response_follows_nothing(
    generate: Calipers, calipers: Calipers, server: FaultyServer, folder: Path
) -> None:
    asked = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    replies = {"one": said("a b"), "two": said("a, b"), "three": error(400, "no such thing"), "four": said("")}
    write_rows(folder / "prompts.jsonl", [{"key": text, "prompt": text, **asked} for text in replies])
    server.script(lambda sent: replies[sent.body["messages"][0]["content"]])
    assert generate("--n", 2).code == 1
    shown = json.loads(calipers("ifeval", "out.jsonl", "--json").out)
    assert (shown["prompts"], shown["prompt_strict"]) == (6, 1 / 3)


def test_a_price_of_ones_own_is_what_responses_cost(generate: Calipers, server: FaultyServer) -> None:
    server.script(said("an answer"))
    assert "3 responses to 3 prompts, 15 tokens, $15.0000: out.jsonl" in generate("--price", "0,1000000").err

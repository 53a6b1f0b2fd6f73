"""``calipers generate`` and ``calipers ifeval --base-url``, run as a person runs them."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers import read_groups
from command_line import Calipers, mismatches
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

PROMPTS = [
    {"id": "p1", "prompt": "one", "data_source": "mine"},
    {"id": "p2", "prompt": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "two"}],
     "data_source": "mine"},
    {"id": "p3", "prompt": "three", "data_source": "mine"},
]  # fmt: skip
MODELS = Answer(body={"object": "list", "data": [{"id": "the-model"}]})


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return path


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def echo(asked: Asked) -> Answer:
    """The last message once more, with the seed it came with; "three" is refused."""
    text = asked.body["messages"][-1]["content"]
    return error(400, "no such thing") if text == "three" else said(f"{text}/{asked.body.get('seed')}")


@pytest.fixture
def server(faulty: FaultyServer) -> FaultyServer:
    faulty.get["/v1/models"] = MODELS
    faulty.script(echo)
    return faulty


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    return write(tmp_path / "prompts.jsonl", PROMPTS)


def test_groups_are_what_score_reads_and_a_failure_is_no_empty_response(
    calipers: Calipers, server: FaultyServer, prompts: Path
) -> None:
    run = calipers(
        "generate", prompts, "-o", "groups.jsonl", "--base-url", server.url, "--n", 2, "--sampling-seed", 7,
        "--temperature", 0.5, "--param", "top_p=0.9", "--max-tokens", 100, "--param", "top_k=20")  # fmt: skip
    assert run.code == 1, run.err
    assert "2 requests failed and have no response" in run.err
    assert "no such thing" in run.err
    groups = list(read_groups(prompts.parent / "groups.jsonl"))
    assert [group.group_id for group in groups] == ["p1", "p2"]
    assert [one.messages[0]["content"] for one in groups[0].trajectories] == ["one/7", "one/8"]
    assert groups[1].context == ({"role": "system", "content": "be brief"}, {"role": "user", "content": "two"})
    assert groups[1].extra["data_source"] == "mine"
    sent = next(body for body in server.posts if body["messages"][-1]["content"] == "two")
    assert (sent["model"], sent["temperature"], sent["top_p"], sent["max_tokens"], sent["top_k"]) == (
        "the-model",
        0.5,
        0.9,
        100,
        20,
    )
    scored = calipers("score", "groups.jsonl", "-o", "scored.jsonl")
    assert scored.code == 0, scored.err


def test_the_same_command_again_asks_only_what_is_open(calipers: Calipers, server: FaultyServer, prompts: Path) -> None:
    arguments = ("generate", prompts, "-o", "out.jsonl", "--base-url", server.url, "--n", 2)
    calipers(*arguments)
    before, first = len(server.posts), (prompts.parent / "out.jsonl").read_text("utf-8")
    assert before == 6
    again = calipers(*arguments)
    assert len(server.posts) == before + 2
    assert "4 of them from an earlier run" in again.err
    assert (prompts.parent / "out.jsonl").read_text("utf-8") == first
    kept = prompts.parent / "out.jsonl.samples.jsonl"
    kept.write_text(kept.read_text("utf-8")[:-20], "utf-8")  # cut off by a kill: costs that response alone
    server.script(said("half of it", finish_reason="content_filter"))
    withheld = calipers(*arguments)
    assert (withheld.code, len(server.posts)) == (1, before + 2 + 3)
    assert "withheld by the provider, so there is no response" in withheld.err
    server.script(said("", finish_reason=None), said("now it works"))  # empty for no reason: asked again
    third = calipers(*arguments)
    assert third.code == 0
    assert [row["group_id"] for row in lines(prompts.parent / "out.jsonl")] == ["p1", "p2", "p3"]
    assert '"content": ""' not in (prompts.parent / "out.jsonl").read_text("utf-8")
    before = len(server.posts)
    assert calipers(*arguments, "--temperature", 0.1).code == 0
    assert len(server.posts) == before + 6


def test_a_refused_key_stops_the_rest(calipers: Calipers, server: FaultyServer, tmp_path: Path) -> None:
    server.script(error(401, "wrong key"))
    many = write(tmp_path / "many.jsonl", [{"prompt": f"q{number}"} for number in range(50)])
    run = calipers("generate", many, "-o", "out.jsonl", "--base-url", server.url, "--concurrency", 2)
    assert run.code == 1
    assert len(server.posts) <= 4
    assert "50 requests failed" in run.err
    assert not (tmp_path / "out.jsonl").read_text("utf-8")


CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}


def test_empty_and_cut_responses_are_told_apart(calipers: Calipers, server: FaultyServer, prompts: Path) -> None:
    server.script(said("", finish_reason="length"), said("half", finish_reason="length"), said("<think>t</think>whole"))
    run = calipers("generate", prompts, "-o", "out.jsonl", "--base-url", server.url, "--concurrency", 1)
    assert run.code == 0, run.err
    assert "2 cut off at --max-tokens" in run.err
    texts = {row["group_id"]: row["trajectories"][0] for row in lines(prompts.parent / "out.jsonl")}
    assert texts["p1"]["messages"][0]["content"] == ""
    assert texts["p1"]["metadata"] == {"finish_reason": "length"}
    assert texts["p2"]["metadata"] == {"finish_reason": "length"}
    assert texts["p3"]["messages"][0]["content"] == "<think>t</think>whole"


def test_what_a_model_ends_with_is_its_response_and_nothing_else_is_asked_for(
    calipers: Calipers, server: FaultyServer, tmp_path: Path
) -> None:
    cases: list[tuple[Answer, str]] = [
        (said(""), ""),
        (said(None), ""),
        (said(" \n"), " \n"),
        (said("", reasoning_content="Let me see."), ""),
        (said("", reasoning_content='{"a": 1}'), ""),
        (said(None, finish_reason="tool_calls", tool_calls=[CALL]), ""),
        (said(None, refusal="I cannot help with that."), "I cannot help with that."),
    ]  # fmt: skip
    prompts = [{"prompt": str(place)} for place in range(len(cases))]
    path = write(tmp_path / "some.jsonl", prompts)
    server.script(lambda asked: cases[int(asked.body["messages"][-1]["content"])][0])
    for _ in range(2):  # the second time from the file of responses that were kept
        run = calipers("generate", path, "-o", "out.jsonl", "--base-url", server.url)
        assert run.code == 0, run.err
        members = [row["trajectories"][0] for row in lines(tmp_path / "out.jsonl")]
        assert [one["messages"][0]["content"] for one in members] == [text for _, text in cases]
    assert len(server.posts) == len(cases)


def test_bad_lines_are_named_and_the_rest_is_done(calipers: Calipers, server: FaultyServer, tmp_path: Path) -> None:
    cases: list[tuple[Any, str]] = [
        ({"question": "one"}, "has none of prompt, messages and context, but question"),
        ("nonsense", "not JSON"),
        ({"prompt": []}, "prompt: must be text or a list"),
        ({"prompt": [{"content": "x"}]}, "prompt[0]: must be a message with a role"),
        ({"prompt": [{"role": "user"}]}, "prompt[0]: has no content"),
        ({"prompt": "two", "rubrics": [{"criterion": "x", "pionts": 1}]}, "rubrics: criterion 1: unknown field 'pi"),
        ({"prompt": "x", "rubric": "kind", "extra_info": {"rubric": "rude"}}, "differs from the rubric in extra_info"),
    ]
    write(tmp_path / "prompts.jsonl", [*(row for row, _ in cases), {"prompt": "one", "text": "one"}])
    arguments = ("generate", "prompts.jsonl", "--base-url", server.url)
    run = calipers(*arguments, "-o", "out.jsonl")
    assert run.code == 1
    named = [f"prompts.jsonl:{number}: " for number in range(1, len(cases) + 1)]
    assert [
        one for place, (_, words) in zip(named, cases, strict=True) for one in (place, words) if one not in run.err
    ] == []
    assert [post["messages"][-1]["content"] for post in server.posts] == ["one"]
    assert "text is missing, but prompt" in calipers(*arguments, "-o", "key.jsonl", "--prompt-key", "text").err
    assert calipers(*arguments, "-o", "no.jsonl", "--strict").code == 2
    assert not (tmp_path / "no.jsonl").exists()


def test_bad_usage_is_one_sentence_before_anything_is_asked(calipers: Calipers, prompts: Path) -> None:
    cases: list[tuple[tuple[str, ...], str]] = [
        ((), "name a model with --model, or a server with --base-url"),
        (("--model", "embedded"), "is a judge that cannot generate text"),
        (("--model", "local:judge"), "is a judge that cannot generate text"),
        (("--model", "embeded/m"), "'embeded/m' is not a provider/model name: serve it"),
        (("--model", "no-such/model"), "'no-such/model' is not a provider/model name: serve it"),
        (("--model", "openai/gpt-5-mini"), "OPENAI_API_KEY is not set"),
        (("--base-url", "http://127.0.0.1:9/v1"), "does not list its models"),
        (("--model", "scripted:none.jsonl"), "cannot be read"),
    ]  # fmt: skip
    write(prompts.parent / "mine.jsonl", PROMPTS)  # nothing beside it says that generate wrote it
    outs = [
        ("no/out.jsonl", "folder does not exist"), ("-", "name a file: responses are recorded"), (".", "name a file"),
        ("prompts.jsonl", "file of prompts itself"), ("mine.jsonl", "--force"),
    ]  # fmt: skip
    commands = [(("generate", prompts, "-o", "out.jsonl", *arguments), words) for arguments, words in cases]
    commands += [(("generate", prompts, "-o", out, "--model", "vllm/m"), words) for out, words in outs]
    assert mismatches(calipers, commands) == []
    for model in ("openai/gpt-5-mini", "embeded/m"):
        assert "embedded" not in calipers("generate", prompts, "-o", "out.jsonl", "--model", model).err
    assert not (prompts.parent / "out.jsonl").exists()


def test_a_server_with_several_models_wants_one_named(calipers: Calipers, server: FaultyServer, prompts: Path) -> None:
    server.get["/v1/models"] = Answer(body={"data": [{"id": "a"}, {"id": "b"}]})
    run = calipers("generate", prompts, "-o", "out.jsonl", "--base-url", server.url)
    assert run.code == 2
    assert "has 2 models (a, b): name one with --model" in run.err
    run = calipers("generate", prompts, "-o", "out.jsonl", "--base-url", server.url, "--model", "org/b")
    assert server.posts[0]["model"] == "org/b"


def test_ifeval_checks_what_generate_wrote_and_an_empty_response_follows_nothing(
    calipers: Calipers, server: FaultyServer, tmp_path: Path
) -> None:
    asked = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    rows = [{"key": place, "prompt": text, **asked} for place, text in enumerate(("one", "two", "three", "four"))]
    write(tmp_path / "data.jsonl", rows)
    replies = {"one": said("a b"), "two": said("a, b"), "three": error(400, "no such thing"), "four": said("")}
    server.script(lambda sent: replies[sent.body["messages"][0]["content"]])
    arguments = ("generate", "data.jsonl", "-o", "out.jsonl", "--base-url", server.url)
    assert calipers(*arguments, "--n", 2).code == 1
    shown = json.loads(calipers("ifeval", "out.jsonl", "--json").out)
    assert (shown["prompts"], shown["prompt_strict"]) == (6, 1 / 3)


def test_a_price_of_ones_own_is_what_responses_cost(calipers: Calipers, server: FaultyServer, prompts: Path) -> None:
    server.script(said("an answer"))
    arguments = ("generate", prompts, "-o", "out.jsonl", "--base-url", server.url, "--price", "0,1000000")
    run = calipers(*arguments)
    assert "3 responses to 3 prompts, 15 tokens, $15.0000: out.jsonl" in run.err
    wrong = calipers(*arguments[:-1], "cheap", "-o", "other.jsonl")
    assert (wrong.code, len(server.posts)) == (2, 3)
    assert "--price cheap: write INPUT,OUTPUT" in wrong.err

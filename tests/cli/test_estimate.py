"""``--estimate``: what a command would spend, before it spends anything."""

import json
from pathlib import Path

from command_line import Calipers, mismatches

ROOT = Path(__file__).resolve().parents[2]
GROUPS = ROOT / "examples" / "groups.jsonl"


def test_score_says_calls_tokens_and_dollars_needs_no_key_and_leaves_nothing(tmp_path: Path, calipers: Calipers):
    judge = ("--judge", "openai/gpt-5-mini", "--orders", 2, "--price", "0.25,2", "--reply-tokens", 100)
    done = calipers("score", GROUPS, "-o", "o.jsonl", *judge, "--budget", "usd=0.01", "--estimate")
    assert (done.code, done.err) == (0, "")
    rows = {line[:14].strip(): line[15:] for line in done.out.splitlines()}
    assert rows["calls"] == "24"
    assert rows["output"] == "2,400 tokens, 100 a reply, as --reply-tokens says"
    tokens = int(rows["input"].split()[0].replace(",", ""))
    assert rows["cost"] == f"${tokens * 0.25e-6 + 2400 * 2e-6:,.4f}"
    assert rows["budget"].startswith("usd=0.01: not enough: the run takes ")
    assert max(map(len, done.out.splitlines())) <= 80
    assert list(tmp_path.iterdir()) == []
    # Each call reserves up to --max-tokens of reply, so a budget of little more than what is spent loses groups.
    for most, verdict in ((8192, "not enough: the run takes 78%, plus 80% in reserve"), (999, "enough: the run takes")):
        limits = ("--price", "0.25,2", "--budget", "usd=0.02", "--max-tokens", most)
        done = calipers("score", GROUPS, "-o", "o.jsonl", "--judge", "openai/m", *limits, "--estimate")
        assert f"budget         usd=0.02: {verdict}" in done.out
    for name, words in (("vllm/m@http://127.0.0.1:1/v1", "price is not known"), ("embedded", "in this process")):
        assert words in calipers("score", GROUPS, "-o", "o.jsonl", "--judge", name, "--estimate").out


def test_calibrate_counts_every_way_to_ask(tmp_path: Path, calipers: Calipers):
    done = calipers("calibrate", GROUPS, "--judge", "openai/gpt-5-mini", "--protocol", "listwise", "--protocol",
                    "pointwise", "--orders", 2, "--estimate" )  # fmt: skip
    assert done.code == 0
    assert "openai/gpt-5-mini, listwise\n  calls        24\n" in done.out
    assert "openai/gpt-5-mini, pointwise\n" in done.out
    (tmp_path / "calipers.toml").write_text('price = "1,2"\n', encoding="utf-8")  # of which of several judges?
    judges = ("--judge", "vllm/a@http://127.0.0.1:1/v1", "--judge", "vllm/b@http://127.0.0.1:1/v1")
    assert calipers("calibrate", GROUPS, *judges, "--estimate").out.count("cost         unknown") == 2


def test_generate_counts_a_request_for_each_response_at_its_longest(tmp_path: Path, calipers: Calipers):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": "word " * 80}) + "\n" for _ in range(3)), encoding="utf-8")
    done = calipers("generate", prompts, "-o", "o.jsonl", "--model", "openai/gpt-5-mini", "--n", 4, "--max-tokens", 500,
                    "--estimate" )  # fmt: skip
    assert done.code == 0
    assert "  calls        12\n  input        1,284 tokens ± 20 %\n  output       6,000 tokens, at most" in done.out
    assert [path.name for path in tmp_path.iterdir()] == ["prompts.jsonl"]
    wrong = calipers("generate", prompts, "-o", "o.jsonl", "--model", "openai/gpt-5-mini", "--max-tokens", 500,
                     "--reply-tokens", 501, "--estimate" )  # fmt: skip
    assert wrong.code == 2
    assert "--reply-tokens 501: is above --max-tokens 500; lower it, or raise --max-tokens" in wrong.err


def test_with_resolve_the_most_is_estimated_and_compared_with_the_budget(calipers: Calipers):
    for calls, verdict in ((100, "enough: the run takes 96%"), (12, "not enough: the run takes 800%")):
        done = calipers("score", GROUPS, "-o", "o.jsonl", "--judge", "openai/m", "--resolve", 0.015, "--price", "1,2",
                        "--budget", f"calls={calls}", "--estimate")  # fmt: skip
        assert done.code == 0, done.err
        assert "  calls        96\n" in done.out
        assert "not counted    presentations that resolve may save" in done.out
        assert f"budget         calls={calls}: {verdict}\n" in done.out


def test_what_an_estimate_cannot_be_of_is_refused(tmp_path: Path, calipers: Calipers):
    (tmp_path / "j.jsonl").write_text("", encoding="utf-8")
    judges = ("--judge", "vllm/a@http://127.0.0.1:1/v1", "--judge", "vllm/b@http://127.0.0.1:1/v1")
    cases = [
        (("score", GROUPS, "-o", "o.jsonl", "--reply-tokens", 100), "--reply-tokens has no effect"),
        (("calibrate", GROUPS, "--judge", "embedded", "--reply-tokens", 100), "--reply-tokens has no effect"),
        (("calibrate", GROUPS, "--judgments", "j.jsonl", "--estimate"), "--estimate needs a judge to query"),
        (("calibrate", GROUPS, *judges, "--price", "1,2", "--estimate"), "--price is for one judge"),
    ]
    assert mismatches(calipers, cases) == []

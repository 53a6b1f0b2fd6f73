"""``calipers calibrate``, run as a person runs it."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from http_judge import worth
from judged import groups, rated
from servers.faulty_server import FaultyServer

GROUPS = groups(30)


def calipers(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "160"}
    return subprocess.run(
        [sys.executable, "-m", "calipers", "calibrate", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "groups.jsonl", GROUPS)
    write(tmp_path / "said.jsonl", [*rated(GROUPS, "good", 0.3, calls=2), *rated(GROUPS, "[bold]odd", 1.0, calls=2)])
    return tmp_path


def test_json_on_stdout_is_one_object_and_nothing_else(folder: Path):
    done = calipers("groups.jsonl", "--judgments", "said.jsonl", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert [judge["judge"] for judge in report["judges"]] == ["[bold]odd", "good"]
    assert tomllib.loads(report["recommendation"])["judge"] == ["good"]


def test_the_table_names_judges_frontier_findings_and_recommendation(folder: Path):
    write(folder / "few.jsonl", GROUPS[:10])
    done = calipers("few.jsonl", "--judgments", "said.jsonl", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("good", "[bold]odd", "frontier", "Findings", "20 groups that are not in GROUPS", 'judge = ["good"]'):
        assert words in done.stdout


def test_a_judge_whose_api_tells_no_probabilities_cannot_be_asked_for_means(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    shown = Path(__file__).resolve().parents[2] / "examples" / "groups.jsonl"
    done = calipers(str(shown), "--judge", "anthropic/claude-x", "--expected", cwd=folder)
    assert done.returncode == 2
    assert "the API of anthropic/claude-x has none" in done.stderr


def test_a_place_that_cannot_be_written_is_told_of_before_a_judge_is_paid(folder: Path, faulty: FaultyServer):
    judge = f"vllm/m@{faulty.url}"
    shown = Path(__file__).resolve().parents[2] / "examples" / "quickstart.jsonl"
    done = calipers(str(shown), "--judge", judge, "--save", "none/said.jsonl", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--save none/said.jsonl: its folder does not exist" in done.stderr
    assert not faulty.asked


def test_bad_lines_go_to_stderr_and_the_exit_code_is_1(folder: Path):
    with (folder / "said.jsonl").open("a", encoding="utf-8") as file:
        file.write("nonsense\n")
    done = calipers("groups.jsonl", "--judgments", "said.jsonl", "--json", cwd=folder)
    assert done.returncode == 1
    assert "said.jsonl:121: not JSON" in done.stderr
    assert len(json.loads(done.stdout)["judges"]) == 2


@pytest.mark.parametrize("arguments", [
    ("groups.jsonl",),
    ("groups.jsonl", "--judgments", "none.jsonl"),
    ("none.jsonl", "--judgments", "said.jsonl"),
])  # fmt: skip
def test_a_missing_file_or_flag_is_one_sentence_and_2(folder: Path, arguments: tuple[str, ...]):
    done = calipers(*arguments, cwd=folder)
    assert done.returncode == 2
    assert "Error" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_same_input_gives_the_same_bytes(folder: Path):
    runs = [calipers("groups.jsonl", "--judgments", "said.jsonl", "--json", cwd=folder).stdout for _ in range(2)]
    assert runs[0] == runs[1]


def test_a_judge_may_be_asked_now_and_what_it_said_kept(folder: Path):
    write(
        folder / "shown.jsonl",
        [
            {
                "group_id": f"g{number}",
                "context": [{"role": "user", "content": f"Say {number}."}],
                "trajectories": [
                    {"id": name, "gold": size, "messages": [{"role": "assistant", "content": f"{number} " * size}]}
                    for name, size in (("a", 1), ("b", 20))
                ],
            }
            for number in range(6)
        ],
    )
    asked = calipers("shown.jsonl", "--judge", "embedded", "--save", "kept.jsonl", "--json", cwd=folder)
    assert asked.returncode == 0, asked.stderr
    assert "embedded: 24 answers" in asked.stderr
    again = calipers("shown.jsonl", "--judgments", "kept.jsonl", "--json", cwd=folder)
    assert again.stdout == asked.stdout


def test_a_judge_in_the_settings_file_is_not_asked_where_a_file_is_read(folder: Path):
    (folder / "calipers.toml").write_text('judge = ["vllm/m"]\n')
    done = calipers("groups.jsonl", "--judgments", "said.jsonl", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "Settings from calipers.toml\n")


def test_protocols_are_held_against_each_other_within_what_a_group_may_cost(folder: Path):
    write(
        folder / "shown.jsonl",
        [
            {
                "group_id": f"g{number}",
                "context": [{"role": "user", "content": f"Say {number}."}],
                "trajectories": [
                    {"id": name, "gold": size, "messages": [{"role": "assistant", "content": f"{number} " * size}]}
                    for name, size in (("a", 1), ("b", 20), ("c", 9))
                ],
            }
            for number in range(6)
        ],
    )
    arguments = (
        "shown.jsonl",
        "--judge",
        "embedded",
        "--protocol",
        "listwise",
        "--protocol",
        "pairwise",
        "--orders",
        "3",
    )
    first = calipers(*arguments, "--save", "asked.jsonl", "--json", cwd=folder)
    assert first.returncode == 0, first.stderr
    assert "not for training" in json.loads(first.stdout)["recommendation"]
    asked = (folder / "asked.jsonl").read_text(encoding="utf-8").replace('"embedded"', '"model"')
    (folder / "asked.jsonl").write_text(asked, encoding="utf-8")
    recorded = ("shown.jsonl", "--judgments", "asked.jsonl")
    done = calipers(*recorded, "--per-group", "shown=9", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert {(way["protocol"], way["orders"]) for way in report["ways"]} == {
        ("listwise", 1), ("listwise", 2), ("listwise", 3), ("pairwise", 1), ("pairwise", 2),
    }  # fmt: skip
    assert {judge["mode"]: judge["cost"]["shown"] for judge in report["judges"]} == {"listwise": 9, "pairwise": 12}
    assert all(judge["cost"]["cost_usd"] is None for judge in report["judges"])
    assert "at most 9 transcripts read" in report["recommendation"]
    table = calipers(*recorded, cwd=folder)
    assert "Cost-accuracy frontier" in table.stdout


@pytest.mark.parametrize("limit", ["tokens", "tokens=many", "gold=3", "usd=-1", "usd=nan"])
def test_a_limit_that_is_none_is_one_sentence(folder: Path, limit: str):
    done = calipers("groups.jsonl", "--judgments", "said.jsonl", "--per-group", limit, cwd=folder)
    assert done.returncode == 2
    assert "write tokens=20000" in done.stderr
    assert "Traceback" not in done.stderr


def prompts_with_answers(folder: Path, *, own: bool = False) -> None:
    """Twelve groups of six prompts, and a judge."""
    made: list[dict[str, Any]] = [
        {
            "group_id": f"g{n}",
            "context": [{"role": "user", "content": f"What is {n % 6} * 7?"}],
            "trajectories": [
                {"id": name, "messages": [{"role": "assistant", "content": f"{name} {n}"}], "gold": gold}
                for name, gold in (("a", 1), ("b", 0.5), ("c", 0))
            ],
        }
        | ({"rubric": "Be right."} if own and n == 0 else {})
        for n in range(12)
    ]
    write(folder / "asked.jsonl", made)
    said: list[dict[str, Any]] = [{"scores": {"a": 90, "b": 50, "c": 10}}]
    write(folder / "replies.jsonl", said)


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("--judge", "openai/gpt-5"), "OPENAI_API_KEY"),
    ],
)
def test_a_judge_that_cannot_be_asked_is_refused_before_another_is_paid(
    folder: Path, flags: tuple[str, ...], problem: str
):
    prompts_with_answers(folder)
    asking = ("asked.jsonl", "--judge", "scripted:replies.jsonl", "--orders", "1", "--ledger", "asked.db")
    done = calipers(*asking, *flags, cwd=folder)
    assert (done.returncode, problem in done.stderr) == (2, True), done.stderr
    assert "12 answers" not in done.stderr
    assert not (folder / "asked.db").exists()


def test_criteria_of_the_settings_file_are_for_runs(folder: Path):
    prompts_with_answers(folder)
    (folder / "calipers.toml").write_text('criteria = "auto"\n')
    done = calipers("asked.jsonl", "--judge", "scripted:replies.jsonl", "--orders", "1", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [one["prompt_variant"] for one in json.loads(done.stdout)["judges"]] == [None]


def test_recorded_answers_need_no_judge_that_can_be_reached(folder: Path):
    shown = [
        {
            "group_id": f"g{number}",
            "trajectories": [
                {"id": name, "messages": [{"role": "assistant", "content": f"worth {gold}"}], "gold": gold}
                for name, gold in (("a", 10 + number), ("b", 50))
            ],
        }
        for number in range(3)
    ]
    write(folder / "shown.jsonl", shown)
    with FaultyServer() as server:
        server.script(worth())
        arguments = (
            "shown.jsonl",
            "--judge",
            f"vllm/judge@{server.url}",
            "--orders",
            "1",
            "--ledger",
            "l.db",
            "--json",
        )
        before = calipers(*arguments, cwd=folder)
    assert before.returncode == 0, before.stderr
    again = calipers(*arguments, cwd=folder)
    assert (again.returncode, again.stdout) == (0, before.stdout), again.stderr
    assert "Nothing answers" in again.stderr
    assert "Continuing with the answers in the ledger" in again.stderr
    assert calipers(*arguments[:-3], "--ledger", "new.db", cwd=folder).returncode == 2


def test_why_a_judge_gave_no_score_is_told(folder: Path):
    members = [
        {"id": name, "messages": [{"role": "assistant", "content": name}], "gold": gold}
        for name, gold in (("a", 4), ("b", 1))
    ]
    write(folder / "wide.jsonl", [{"group_id": f"g{number}", "trajectories": members} for number in range(3)])
    done = calipers("wide.jsonl", "--judge", "profile:gpt-5.4", cwd=folder)
    assert "6 × trajectory 'a' of group 'g…'" in done.stderr
    assert "low=0&high=" in done.stderr
    assert "100.0% of its answers failed or could not be read" in done.stdout


@pytest.mark.parametrize("again", ["vllm/m@http://u:p@127.0.0.1:9/v1", "vllm/m@http://127.0.0.1:9/v1/"])
@pytest.mark.parametrize("more", [(), ("--estimate",)])
def test_a_judge_that_is_named_twice_is_refused(folder: Path, again: str, more: tuple[str, ...]):
    judge = "vllm/m@http://127.0.0.1:9/v1"
    done = calipers("groups.jsonl", "--judge", judge, "--judge", again, *more, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{again.replace('u:p@', '')}: is named twice; to ask a judge more often, use --samples" in done.stderr


def test_a_recommendation_asks_as_it_was_measured(folder: Path):
    shown = [
        {
            "group_id": f"g{number}",
            "trajectories": [
                {"id": name, "messages": [{"role": "assistant", "content": f"worth {gold}"}], "gold": gold}
                for name, gold in (("a", 10 + number), ("b", 50), ("c", 30))
            ],
        }
        for number in range(6)
    ]
    write(folder / "shown.jsonl", shown)
    with FaultyServer() as server:
        server.script(worth())
        flags = ("--param", "temperature=0.3", "--param", "top_p=0.5", "--price", "1,2", "--orders", "1")
        judge = f"vllm/judge@{server.url}"
        done = calipers("shown.jsonl", "--judge", judge, *flags, "--recommendation", "best.toml", cwd=folder)
        assert done.returncode == 0, done.stderr
        asked = len(server.posts)
        scored = subprocess.run(
            [sys.executable, "-m", "calipers", "--config", "best.toml", "score", "shown.jsonl", "-o", "out.jsonl"],
            cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert scored.returncode == 0, scored.stderr
        bodies = [body for body in server.posts[asked:] if "Score these attempts" in str(body["messages"])]
        assert {(body["temperature"], body["top_p"]) for body in bodies} == {(0.3, 0.5)}

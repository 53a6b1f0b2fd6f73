"""What ``calipers generate`` writes from a data set's row, ``calipers score`` scores by all that the row asks for."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calipers import read_groups
from command_line import Calipers, read_rows, write_parquet, write_rows
from dataset_rows import ANSWERS, ROWS, RULES, SCORES
from servers.checker import checker
from servers.faulty_server import Answer, Asked, FaultyServer, said

MODELS = Answer(body={"object": "list", "data": [{"id": "the-model"}]})
DATA = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data") / "ruscarl"
Servers = tuple[FaultyServer, FaultyServer]
"""The policy's, and the judge's."""


def planets(asked: Asked) -> Answer:
    """The policy: its first answer, then its second."""
    return said(ANSWERS[asked.body["seed"]])


@pytest.fixture
def servers() -> Iterator[Servers]:
    with FaultyServer() as policy, FaultyServer() as judge:
        policy.get["/v1/models"] = judge.get["/v1/models"] = MODELS
        policy.script(planets)
        judge.script(checker)
        yield policy, judge


def generated(calipers: Calipers, policy: FaultyServer, rows: str | dict[str, Any], out: str = "out.jsonl") -> str:
    """The file of two responses to each row of a file, or to one row."""
    key = ("--prompt-key", "question") if "question" in rows else ()
    if isinstance(rows, dict):
        write = write_parquet if out.endswith(".parquet") else write_rows
        rows = str(write(Path(out.replace("out", "rows")), [rows]))
    sampled = ("--n", 2, "--sampling-seed", 0, "--force")
    run = calipers("generate", rows, "-o", out, "--base-url", policy.url, *sampled, *key)
    assert run.code == 0, run.err
    return out


def scored_by(judge: FaultyServer) -> tuple[str, ...]:
    return ("-o", "scored.jsonl", "--judge", "vllm/judge", "--base-url", judge.url)


@pytest.mark.parametrize("name", SCORES)
def test_every_row_is_scored_by_what_it_asks_for(calipers: Calipers, servers: Servers, name: str) -> None:
    policy, judge = servers
    for out in ("out.jsonl", "out.parquet"):
        path = generated(calipers, policy, ROWS[name], out)
        how = ["reward=score"] if name not in RULES else ["normaliser=all_or_nothing", "--combine", "verif_code"]
        run = calipers("score", path, *scored_by(judge), "--protocol", "checklist", "--force", "--grading", *how)
        assert run.code == 0, run.err
        assert "not used" not in run.err
        (result,) = read_rows(Path("scored.jsonl"))
        assert tuple(one["reward"] for one in result["trajectories"]) == pytest.approx(SCORES[name])


def test_rules_that_are_not_run_are_told(calipers: Calipers, servers: Servers) -> None:
    for name in RULES:
        run = calipers("score", generated(calipers, servers[0], ROWS[name]), "-o", "scored.jsonl", "--force")
        assert run.code == 0, run.err
        assert re.search("not used: the rules in .*--combine", run.err, re.DOTALL)


@pytest.mark.parametrize("name", ["a plain answer", "rubrics as rewards"])
def test_a_reference_is_shown_where_that_is_asked_for_and_told_where_it_is_not(
    calipers: Calipers, servers: Servers, name: str
) -> None:
    policy, judge = servers
    row = {key: item for key, item in ROWS[name].items() if key != "rubric"}
    judge.script(said('{"scores": {}}'))
    arguments = ("score", generated(calipers, policy, row), *scored_by(judge))
    assert "not used: the reference in " in calipers(*arguments).err
    run = calipers(*arguments, "--reference", "--force")
    assert "not used" not in run.err
    assert "there is a reference, which no attempt was shown" in str(judge.posts[-1])


@pytest.mark.data
@pytest.mark.parametrize("name", ["healthbench_val", "verinstruct_val", "verinstruct_verif_val"])
def test_the_recorded_rows_go_all_the_way(calipers: Calipers, servers: Servers, name: str) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    if not DATA.is_dir():
        pytest.skip(f"no recorded data at {DATA}: CALIPERS_DATA says where it is")
    for out in ("out.jsonl", "out.parquet"):
        groups = list(read_groups(generated(calipers, servers[0], f"{DATA / name}.parquet", out)))
        assert len(groups) == (120 if name == "healthbench_val" else 60)
        if name != "verinstruct_verif_val":
            assert all(group.rubric is not None and not isinstance(group.rubric, str) for group in groups)
            continue
        scored = calipers("score", out, "-o", "scored.jsonl", "--combine", "verif_code", "--force")
        results = read_rows(Path("scored.jsonl"))
        rules = sum(group.extra["reward_model"]["ground_truth"].count("[rule]") for group in groups)
        assert rules > 60
        assert sum(len(one["trajectories"][0]["checks"]["rules"]) for one in results) == rules, scored.err

"""What ``calipers generate`` writes from a data set's row, ``calipers score`` scores by all that the row asks for."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calipers import read_groups
from command_line import Calipers
from dataset_rows import ANSWERS, ROWS, RULES, SCORES
from servers.checker import checker
from servers.faulty_server import Answer, Asked, FaultyServer, said

MODELS = Answer(body={"object": "list", "data": [{"id": "the-model"}]})
DATA = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data") / "ruscarl"


def planets(asked: Asked) -> Answer:
    """The policy: its first answer, then its second."""
    return said(ANSWERS[asked.body["seed"]])


@pytest.fixture
def servers() -> Iterator[tuple[FaultyServer, FaultyServer]]:
    with FaultyServer() as policy, FaultyServer() as judge:
        policy.get["/v1/models"] = judge.get["/v1/models"] = MODELS
        policy.script(planets)
        judge.script(checker)
        yield policy, judge


def generated(
    calipers: Calipers, folder: Path, out: str, policy: FaultyServer, row: dict[str, Any], *, packed: bool = False
) -> Path:
    """The file of responses to one row, which is read from Parquet where it is ``packed``."""
    if packed:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

        pq.write_table(pa.Table.from_pylist([row]), folder / "rows.parquet")
    else:
        (folder / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    key = ["--prompt-key", "question"] if "question" in row else []
    run = calipers(
        "generate", "rows.parquet" if packed else "rows.jsonl", "-o", out, "--base-url", policy.url, "--n", 2,
        "--sampling-seed", 0, "--force", *key)  # fmt: skip
    assert run.code == 0, run.err
    return folder / out


@pytest.mark.parametrize("name", SCORES)
def test_every_row_is_scored_by_what_it_asks_for(
    calipers: Calipers, servers: tuple[FaultyServer, FaultyServer], tmp_path: Path, name: str
) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    policy, judge = servers
    for out, packed in (("out.jsonl", False), ("out.parquet", True)):
        path = generated(calipers, tmp_path, out, policy, ROWS[name], packed=packed)
        combine = ["--combine", "verif_code"] if name in RULES else []
        run = calipers(
            "score", path, "-o", "scored.jsonl", "--judge", "vllm/judge", "--base-url", judge.url, "--protocol",
            "checklist",
            "--grading", "reward=score" if name not in RULES else "normaliser=all_or_nothing", "--force", *combine,
        )  # fmt: skip
        assert run.code == 0, run.err
        assert "not used" not in run.err
        (result,) = [json.loads(line) for line in (tmp_path / "scored.jsonl").read_text("utf-8").splitlines()]
        assert tuple(one["reward"] for one in result["trajectories"]) == pytest.approx(SCORES[name])


def test_rules_that_are_not_run_are_told(
    calipers: Calipers, servers: tuple[FaultyServer, FaultyServer], tmp_path: Path
) -> None:
    for name in RULES:
        path = generated(calipers, tmp_path, "out.jsonl", servers[0], ROWS[name])
        run = calipers("score", path, "-o", "scored.jsonl", "--force")
        assert run.code == 0, run.err
        assert "not used: the rules in " in run.err
        assert "--combine" in run.err


@pytest.mark.parametrize("name", ["a plain answer", "rubrics as rewards"])
def test_a_reference_is_shown_where_that_is_asked_for_and_told_where_it_is_not(
    calipers: Calipers, servers: tuple[FaultyServer, FaultyServer], tmp_path: Path, name: str
) -> None:
    policy, judge = servers
    row = {key: item for key, item in ROWS[name].items() if key != "rubric"}
    judge.script(said('{"scores": {}}'))
    path = generated(calipers, tmp_path, "out.jsonl", policy, row)
    arguments = ("score", path, "-o", "scored.jsonl", "--judge", "vllm/judge", "--base-url", judge.url)
    assert "not used: the reference in " in calipers(*arguments).err
    run = calipers(*arguments, "--reference")
    assert "not used" not in run.err
    assert "there is a reference, which no attempt was shown" in str(judge.posts[-1])


@pytest.mark.data
@pytest.mark.parametrize("name", ["healthbench_val", "verinstruct_val", "verinstruct_verif_val"])
def test_the_recorded_rows_go_all_the_way(
    calipers: Calipers, servers: tuple[FaultyServer, FaultyServer], tmp_path: Path, name: str
) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    if not DATA.is_dir():
        pytest.skip(f"no recorded data at {DATA}: CALIPERS_DATA says where it is")
    for out in ("out.jsonl", "out.parquet"):
        run = calipers(
            "generate", DATA / f"{name}.parquet", "-o", out, "--base-url", servers[0].url, "--n", 2, "--sampling-seed",
            0)  # fmt: skip
        assert run.code == 0, run.err
        groups = list(read_groups(tmp_path / out))
        assert len(groups) == (120 if name == "healthbench_val" else 60)
        if name != "verinstruct_verif_val":
            assert all(group.rubric is not None and not isinstance(group.rubric, str) for group in groups)
            continue
        scored = calipers("score", out, "-o", "scored.jsonl", "--combine", "verif_code", "--force")
        results = [json.loads(line) for line in (tmp_path / "scored.jsonl").read_text("utf-8").splitlines()]
        rules = sum(group.extra["reward_model"]["ground_truth"].count("[rule]") for group in groups)
        assert rules > 60
        assert sum(len(one["trajectories"][0]["checks"]["rules"]) for one in results) == rules, scored.err

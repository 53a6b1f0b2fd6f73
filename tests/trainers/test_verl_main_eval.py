"""What ``calipers generate`` writes, verl's own main_eval scores, whatever form the rows had; and what it gets can be
averaged.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from calipers.generation.forms import response_rows, row_for_main_eval, write_rows
from calipers.generation.prompts import read_prompts
from calipers.generation.sampling import Answered, Sample
from calipers.trainers.verl import compute_score
from dataset_rows import ANSWERS, ASKED, ROWS, RULES, SCORES
from servers.checker import checker
from servers.faulty_server import FaultyServer

_missing = [name for name in ("verl", "ray", "pandas", "pyarrow") if find_spec(name) is None]


def mean(name: str) -> float:
    """The mean of both answers' scores, as RuscaRL clips them."""
    return sum(max(0.0, score) for score in SCORES[name]) / 2


def responses(folder: Path, name: str) -> Any:
    """The responses to one row, as ``calipers generate --form rows`` writes them."""
    import pandas as pd  # noqa: PLC0415 - beside verl

    (folder / "row.jsonl").write_text(json.dumps({**ROWS[name], "data_source": name}) + "\n", encoding="utf-8")
    (prompt,) = read_prompts(str(folder / "row.jsonl"), key="question" if "question" in ROWS[name] else None)
    samples = tuple(Sample(number, text, "stop") for number, text in enumerate(ANSWERS))
    write_rows(response_rows(Answered(prompt, samples), "rows"), str(folder / "one.parquet"))
    frame = pd.read_parquet(folder / "one.parquet")[["data_source", "responses", "reward_model"]]
    # Of all structs, main_eval looks at this key alone.
    frame["reward_model"] = [{"ground_truth": one["ground_truth"]} for one in frame["reward_model"]]
    return frame


def main_eval(data: Path, server: FaultyServer, ray_folder: str) -> str:
    """The last line that verl's own command prints."""
    function, ray = "+reward.custom_reward_function", "ray_kwargs.ray_init"
    run = subprocess.run(
        [
            *(sys.executable, "-m", "verl.trainer.main_eval", f"data.path={data}"),
            *(f"{function}.path=pkg://calipers.trainers.verl", f"{function}.name=compute_score"),
            *(f"{function}.reward_kwargs.judge=vllm/judge", f"{function}.reward_kwargs.base_url={server.url}"),
            *(f"{ray}.num_cpus=2", f"+{ray}.include_dashboard=false", f"+{ray}.object_store_memory=100000000"),
            *(f"+{ray}._node_ip_address=127.0.0.1", f"+{ray}._temp_dir={ray_folder}", "hydra.run.dir=."),
        ],
        cwd=data.parent, capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-4000:]
    return run.stdout.strip().splitlines()[-1]


@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)} (pip install 'calipers[verl]')")
def test_verls_main_eval_scores_what_generate_writes_of_every_form_of_row(tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415 - beside verl

    pd.concat([responses(tmp_path, name) for name in ROWS], ignore_index=True).to_parquet(tmp_path / "all.parquet")
    # Ray's sockets need a short path.
    with FaultyServer() as server, tempfile.TemporaryDirectory(prefix="cm", dir="/tmp") as ray_folder:
        server.script(checker)
        printed = main_eval(tmp_path / "all.parquet", server, ray_folder)
    found = {key: float(score) for key, score in re.findall(r"'test_score/(.*?)': (?:np\.float64\()?([\d.]+)", printed)}
    assert found.keys() == ROWS.keys()
    assert {name: found[name] for name in RULES} == {name: pytest.approx(mean(name)) for name in RULES}
    assert found["a plain answer"] == pytest.approx(0.55)


@pytest.mark.parametrize("name", SCORES)
def test_the_ground_truth_alone_says_all_that_a_row_asks_for(name: str) -> None:
    truth = row_for_main_eval(ROWS[name], ASKED)["reward_model"]["ground_truth"]
    assert json.loads(truth)["prompt"] == ASKED
    with FaultyServer() as server:
        server.script(checker)
        settings: dict[str, Any] = {"judge": "vllm/judge", "base_url": server.url}
        if name not in RULES:
            settings["grading"] = {"normaliser": "ruscarl_batch"}
        scores = [compute_score("planets", answer, truth, **settings) for answer in ANSWERS]
    assert sum(scores) / 2 == pytest.approx(mean(name))


def test_a_plain_answer_stays_what_functions_of_others_read() -> None:
    row = ROWS["a plain answer"]
    assert row_for_main_eval(row, ASKED) == row


def test_an_answer_beside_a_rubric_becomes_its_reference() -> None:
    row = {"prompt": ASKED, "reward_model": {"ground_truth": "42", "rubrics": [{"criterion": "Says 42.", "points": 1}]}}
    truth = json.loads(row_for_main_eval(row, ASKED)["reward_model"]["ground_truth"])
    assert truth["reference"] == "42"
    assert truth["rubrics"][0]["criterion"] == "Says 42."

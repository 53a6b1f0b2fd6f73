"""What ``calipers generate`` writes, verl's own main_eval scores, whatever form the rows had; and what it gets can be
averaged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.generation.main_eval import row_for_main_eval
from calipers.rubric.dataset_standards import read_standards
from calipers.trainers.verl import compute_score
from dataset_rows import ANSWERS, ASKED, ROWS, RULES, SCORES
from servers.checker import checker
from servers.faulty_server import FaultyServer

_HERE = Path(__file__).resolve().parent
_missing = [name for name in ("verl", "ray", "pandas", "pyarrow") if find_spec(name) is None]


def mean(name: str) -> float:
    """Of both answers' scores: the rubric's clipped at 0."""
    return sum(max(0.0, score) for score in SCORES[name]) / 2


@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)} (pip install 'calipers[verl]')")
def test_verls_main_eval_scores_what_generate_writes_of_every_form_of_row(tmp_path: Path) -> None:
    paths = [str(_HERE.parent), str(_HERE.parents[1] / "src"), os.environ.get("PYTHONPATH", "")]
    run = subprocess.run(
        [sys.executable, str(_HERE / "main_eval_process.py"), str(tmp_path / "found.json")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    assert (tmp_path / "found.json").exists(), run.stderr[-4000:]
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert found["rubric_batch"] == {name: pytest.approx(mean(name)) for name in SCORES if name not in RULES}
    assert found["verif"] == {name: pytest.approx(mean(name)) for name in RULES}
    assert found["compute_score"].keys() == ROWS.keys()
    assert {name: found["compute_score"][name] for name in RULES} == found["verif"]
    assert found["compute_score"]["a plain answer"] == pytest.approx(0.55)


@pytest.mark.parametrize("name", SCORES)
def test_the_ground_truth_alone_says_all_that_a_row_asks_for(name: str) -> None:
    truth = row_for_main_eval(ROWS[name], ASKED)["reward_model"]["ground_truth"]
    before, after = read_standards(ROWS[name]), read_standards({"reward_model": {"ground_truth": truth}})
    assert json.loads(truth)["prompt"] == ASKED
    assert (after.rubric is None, after.rules is None) == (before.rubric is None, before.rules is None)
    with FaultyServer() as server:
        server.script(checker)
        told: dict[str, Any] = {"judge": "vllm/judge", "base_url": server.url}
        recipe = "verif" if name in RULES else "rubric_batch"
        scores = [compute_score("planets", answer, truth, recipe=recipe, **told) for answer in ANSWERS]
        assert sum(scores) / 2 == pytest.approx(mean(name))
        assert all(0 <= compute_score("planets", answer, truth, **told) <= 1 for answer in ANSWERS)


def test_a_plain_answer_stays_what_functions_of_others_read() -> None:
    row = ROWS["a plain answer"]
    assert row_for_main_eval(row, ASKED) == row


def test_an_answer_beside_a_rubric_becomes_its_reference() -> None:
    row = {"prompt": ASKED, "reward_model": {"ground_truth": "42", "rubrics": [{"criterion": "Says 42.", "points": 1}]}}
    truth = json.loads(row_for_main_eval(row, ASKED)["reward_model"]["ground_truth"])
    assert truth["reference"] == "42"
    assert truth["rubrics"][0]["criterion"] == "Says 42."


def test_without_the_row_the_remedy_is_told() -> None:
    with pytest.raises(InputError, match=r"main_eval passes .*: calipers generate -o OUT\.parquet"):
        compute_score("planets", "Mars", "", judge="embedded", recipe="rubric_batch")

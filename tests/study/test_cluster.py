"""examples/cluster: its scripts' settings are those that verl's own loader accepts, and its Python files work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from calipers.rubric.dataset_standards import read_standards
from calipers.types import Rubric

CLUSTER = Path(__file__).resolve().parents[2] / "examples" / "cluster"
ARMS = ("api", "own", "compare", "longer", "lost", "zero")


def script(name: str, *arguments: str, folder: Path, fake: str = "", **environment: str) -> Any:
    """What a script does, with ``fake``, a line of bash, for Python, vLLM and calipers."""
    for program in ("python", "vllm", "curl", "calipers"):
        (folder / program).write_text(f"#!/usr/bin/env bash\n{fake}\n", encoding="utf-8")
        (folder / program).chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", str(CLUSTER / name), *arguments],  # noqa: S607
        cwd=folder, env={**os.environ, "PATH": path, **environment},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def settings_of(arm: str, folder: Path, recipe: str = "eight-gpus") -> list[str]:
    """The overrides that train.sh passes to verl, after the estimate got the same."""
    done = script(
        "train.sh", arm, "3", "trainer.save_freq=10", folder=folder, RECIPE=recipe, fake='printf "%s\\n" "$@"'
    )
    assert done.returncode == 0, done.stderr
    estimate, rest = done.stdout.split("-m\nverl.trainer.main_ppo\n")
    assert estimate.splitlines() == [str(CLUSTER / "estimate.py"), *rest.splitlines()]
    return list(rest.splitlines())


def test_arms_differ_in_what_calipers_is_told_and_in_validation_only(tmp_path: Path) -> None:
    by_arm = {arm: set(settings_of(arm, tmp_path)) for arm in ARMS}
    named = {"trainer.experiment_name", "trainer.default_local_dir", "trainer.rollout_data_dir"}
    for arm in ARMS:
        differing = {setting.split("=")[0] for setting in by_arm["api"] ^ by_arm[arm]} - named
        assert all(name.startswith(("+calipers.", "trainer.val_before", "trainer.test_freq")) for name in differing)
    for arm in ("longer", "lost", "zero"):
        differing = {setting.split("=")[0] for setting in by_arm["compare"] ^ by_arm[arm]} - named
        assert differing <= {"+calipers.judge", "+calipers.reward", "+calipers.ledger"}
    assert "trainer.save_freq=10" in by_arm["api"]
    assert script("train.sh", "none", "0", folder=tmp_path).returncode == 2
    assert script("train.sh", "api", "0", folder=tmp_path, RECIPE="none").returncode == 2


@pytest.mark.slow
def test_what_a_run_takes_is_printed_first_and_a_full_disk_ends_it(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    prepare(tmp_path, 40, held_out=10)
    settings, small = settings_of("zero", tmp_path, "one-gpu"), "actor_rollout_ref.model.path=Some-0.1B"
    shown = run("estimate.py", *settings, "+calipers.price=[1,2]", small, cwd=tmp_path)
    assert "zero-3: 200 steps of 16 prompts, 8 responses each" in shown
    assert "training: 6,400 calls" in shown  # two orders for each prompt
    assert "$" in shown
    assert "disk: 2 GB" in shown
    graded = run("estimate.py", *settings_of("api", tmp_path), small, cwd=tmp_path)
    assert "training: 179,200 calls" in graded  # one for each rollout
    assert "validation: 150 calls" in graded  # ten prompts, before the first step and after every 25th
    assert "price unknown" in graded
    many = [*settings, "actor_rollout_ref.model.path=Some-900000B"]
    done = subprocess.run([sys.executable, str(CLUSTER / "estimate.py"), *many], cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert "main_ppo" not in script("train.sh", "zero", "3", folder=tmp_path, fake="echo $@; exit 1").stdout


def test_an_evaluator_that_trains_an_arm_is_refused(tmp_path: Path) -> None:
    for judge, code in {
        "openai/gpt-5-mini": 2, "openrouter/openai/gpt-5-mini": 2, "vllm/Qwen/Qwen3-32B@http://gpu1:8000/v1": 2,
        "anthropic/claude-haiku-4-5": 1,
    }.items():  # fmt: skip
        done = script("evaluate.sh", "zero", "0", folder=tmp_path, EVALUATOR=judge)
        assert (done.returncode, "is the judge that trains" in done.stderr) == (code, code == 2), judge
    assert "name a judge" in script("evaluate.sh", "zero", "0", folder=tmp_path, EVALUATOR="").stderr


@pytest.mark.slow
def test_sigterm_ends_every_process_that_a_script_has_started(tmp_path: Path) -> None:
    """A worker in a process group of its own, and a driver that ignores the signal, hold stdout open until they end."""
    driver = "trap '' TERM; set -m; sleep 60 & echo working; sleep 60; sleep 60"
    (tmp_path / "python").write_text(f"#!/usr/bin/env bash\n[ $1 = -m ] || exit 0\n{driver}\n", encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    environment = os.environ | {"PYTHON": str(tmp_path / "python"), "GRACE": "1"}
    command = ["bash", str(CLUSTER / "train.sh"), "api", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as training:
        assert training.stdout is not None
        assert training.stdout.readline() == "working\n"
        training.terminate()
        assert training.communicate(timeout=20)[0] == ""
        assert training.returncode == 143


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")  # verl's and Ray's own
def test_verls_own_loader_accepts_each_arm_in_each_recipe(tmp_path: Path) -> None:
    missing = [name for name in ("verl", "ray", "transfer_queue", "hydra") if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (pip install 'calipers[verl]')")
    from hydra import compose, initialize_config_module  # noqa: PLC0415 - only where verl is
    from omegaconf import OmegaConf  # noqa: PLC0415 - likewise
    from verl.trainer.ppo.utils import need_critic, need_reference_policy  # noqa: PLC0415 - likewise
    from verl.utils.config import validate_config  # noqa: PLC0415 - likewise

    from calipers.trainers.verl.agent_loop import require_groups, settings_in_config  # noqa: PLC0415 - likewise

    for arm, recipe in [*((arm, "eight-gpus") for arm in ARMS), ("zero", "one-gpu")]:
        with initialize_config_module("verl.trainer.config", version_base=None):
            config = compose("ppo_trainer", overrides=settings_of(arm, tmp_path, recipe))
        assert (config.actor_rollout_ref.model.lora_rank > 0) == (recipe == "one-gpu")
        if find_spec("vllm") is None:
            config.actor_rollout_ref.model.lora_rank = 0  # verl asks vLLM about it
        validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
        config.transfer_queue.enable = bool(config.trainer.use_v1)
        OmegaConf.resolve(config)
        settings = settings_in_config(config)
        require_groups(config, settings)
        assert config.actor_rollout_ref.rollout.seed == 3
        assert str(settings.judge["judge"]).startswith("faulty:openai/gpt-5-mini?kind=") == (arm in ARMS[3:])


ROW: dict[str, Any] = {
    "prompt": [{"role": "user", "content": "Why do I cough?"}],
    "rubrics": [
        {"criterion": "Asks for how long.", "points": 5, "tags": ["axis:accuracy"]},
        {"criterion": "Names a dose.", "points": -4, "tags": []},
    ],
}


def run(script: str, *arguments: str, cwd: Path) -> str:
    command = [sys.executable, str(CLUSTER / script), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=True).stdout


def prepare(folder: Path, count: int, *, held_out: int) -> None:
    rows = [ROW | {"prompt_id": str(n), "prompt": [{"role": "user", "content": f"{n}?"}]} for n in range(count)]
    (folder / "hb.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    run("prepare.py", "hb.jsonl", str(held_out), cwd=folder)


def test_prepared_rows_hold_criteria_that_calipers_reads_and_no_prompt_is_on_both_sides(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    prepare(tmp_path, 5, held_out=2)
    train, val = (pq.read_table(tmp_path / "data" / f"{name}.parquet").to_pylist() for name in ("train", "val"))
    assert (len(train), len(val)) == (3, 2)
    assert {row["extra_info"]["id"] for row in train + val} == set("01234")
    rubric = read_standards(train[0]).rubric
    assert isinstance(rubric, Rubric)
    assert [(one.text, one.points) for one in rubric.criteria] == [("Asks for how long.", 5.0), ("Names a dose.", -4.0)]


def test_the_table_pairs_arms_by_seed_and_counts_what_has_no_score(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for arm, gain in (("api", 0.0), ("own", 0.1)):
        for seed in range(3):
            scores = [0.2 + 0.1 * seed + gain, 0.4 + gain, None]
            lines = [json.dumps({"trajectories": [{"id": "0", "score": one}]}) for one in scores]
            (tmp_path / "results" / f"{arm}-{seed}.scores.jsonl").write_text("\n".join(lines), encoding="utf-8")
    shown = run("table.py", "api", "own", "none", cwd=tmp_path)
    assert "own: 0.450" in shown
    assert "less api: 0.100 ± 0.000" in shown
    assert "none: no results" in shown


FAULTY = """
import asyncio, sys
import calipers
from calipers.backends.embedded import Embedded

question = ({"role": "user", "content": "How does a lock work?"},)
texts = ["A lock lets one thread in.", "A lock lets one thread in, and others wait until it is open again. " * 3]
members = [{"id": str(n), "messages": [{"role": "assistant", "content": text}]} for n, text in enumerate(texts)]
for judge, reward in (("embedded", "score"), ("faulty:embedded?kind=LengthBias&per_doubling=0.2", "score"),
                      ("faulty:embedded?kind=Unread&rate=1", "score"),
                      ("faulty:embedded?kind=Unread&rate=1", "failures_as_zero")):
    made = calipers.Judge(judge, reward=reward)
    result = asyncio.run(made.score_group({"group_id": "g", "context": question, "trajectories": members}))
    print(*result.rewards, made.settings.judges[0].model)
"""


@pytest.mark.slow
def test_a_vice_changes_a_real_judges_scores_and_a_lost_score_can_count_as_zero(tmp_path: Path) -> None:
    """As installed: by the names that the entry points of pyproject.toml give."""
    points = tomllib.loads((CLUSTER / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    written = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in points.items()]
    (tmp_path / "study-0.dist-info").mkdir()
    (tmp_path / "study-0.dist-info" / "METADATA").write_text("Name: study\nVersion: 0\n", encoding="utf-8")
    (tmp_path / "study-0.dist-info" / "entry_points.txt").write_text("".join(written), encoding="utf-8")
    path = os.pathsep.join([str(CLUSTER), str(tmp_path)])
    done = subprocess.run(
        [sys.executable, "-c", FAULTY], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    clean, longer, lost, zero = (line.split() for line in done.stdout.splitlines())
    assert float(longer[1]) - float(longer[0]) > float(clean[1]) - float(clean[0]) + 0.2
    assert longer[2] == f"{clean[2]}?kind=LengthBias&per_doubling=0.2"
    assert (lost[:2], zero[:2]) == (["None", "None"], ["0.0", "0.0"])

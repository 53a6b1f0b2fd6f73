"""examples/cluster: its scripts' settings are those that verl's own loader accepts, and its Python files work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from calipers.rubric.dataset_standards import read_standards
from calipers.types import Rubric

CLUSTER = Path(__file__).resolve().parents[2] / "examples" / "cluster"
ARMS = ("api", "own", "compare")


def settings_of(arm: str, folder: Path) -> list[str]:
    """The overrides that train.sh passes to verl, by a Python that prints its arguments."""
    fake = folder / "python"
    fake.write_text('#!/usr/bin/env bash\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    fake.chmod(0o755)
    done = subprocess.run(
        ["bash", str(CLUSTER / "train.sh"), arm, "3", "trainer.save_freq=10"],  # noqa: S607
        cwd=folder, env=os.environ | {"PYTHON": str(fake)}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    runs, module, *overrides = done.stdout.splitlines()
    assert (runs, module) == ("-m", "verl.trainer.main_ppo")
    return overrides


def test_arms_differ_in_what_calipers_is_told_and_in_validation_only(tmp_path: Path) -> None:
    api, own, compare = (set(settings_of(arm, tmp_path)) for arm in ARMS)
    for one, other in ((api, own), (api, compare)):
        differing = {setting.split("=")[0] for setting in one ^ other}
        named = {"trainer.experiment_name", "trainer.default_local_dir", "trainer.rollout_data_dir"}
        assert all(
            name.startswith(("+calipers.", "trainer.val_before", "trainer.test_freq")) for name in differing - named
        )
    assert "trainer.save_freq=10" in api
    unknown = subprocess.run(["bash", str(CLUSTER / "train.sh"), "none", "0"], capture_output=True, check=False)  # noqa: S607
    assert unknown.returncode == 2
    for script in CLUSTER.glob("*.sh"):
        subprocess.run(["bash", "-n", str(script)], check=True)  # noqa: S607


@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")  # verl's and Ray's own
@pytest.mark.parametrize("arm", ARMS)
def test_verls_own_loader_accepts_each_arm(arm: str, tmp_path: Path) -> None:
    missing = [name for name in ("verl", "ray", "transfer_queue", "hydra") if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (pip install 'calipers[verl]')")
    from hydra import compose, initialize_config_module  # noqa: PLC0415 - only where verl is
    from omegaconf import OmegaConf  # noqa: PLC0415 - likewise
    from verl.trainer.ppo.utils import need_critic, need_reference_policy  # noqa: PLC0415 - likewise
    from verl.utils.config import validate_config  # noqa: PLC0415 - likewise

    from calipers.trainers.verl.agent_loop import require_groups, settings_in_config  # noqa: PLC0415 - likewise

    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=settings_of(arm, tmp_path))
    validate_config(config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config))
    config.transfer_queue.enable = bool(config.trainer.use_v1)
    OmegaConf.resolve(config)
    require_groups(config, settings_in_config(config))
    assert config.actor_rollout_ref.rollout.seed == 3


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


def test_prepared_rows_hold_criteria_that_calipers_reads_and_no_prompt_is_on_both_sides(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    rows = [ROW | {"prompt_id": str(n), "prompt": [{"role": "user", "content": f"{n}?"}]} for n in range(5)]
    (tmp_path / "hb.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    run("prepare.py", "hb.jsonl", "2", cwd=tmp_path)
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

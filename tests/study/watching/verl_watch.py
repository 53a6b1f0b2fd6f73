"""verl's own V1 agent loop, watched, with scripted rollouts and judges behind HTTP; prints what happened as JSON.

Run as a script (``verl_watch.py OUT``), so that Ray and its workers stay out of the test process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from servers.faulty_server import Answer, Asked, FaultyServer, said
from trainers.verl.verl_engine import QUIET, Engine, configured, policy, tiny_model, worth

AGENT = "actor_rollout_ref.rollout.agent.agent_loop_manager_class"


def opinions(asked: Asked) -> Answer:
    """The judge takes candidates at their word; the audit judge thinks the opposite."""
    shown = re.findall(r"candidate (\w+)\n(.*?)\n@\w+ end \1", asked.body["messages"][-1]["content"], re.DOTALL)
    audit = asked.body["model"] == "audit"
    scores = {key: 100 - worth(body) if audit else worth(body) for key, body in shown}
    return said(json.dumps({"explanations": {}, "scores": scores}))


def manager(model: Path, tokenizer: Any, url: str, *overrides: str) -> Engine:
    """verl around the watching agent-loop manager, found by its name as verl finds it."""
    from verl.utils.import_utils import load_class_from_fqn  # noqa: PLC0415 - only where verl is

    config = configured(
        model,
        f"+{AGENT}=calipers.study.watching.verl.AgentLoopManager",
        *("+calipers.judge=vllm/judge", f"+calipers.base_url={url}", "+calipers.attempts=1"),
        *overrides,
    )
    kind = load_class_from_fqn(config.actor_rollout_ref.rollout.agent.agent_loop_manager_class)
    made = kind.create(
        config=config, llm_client=policy(tokenizer), teacher_client=None, reward_loop_worker_handles=None
    )
    return Engine(config, made, tokenizer)


def rows(folder: Path, count: int) -> list[dict[str, Any]]:
    """The rows of a watched run, as soon as there are so many."""
    for _ in range(200):
        found = [json.loads(line) for file in folder.glob("groups-*.jsonl") for line in file.read_text().splitlines()]
        if len(found) >= count:
            break
        time.sleep(0.1)
    return sorted(found, key=lambda row: (row["step"], row["split"], row["group"]))


def went_on(model: Path, tokenizer: Any, url: str, folder: Path) -> dict[str, Any]:
    """A run with rules that only report, over two steps and a validation."""
    engine = manager(
        model, tokenizer, url,
        f"+watch.folder={folder}", "+watch.every=2", "+watch.sample=1", "+watch.rules={fidelity:0.0,window:1}",
        "+watch.audit.judge=vllm/audit", f"+watch.audit.base_url={url}",
        "+watch.truth=study.watching.verl_truth:is_worth_half",
    )  # fmt: skip
    told = engine.roll_out(["plain", "ties"], prefix="a", step=1)
    rows(folder, 2)
    engine.roll_out(["plain"], prefix="b", step=2)
    rows(folder, 3)
    engine.roll_out(["ties"], prefix="c", partition="val", step=2)
    return {"rewards": told["rewards"], "rows": rows(folder, 4), "files": len(list(folder.glob("groups-*.jsonl")))}


def ended(model: Path, tokenizer: Any, url: str, folder: Path) -> dict[str, Any]:
    """A run that a rule about the audit ends before its second step."""
    engine = manager(
        model, tokenizer, url, f"+watch.folder={folder}", "+watch.every=1", "+watch.stop=true",
        "+watch.rules={fidelity:0.0,window:1}", "+watch.audit.judge=vllm/audit", f"+watch.audit.base_url={url}",
    )  # fmt: skip
    engine.roll_out(["plain", "ties"], prefix="d", step=1)
    rows(folder, 2)
    told = {"second": ""}
    try:
        engine.roll_out(["plain"], prefix="e", step=2)
    except Exception as error:  # noqa: BLE001 - which one it is, is what is looked at
        told["second"] = f"{type(error).__name__}: {error}"
    return {**told, "broken": [json.loads(line) for line in (folder / "broken.jsonl").read_text().splitlines()]}


def logged(model: Path, tokenizer: Any, url: str, folder: Path) -> dict[str, Any]:
    """A run whose KL is read from verl's own file of metrics, written by verl's own logger."""
    from verl.utils.tracking import FileLogger  # noqa: PLC0415 - only where verl is

    os.environ["VERL_FILE_LOGGER_PATH"] = str(folder.parent / "metrics.jsonl")
    engine = manager(
        model, tokenizer, url, f"+watch.folder={folder}", "+watch.stop=true", "+watch.rules.kl=0.5",
        f"+watch.log={os.environ['VERL_FILE_LOGGER_PATH']}",
    )  # fmt: skip
    log = FileLogger("project", "run")
    engine.roll_out(["plain"], prefix="f", step=1)
    rows(folder, 1)
    log.log({"actor/kl_loss": 0.25, "response_length/mean": 9.0, "perf/x": 1.0}, step=1)
    engine.roll_out(["plain"], prefix="g", step=2)
    log.log({"actor/kl_loss": 0.75, "actor/entropy": 2.0}, step=2)
    told = ""
    try:
        engine.roll_out(["plain"], prefix="h", step=3)
    except Exception as error:  # noqa: BLE001 - as above
        told = str(error)
    return {"told": told, "log": [json.loads(line) for line in (folder / "trainer.jsonl").read_text().splitlines()]}


def refused(model: Path) -> dict[str, str]:
    """What the manager says, before any rollout, to a watch that cannot work."""
    from calipers.study.watching.verl import AgentLoopManager  # noqa: PLC0415 - only where verl is

    wrong = {
        "no folder": [],
        "relative": ["+watch.folder=mine"],
        "typo": ["+watch.folder=/tmp/x", "+watch.evry=2"],
        "rule": ["+watch.folder=/tmp/x", "+watch.rules.gap=-1"],
        "truth": ["+watch.folder=/tmp/x", "+watch.truth=no.such.module:it"],
        "key": ["+watch.folder=/tmp/x", "+watch.audit.judge=embedded", "+watch.audit.api_key=secret"],
        "no judge": ["+watch.folder=/tmp/x", "+watch.audit.orders=2"],
    }
    told = {}
    for name, overrides in wrong.items():
        try:
            AgentLoopManager(config=configured(model, "+calipers.judge=embedded", *overrides), llm_client=None)
        except Exception as error:  # noqa: BLE001 - as above
            told[name] = f"{type(error).__name__}: {error}"
    return told


def main(out: Path) -> None:
    """Everything in one Ray, whose files go away with it."""
    folder = Path(tempfile.mkdtemp(prefix="cw", dir="/tmp"))
    os.environ.update({"HOME": str(folder), **QUIET})
    import ray  # noqa: PLC0415 - reads the environment
    import transfer_queue as tq  # noqa: PLC0415 - likewise

    try:
        tokenizer, model = tiny_model(folder / "model"), folder / "model"
        ray.init(
            num_cpus=4, include_dashboard=False, _node_ip_address="127.0.0.1", _temp_dir=str(folder / "ray"),
            object_store_memory=100_000_000, configure_logging=False,
        )  # fmt: skip
        tq.init(configured(model).transfer_queue)
        with FaultyServer() as server:
            server.script(opinions)
            report = {
                "went on": went_on(model, tokenizer, server.url, folder / "on"),
                "ended": ended(model, tokenizer, server.url, folder / "end"),
                "logged": logged(model, tokenizer, server.url, folder / "log"),
                "refused": refused(model),
            }
            out.write_text(json.dumps(report))
        tq.close()
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from servers.faulty_server import FaultyServer
from trainers.verl.verl_engine import (
    QUIET,
    TOOL,
    configured,
    judge,
    tiny_model,
)
from trainers.verl.verl_rewards import (
    main_eval,
    no_judge,
    recipes,
    resampling,
    unscored_in_verl,
)
from trainers.verl.verl_rollouts import (
    agent_loop,
)


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
                "recipes": lambda: recipes(*given),
                "resampling": lambda: resampling(*given),
                "no_judge": lambda: no_judge(*given),
                "main_eval": lambda: main_eval(folder, server),
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

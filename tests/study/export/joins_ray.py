"""Stands for verl in a run that shares the node: joins the Ray that its environment names, and notes what it sees.

Run as ``joins_ray.py FOLDER SETTINGS...``. The run that has to wait asks Ray again once the other one has ended.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import ray


@ray.remote
def worker() -> dict[str, Any]:
    """What a worker of this Ray has."""
    return {"gpus": os.environ.get("CUDA_VISIBLE_DEVICES"), "key": os.environ.get("OPENAI_API_KEY")}


def main() -> None:
    folder = Path(sys.argv[1])
    settings = dict(one.partition("=")[::2] for one in sys.argv[2:])
    name = settings["trainer.experiment_name"]
    ray.init(log_to_driver=False)
    seen = [ray.get(worker.options(num_gpus=0).remote()), ray.get(worker.options(num_gpus=2).remote())]
    (folder / f"{name}.began").touch()
    while name == os.environ["WAITS"] and not (folder / "other-ended").exists():
        time.sleep(0.1)
    seen.append(ray.get(worker.options(num_gpus=1).remote()))
    resources = ray.cluster_resources()
    found = {"seen": seen, "gpus": resources["GPU"], "address": os.environ["RAY_ADDRESS"]}
    (folder / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()

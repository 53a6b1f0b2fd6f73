"""Print what a run takes, before its first step: the judge's calls and their price, and the disk. Nothing is asked.

    python estimate.py SETTING...

The settings are those that train.sh gives verl. Exit code 1: the disk has less than that free.
"""

import asyncio
import json
import re
import shutil
import sys

import pyarrow.parquet as pq

from calipers.capacity.spending import Estimate, estimate_judging
from calipers.config.flat_names import arguments_of_settings
from calipers.rubric import DEFAULT_RUBRIC
from calipers.trainers.verl.judging import VerlSettings, common_group_fields, read_settings
from calipers.types import TrajectoryGroup

SAMPLE = 20
"""Prompts that stand for all."""
BYTES = 4
"""Of a parameter in verl's checkpoints; Adam has two further numbers of that size for each that is trained."""


def read_value(text: str) -> object:
    """Return the value of a setting: JSON, or a text, perhaps in quotes."""
    try:
        return json.loads(text)
    except ValueError:
        return text.strip("'")


def table_of(settings: dict[str, object]) -> dict[str, object]:
    """Return the table calipers of verl's configuration; of a faulty judge, the real judge is counted."""
    table: dict = {}
    for key, value in settings.items():
        if key.startswith("calipers."):
            *tables, last = key.split(".")[1:]
            inner = table
            for name in tables:
                inner = inner.setdefault(name, {})
            inner[last] = value
    table["judge"] = re.sub(r"^faulty:|\?kind=.*", "", str(table["judge"]))
    if table.get("reward") == "failures_as_zero":
        del table["reward"]
    return table


def groups_of(rows: list[dict], told: VerlSettings, *, size: int, words: int) -> list[TrajectoryGroup]:
    """Return groups as large and long as the run's: responses of one-token words."""
    made = []
    for number, row in enumerate(rows):
        common = common_group_fields(row | {"raw_prompt": row["prompt"]}, told, rubric=DEFAULT_RUBRIC)
        members = [{"id": str(one), "messages": [{"role": "assistant", "content": f"{one}" + " and" * words}]}
                   for one in range(size)]  # fmt: skip
        made.append({"group_id": str(number), **common, "trajectories": members})
    return made


def estimate(settings: dict[str, object], file: str, *, size: int) -> tuple[Estimate, int]:
    """Return what judging SAMPLE prompts of a file takes, and how many prompts the file has."""
    told, rows = read_settings(table_of(settings)), pq.read_table(str(settings[file]))
    words = int(settings["data.max_response_length"]) // 2
    judged = groups_of(rows.slice(0, SAMPLE).to_pylist(), told, size=size, words=words)
    return asyncio.run(estimate_judging(arguments_of_settings(told.judge), judged)), rows.num_rows


def print_calls(settings: dict[str, object]) -> None:
    """Print the judge's calls and what they cost."""
    steps, prompts = (int(settings[key]) for key in ("trainer.total_training_steps", "data.train_batch_size"))
    size, every = int(settings["actor_rollout_ref.rollout.n"]), int(settings["trainer.test_freq"])
    parts = [("training", *estimate(settings, "data.train_files", size=size), steps * prompts)]
    if every > 0:
        found, held_out = estimate(settings, "data.val_files", size=1)
        parts.append(("validation", found, held_out, held_out * (1 + steps // every)))
    print(f"{settings['trainer.experiment_name']}: {steps} steps of {prompts} prompts, {size} responses each")
    for name, found, _, judged in parts:
        times = judged / max(1, found.groups)
        cost = "price unknown: pip install 'calipers[prices]', or +calipers.price=[INPUT,OUTPUT] a million tokens"
        if found.cost_usd is not None:
            cost = f"${found.cost_usd * times:,.0f}"
        print(f"  {name}: {found.calls * times:,.0f} calls, {found.tokens * times / 1e6:,.0f} million tokens, {cost}")
    print("  (responses half as long as they may be, answers without reasoning, no question repeated)")


def disk_bytes(settings: dict[str, object]) -> float | None:
    """Return the bytes of a run: two checkpoints while the newest is written, the download, and the merged policy."""
    size = re.search(r"(\d+(?:\.\d+)?)B\b", str(settings["actor_rollout_ref.model.path"]))
    if size is None:
        return None
    trained = 0.1 if settings.get("actor_rollout_ref.model.lora_rank") else 1.0
    parameters, kept = float(size[1]) * 1e9, 1 + int(settings["trainer.max_actor_ckpt_to_keep"])
    return parameters * BYTES * (kept * (1 + 2 * trained) + 1.5)


def main(arguments: list[str]) -> int:
    """Print both, and return the exit code."""
    pairs = (argument.lstrip("+").partition("=") for argument in arguments)
    settings = {key: read_value(value) for key, _, value in pairs}
    print_calls(settings)
    needed, free = disk_bytes(settings), shutil.disk_usage(".").free
    if needed is None:
        print(f"  disk: unknown, because the model's name has no size such as 7B; {free / 1e9:,.0f} GB are free")
        return 0
    print(f"  disk: {needed / 1e9:,.0f} GB of {free / 1e9:,.0f} GB free", flush=True)
    return int(needed > free)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Make verl's rows of HealthBench as its authors publish it, in the folder data.

    python prepare.py FILE [HELD_OUT]

A row's criteria are in reward_model.rubrics, where calipers reads them. HELD_OUT prompts (500) go
to validation: those with the lowest hashes, so the same ones on every machine. The authors ask that examples are not
published in plain text: keep the prepared files private.
"""

import hashlib
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def verl_row(row: dict, index: int, split: str) -> dict:
    """Return verl's row for one of HealthBench's: a conversation, and physicians' criteria with points."""
    criteria = [
        {"criterion": one["criterion"], "points": float(one["points"]), "tags": one.get("tags") or []}
        for one in row["rubrics"]
    ]
    return {
        "data_source": "healthbench",
        "prompt": [{"role": one["role"], "content": one["content"]} for one in row["prompt"]],
        "ability": "medicine",
        "reward_model": {"style": "rubric", "ground_truth": "", "rubrics": criteria},
        "extra_info": {"index": index, "id": row["prompt_id"], "split": split},
    }


def main(source: str, held_out: int = 500) -> None:
    """Write both files."""
    rows = [json.loads(line) for line in Path(source).read_text(encoding="utf-8").splitlines()]
    rows.sort(key=lambda row: hashlib.sha256(json.dumps(row["prompt"], sort_keys=True).encode()).hexdigest())
    Path("data").mkdir(exist_ok=True)
    for split, part in (("val", rows[:held_out]), ("train", rows[held_out:])):
        made = [verl_row(row, index, split) for index, row in enumerate(part)]
        pq.write_table(pa.Table.from_pylist(made), f"data/{split}.parquet")
        print(f"data/{split}.parquet: {len(made):,} prompts")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))

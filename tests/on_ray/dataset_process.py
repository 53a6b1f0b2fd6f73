"""Judges a Ray Dataset of groups; one of its rows has no messages. ADDRESS JUDGE GROUPS LEDGER."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import ray

from calipers.ray import score_dataset

address, judge, groups, ledger = sys.argv[1:]
ray.init(address, log_to_driver=False, logging_level=logging.ERROR, ignore_reinit_error=True)
rows = [json.loads(line) for line in Path(groups).read_text().splitlines()]
rows.insert(5, {"group_id": "bad", "trajectories": [{"id": "a"}]})
ds = ray.data.from_items([{**row, "trajectories": json.dumps(row["trajectories"])} for row in rows])
options: dict[str, Any] = {"calls": {"params": {"top_k": 1}}, "ledger": ledger, "concurrency": 1}
judged = score_dataset(ds, judge="vllm/judge", base_url=judge, workers=2, batch_size=8, **options)
Path(f"{ledger}.json").write_text(json.dumps(judged.take_all()))

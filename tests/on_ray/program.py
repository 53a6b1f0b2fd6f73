"""Programs that judge a Ray Dataset, one after the other, in a process that is connected to the cluster at ADDRESS.

A process of its own for each would take Ray's imports, and the processes that Ray Data starts for it, as many times.
Each line of stdin is a program: the file of groups, where its rows go, and the arguments of ``score_dataset``.
"""

import json
import logging
import os
import sys
from pathlib import Path

import ray

from calipers.errors import CalipersError
from calipers.ray import score_dataset

# Answers alone are on standard output: Ray prints there, too, as when a busy machine delays its heartbeats.
answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
ray.init(sys.argv[1], log_to_driver=False, logging_level=logging.ERROR)
for line in sys.stdin:
    groups, out, options = json.loads(line)
    rows = [json.loads(one) for one in Path(groups).read_text().splitlines()]
    ds = ray.data.from_items([{**row, "trajectories": json.dumps(row["trajectories"])} for row in rows])
    try:
        Path(out).write_text(json.dumps(score_dataset(ds, **options).take_all()))
        error = None
    except CalipersError as raised:
        error = f"{type(raised).__name__}: {raised}"
    answers.write(json.dumps(error) + "\n")
    answers.flush()

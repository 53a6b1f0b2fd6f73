"""verl's own main_eval over what ``calipers generate`` writes of each form of row, in a process of its own: figures to
a file.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from dataset_rows import ANSWERS, ROWS
from servers.checker import checker
from servers.faulty_server import FaultyServer

_FLAGS = ("hydra.run.dir=.", "hydra.output_subdir=null", "hydra/job_logging=disabled")


def responses(folder: Path, name: str) -> Path:
    """The file of one row's responses, as ``calipers generate --form rows`` writes it."""
    from calipers.generation.forms import response_rows, write_rows  # noqa: PLC0415 - below what main_eval needs
    from calipers.generation.prompts import read_prompts  # noqa: PLC0415 - likewise
    from calipers.generation.sampling import Answered, Sample  # noqa: PLC0415 - likewise

    (folder / "row.jsonl").write_text(json.dumps({**ROWS[name], "data_source": name}) + "\n", encoding="utf-8")
    (prompt,) = read_prompts(str(folder / "row.jsonl"), key="question" if "question" in ROWS[name] else None)
    samples = tuple(Sample(number, text, "stop") for number, text in enumerate(ANSWERS))
    write_rows(response_rows(Answered(prompt, samples), "rows"), str(folder / "one.parquet"))
    return folder / "one.parquet"


def main(out: Path) -> None:
    """Score the responses of all rows."""
    folder = Path(tempfile.mkdtemp(prefix="cm", dir="/tmp"))
    os.environ["HOME"] = str(folder)
    import pandas as pd  # noqa: PLC0415 - beside verl
    import ray  # noqa: PLC0415 - reads the environment
    from verl.trainer import main_eval as theirs  # noqa: PLC0415 - likewise

    ray.init(
        num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", _temp_dir=str(folder / "ray"),
        object_store_memory=100_000_000, configure_logging=False,
    )  # fmt: skip
    try:
        with FaultyServer() as server:
            server.script(checker)
            frames = [
                pd.read_parquet(responses(folder, name))[["data_source", "responses", "reward_model"]] for name in ROWS
            ]
            for frame in frames:  # of all structs, main_eval looks at this key alone
                frame["reward_model"] = [{"ground_truth": one["ground_truth"]} for one in frame["reward_model"]]
            pd.concat(frames, ignore_index=True).to_parquet(folder / "all.parquet")
            flag = "+reward.custom_reward_function"
            sys.argv = [
                "main_eval", f"data.path={folder / 'all.parquet'}", f"{flag}.path=pkg://calipers.trainers.verl",
                f"{flag}.name=compute_score", f"{flag}.reward_kwargs.judge=vllm/judge",
                f"{flag}.reward_kwargs.base_url={server.url}", *_FLAGS,
            ]  # fmt: skip
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.chdir(folder):
                theirs.main()
            last = re.sub(r"np\.float64\(([^)]*)\)", r"\1", printed.getvalue().strip().splitlines()[-1])
            found = {key.removeprefix("test_score/"): score for key, score in ast.literal_eval(last).items()}
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    out.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

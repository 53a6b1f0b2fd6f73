"""Commands run in this process, as a person runs them in a folder, or in one of their own; and their files of rows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from calipers.cli import main


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


Calipers = Callable[..., Ended]


def run_in(folder: Path, *arguments: object, **variables: str) -> Ended:
    """Run ``calipers`` with arguments and variables of the environment in a folder."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as here, redirect_stdout(out), redirect_stderr(err):
        here.chdir(folder)
        for name, value in ({"COLUMNS": "200"} | variables).items():
            here.setenv(name, value)
        here.setattr(sys, "argv", ["calipers", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
    return Ended(int(stopped.value.code or 0), out.getvalue(), err.getvalue())


@pytest.fixture
def calipers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calipers:
    """Run ``calipers`` with arguments and variables of the environment in the test's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALIPERS_DATA", raising=False)
    return partial(run_in, tmp_path)


def started(folder: Path, *arguments: object, **variables: str) -> Popen[str]:
    """``calipers`` in a process of its own, whose output can be read."""
    command = [sys.executable, "-m", "calipers", *map(str, arguments)]
    return Popen(command, cwd=folder, env=os.environ | variables, stdout=PIPE, stderr=PIPE, text=True)


def ended(process: Popen[str]) -> Ended:
    """What a process that ends by itself says."""
    out, err = process.communicate(timeout=100)
    return Ended(process.returncode, out, err)


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    """Write JSON lines; a text is a line as it is."""
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_parquet(path: Path, rows: Sequence[Any]) -> Path:
    """Write rows as a Parquet file; without pyarrow, the test is left out."""
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    import pyarrow.parquet as pq  # noqa: PLC0415 - looked for above

    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def read_rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def mismatches(run: Calipers, cases: Sequence[tuple[Sequence[object], str]]) -> list[tuple[object, ...]]:
    """Return the commands that do not end with 2 and one error that has the words."""
    wrong = []
    for arguments, words in cases:
        done = run(*arguments)
        if done.code != 2 or words not in done.err or done.out or "Traceback" in done.err:
            wrong.append((*arguments, words, done))
    return wrong

"""Commands run in this process, as a person runs them in a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

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
        with pytest.raises(SystemExit) as ended:
            main()
    return Ended(int(ended.value.code or 0), out.getvalue(), err.getvalue())


@pytest.fixture
def calipers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calipers:
    """Run ``calipers`` with arguments and variables of the environment in the test's folder."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith(("CALIPERS_", "OPENAI_")):
            monkeypatch.delenv(name)
    return partial(run_in, tmp_path)


def mismatches(run: Calipers, cases: Sequence[tuple[Sequence[object], str]]) -> list[tuple[object, ...]]:
    """Return the commands that do not end with 2 and one error that has the words."""
    wrong = []
    for arguments, words in cases:
        ended = run(*arguments)
        if ended.code != 2 or words not in ended.err or ended.out or "Traceback" in ended.err:
            wrong.append((*arguments, words, ended))
    return wrong

"""Runs programs one after the other in one process that is connected to a Ray cluster. ADDRESS.

A line of standard input is a program as a list of words: arguments of ``calipers``, or a Python file and its arguments.
It is answered by a line with its exit code and what it wrote to stderr. A process of its own for each program would
take Ray's imports, and the processes that Ray Data starts for each of them, as many times.
"""

import contextlib
import io
import json
import logging
import os
import runpy
import sys
import traceback

import ray

from calipers.cli import main


def run(words: list[str]) -> tuple[object, str]:
    """Run a program as a process of its own would; return its exit code and what it wrote to stderr."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
        try:
            if words[0].endswith(".py"):
                sys.argv = words
                runpy.run_path(words[0], run_name="__main__")
            else:
                sys.argv = ["calipers", *words]
                main()
        except SystemExit as end:
            return end.code or 0, told.getvalue()
        except Exception:  # noqa: BLE001 - shown as Python shows it
            return 1, told.getvalue() + traceback.format_exc()
    return 0, told.getvalue()


# Answers alone are on standard output: Ray prints there, too, as when a busy machine delays its heartbeats.
answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
ray.init(sys.argv[1], log_to_driver=False, logging_level=logging.ERROR)
for line in sys.stdin:
    answers.write(json.dumps(run(json.loads(line))) + "\n")
    answers.flush()

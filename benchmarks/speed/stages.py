"""CPU of judging one group by stage, for groups of several sizes.

    python -m benchmarks.speed.stages [--repeats 5] [--members 8]

Each stage is called alone, on groups of recorded agents (``CALIPERS_DATA``: tau2-bench's airline runs) of which none
is measured twice, without an event loop. ``whole`` is ``Judge.score_group`` with all of them, a judge in this process
and a ledger; what it takes more than the stages is the loop over questions, reading the reply, scores, and SQLite.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

from benchmarks.environment import recorded_data
from benchmarks.speed.real_text import agent_group, is_recorded
from benchmarks.speed.transcripts import cpu_of
from calipers.inputs import as_group
from calipers.judging.excluded import find_attacks_in_group
from calipers.ledger.calls import compact_json, question_text
from calipers.ledger.compression import compress_text
from calipers.protocols.listwise import Listwise
from calipers.render import render
from calipers.types import Ask
from calipers.types.encoding import to_json, to_json_text

T = TypeVar("T")

SIZES = (8_000, 94_000, 300_000, 1_000_000)
STAGES = ("read", "render", "search", "question", "body", "key", "compress")


class Here:
    """What a ledger's key needs of a judge."""

    endpoint = "here"
    model = "judge"


class Stages:
    """CPU in ms of each stage, for each group measured."""

    def __init__(self) -> None:
        self.taken: dict[str, list[float]] = {name: [] for name in STAGES}

    def timed(self, stage: str, work: Callable[[], T]) -> T:
        """The result of ``work``, whose CPU is added to its stage."""
        before = time.process_time()
        result = work()
        self.taken[stage].append(1e3 * (time.process_time() - before))
        return result

    def measure(self, characters: int, members: int, number: int) -> None:
        """Take one group through all stages."""
        raw = agent_group(characters, members, number=number)
        group = self.timed("read", lambda: as_group(raw))
        view = self.timed("render", lambda: render(group))
        self.timed("search", lambda: find_attacks_in_group(group, view))
        order = tuple(range(len(view.candidates)))
        request = self.timed("question", lambda: Listwise().frame(Ask(0, order, order), view))
        body = self.timed("body", lambda: to_json({"model": "judge", "messages": request.messages}))
        self.timed("key", lambda: question_text(request, Here(), map(compact_json, request.messages)))
        self.timed("compress", lambda: (compress_text(body.decode()), compress_text(to_json_text(group.to_dict()))))


def row(characters: int, members: int, repeats: int) -> dict[str, float]:
    """The median CPU in ms of each stage, and of the whole."""
    stages = Stages()
    for number in range(repeats + 1):
        stages.measure(characters, members, number)
    with tempfile.TemporaryDirectory() as folder:
        groups = [agent_group(characters, members, number=1000 + number) for number in range(repeats + 1)]
        whole = asyncio.run(cpu_of(groups, folder))
    return {name: median(taken[1:]) for name, taken in stages.taken.items()} | {"whole": whole}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--members", type=int, default=8)
    options = parser.parse_args()
    if not is_recorded("tau2_airline"):
        sys.exit(f"tau2_airline: not found in {recorded_data()}; nothing to measure")
    print(f"load {os.getloadavg()[0]:.1f}; CPU in ms, medians of {options.repeats}")
    print(f"{'kB':>6}" + "".join(f"{name:>10}" for name in (*STAGES, "whole")))
    for characters in SIZES:
        found = row(characters, options.members, options.repeats)
        print(f"{characters / 1000:>6.0f}" + "".join(f"{found[name]:>10.2f}" for name in (*STAGES, "whole")))


if __name__ == "__main__":
    main()

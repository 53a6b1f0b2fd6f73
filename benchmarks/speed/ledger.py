"""Groups that a ledger records in a second, in SQLite and in Postgres, and the CPU that a group takes.

    python -m benchmarks.speed.ledger [--groups 4000] [--postgres postgresql://USER@HOST/DATABASE]

Each group of 8 answers of 500 characters is begun, asked about once, noted and finished, as judging does, with a judge
that answers at once; so nothing but the ledger takes time. CPU is that of this process; the server's is not in it.
Postgres is measured where ``--postgres`` names a database (on a disk that is really written: fsync on); the schema
``calipers_benchmark`` is made in it and removed again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.speed.spine import verdict
from calipers.config.settings import Settings
from calipers.interfaces import FullBackend
from calipers.judging.judge import Judge
from calipers.ledger import Recorder, Run, WritableLedger, open_ledger
from calipers.protocols.scores import Listwise
from calipers.render import render
from calipers.types import Ask, Completion, GroupResult, JudgeRequest, Trajectory, TrajectoryGroup

TARGETS = {"SQLite": 2000, "Postgres": 1000}
IN_FLIGHT = (64, 256)
_WORDS = [f"w{number:03}" for number in range(1000)]


class Instant(FullBackend):
    """A judge that answers at once."""

    endpoint, model = "here", "instant"

    async def complete(self, request: JudgeRequest) -> Completion:
        await asyncio.sleep(0)
        return Completion(json.dumps({"scores": dict.fromkeys(request.keys, 50)}), sent=request.view.group_id.encode())


def made_group(number: int) -> TrajectoryGroup:
    drawn = random.Random(number)
    answers = (" ".join(drawn.choices(_WORDS, k=100)) for _ in range(8))
    members = (Trajectory(str(at), ({"role": "assistant", "content": text},)) for at, text in enumerate(answers))
    return TrajectoryGroup(f"g{number}", tuple(members), context=({"role": "user", "content": f"question {number}"},))


def prepared(count: int) -> list[tuple[TrajectoryGroup, JudgeRequest, GroupResult]]:
    """Groups with their requests and results, which are made before the clock runs."""
    protocol, made = Listwise(), []
    for number in range(count):
        group = made_group(number)
        request = protocol.frame(Ask(0, tuple(range(8)), tuple(range(8))), render(group))
        made.append((group, request, GroupResult(group.group_id, "scored", (), judge_calls=1)))
    return made


async def record(ledger: WritableLedger, count: int, in_flight: int, settings: Settings) -> tuple[float, float]:
    """Record the groups; return groups a second and CPU in ms a group."""
    protocol, judge = Listwise(), Instant()
    recorder = Recorder(Run(ledger, settings.to_dict(), version="0"))
    waiting = iter(prepared(count))

    async def work() -> None:
        for group, request, result in waiting:
            number = await recorder.begin()
            sent = replace(request, ask=replace(request.ask, number=0))
            completion = await recorder.answer(number, sent, judge)
            await recorder.note(number, sent, protocol.read(sent, completion))
            await recorder.finish(number, group, result)

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    [(recorded,)] = ledger.rows("SELECT count(*) FROM groups WHERE run = ?", (recorder.run.id,))
    if recorded != count:
        raise RuntimeError(f"{recorded} of {count} groups are recorded")
    return count / seconds, 1000 * cpu / count


def with_schema(url: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}schema=calipers_benchmark"


async def drop_schema(url: str) -> None:
    import asyncpg  # noqa: PLC0415 - an extra

    connection = await asyncpg.connect(url)
    await connection.execute("DROP SCHEMA IF EXISTS calipers_benchmark CASCADE")
    await connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=4000, help="how many groups are recorded each time")
    parser.add_argument("--postgres", metavar="URL", help="a database in which a schema may be made")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many rounds counts")
    chosen = parser.parse_args()
    settings = Judge(Instant()).settings
    stores = ["SQLite", *(["Postgres"] if chosen.postgres else [])]
    print("| store | in flight | groups/s | CPU ms a group |\n|---|---|---|---|")
    best: dict[str, float] = {}
    for name in stores:
        for in_flight in IN_FLIGHT:
            rounds = [measured(name, chosen.postgres, chosen.groups, in_flight, settings) for _ in range(chosen.rounds)]
            rate, cpu = max(rounds)[0], min(cpu for _, cpu in rounds)
            best[name] = max(rate, best.get(name, 0.0))
            print(f"| {name} | {in_flight} | {rate:,.0f} | {cpu:.2f} |", flush=True)
    for name, rate in best.items():
        print(verdict(f"groups/s recorded in {name}", rate, TARGETS[name], at_least=True))
    if not chosen.postgres:
        print("Postgres was not measured: --postgres URL names a database")


def measured(name: str, url: str | None, count: int, in_flight: int, settings: Settings) -> tuple[float, float]:
    """Record into a new ledger, which is removed afterwards."""
    if name == "Postgres" and url is not None:
        asyncio.run(drop_schema(url))
        with open_ledger(with_schema(url)) as ledger:
            found = asyncio.run(record(ledger, count, in_flight, settings))
        asyncio.run(drop_schema(url))
        return found
    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder) / "ledger.db") as ledger:
        return asyncio.run(record(ledger, count, in_flight, settings))


if __name__ == "__main__":
    main()

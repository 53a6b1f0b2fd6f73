"""The report's page: how fast it is written, its size, and how fast it opens and scrolls in Chromium.

    python -m benchmarks.speed.report [--groups 10000]

Groups of 8 answers of 500 characters, of random words, which compress badly: as a result file, and as a ledger of two
orders, whose page also has questions and replies. Beside them a hundred groups of eight recorded
agents, of 50 kB together. A page is written in a process of its own, whose peak memory is noted for a tenth of the
groups, too. In the browser, processor time of the page's main thread is what counts; wall-clock times are printed
beside it, because a busy machine stretches them. Needs chromium and chromium-driver, and ``pip install --group
browser``; without them only writing is measured. Without recorded data (``CALIPERS_DATA``) agents are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.environment import ROOT
from benchmarks.speed.real_text import agent_group, is_recorded
from benchmarks.speed.spine import verdict

ANSWERS = 8
CHARACTERS = 500
AGENT_GROUPS = 100
AGENT_CHARACTERS = 50_000
FRAMES = 200
STEP = 2500
"""Pixels that the list is scrolled by in each frame: 37 groups, so that every row is drawn anew."""
_PATIENCE = 120.0
_WRITE = """
import sys, time
from pathlib import Path
from calipers.report import open_sources, write_report
began = time.process_time()
source, page, *groups = sys.argv[1:]
with open_sources([source], groups=groups[0] if groups else None, on_error=print) as sources:
    count = write_report(sources, Path(page))
# Not getrusage's, which begins with the size of the process that started this one.
(peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(count, time.process_time() - began, int(peak.split()[1]) / 1024)
"""
_SCROLL = """
const done = arguments[arguments.length - 1];
const list = document.querySelector(".list"), times = [];
let last = performance.now();
requestAnimationFrame(function step(now) {
  times.push(now - last);
  last = now;
  list.scrollTop += %d;
  if (times.length < %d) requestAnimationFrame(step);
  else done(times.slice(1).sort((a, b) => a - b));
});
"""


def write_groups(folder: Path, count: int) -> tuple[Path, Path]:
    """Write a result file and its groups file."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(5000)]

    def text(length: int) -> str:
        return " ".join(chance.choices(words, k=length // 3))[:length]

    results, groups = folder / f"{count}.jsonl", folder / f"{count}.groups.jsonl"
    with results.open("w", encoding="utf-8") as judged, groups.open("w", encoding="utf-8") as shown:
        for number in range(count):
            name, ids = f"g{number}", [f"r{k}" for k in range(ANSWERS)]
            answers = [{"id": one, "messages": [{"role": "assistant", "content": text(CHARACTERS)}]} for one in ids]
            group = {"group_id": name, "context": [{"role": "user", "content": text(80)}], "trajectories": answers}
            shown.write(json.dumps(group) + "\n")
            judged.write(json.dumps(_result(name, ids, chance, text)) + "\n")
    return results, groups


def _result(name: str, ids: list[str], chance: random.Random, text: Any) -> dict[str, Any]:
    scored = [
        {"id": one, "status": "scored", "reward": (value := round(chance.random(), 3)), "score": value, "stderr": 0.05,
         "explanation": text(60), "reason": None}
        for one in ids
    ]  # fmt: skip
    usage = {"input_tokens": 1000, "output_tokens": 100, "cached_tokens": 0, "cost_usd": None}
    counts = {"judge_calls": 2, "usage": usage, "warnings": [], "attempts": 2, "unusable": 0}
    return {"group_id": name, "status": "scored", "trajectories": scored, **counts}


def write_ledger(path: Path, groups: Iterable[dict[str, Any]]) -> Path:
    """Judge groups in two orders with a simulated judge, and return the ledger."""
    import calipers  # noqa: PLC0415 - other parts need only its files
    from calipers.testing import Noise, PositionBias, SimulatedJudge  # noqa: PLC0415 - likewise

    ids = [f"{letter}{k}" for letter in "rt" for k in range(ANSWERS)]
    simulated = SimulatedJudge({name: int(name[1:]) / ANSWERS for name in ids}, PositionBias(0.2), Noise(0.1))

    async def judge_all() -> None:
        async with calipers.Judge(simulated, ledger=path, orders=2) as judge:
            async for _ in judge.score_groups(groups):
                pass

    asyncio.run(judge_all())
    return path


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as stream:
        yield from map(json.loads, stream)


def written(page: Path, source: Path, groups: Path | None = None) -> tuple[float, float]:
    """Write the page of a source; return the groups per second of CPU, and the peak MB."""
    command = [sys.executable, "-c", _WRITE, str(source), str(page), *([] if groups is None else [str(groups)])]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()  # noqa: S603 - ours
    rate, memory = int(said[0]) / float(said[1]), float(said[2])
    size = page.stat().st_size / 1e6
    print(f"{said[0]:>7} groups from {source.suffix}: {rate:,.0f}/s of CPU, peak {memory:.0f} MB, {size:.1f} MB")
    return rate, memory


def measure_writing(folder: Path, count: int) -> tuple[Path, list[str]]:
    """Write pages of results and of ledgers; return that of ``count`` groups of results, and what of it is in time."""
    found: list[str] = []
    before: dict[str, float] = {}
    page = folder / "results.html"
    for number in (max(1, count // 10), count):
        results, groups = write_groups(folder, number)
        ledger = write_ledger(folder / f"{number}.db", lines_of(groups))
        for kind, rate, memory in (
            ("results", *written(page, results, groups)),
            ("ledger", *written(folder / "ledger.html", ledger)),
        ):
            if kind in before:
                found.append(verdict(f"groups of a {kind} page a second of CPU", rate, 500, at_least=True))
                more = memory - before[kind]
                found.append(verdict(f"MB more for ten times the groups, {kind}", more, 16, at_least=False))
            before[kind] = memory
    return page, found


def measure_agents(folder: Path) -> list[str]:
    """Write the page of a hundred groups of recorded agents, with and without questions and replies."""
    groups = folder / "agents.jsonl"
    made = (agent_group(AGENT_CHARACTERS, ANSWERS, number=number) for number in range(AGENT_GROUPS))
    groups.write_text("".join(f"{json.dumps(one)}\n" for one in made), encoding="utf-8")
    ledger = write_ledger(folder / "agents.db", lines_of(groups))
    page = folder / "agents.html"
    written(page, ledger)
    return [verdict("MB of agents' groups, with questions", page.stat().st_size / 1e6, 3, at_least=False)]


@contextmanager
def browser(folder: Path) -> Iterator[Any]:
    """Chromium without network, with a desk's window."""
    from selenium import webdriver  # noqa: PLC0415 - looked for by the caller
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415 - likewise

    sys.path.insert(0, str(ROOT / "tests"))
    from report_browser import FLAGS  # noqa: PLC0415 - a file of the tests

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*FLAGS, f"--user-data-dir={folder / 'chromium'}", "--window-size=1360,900"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(_PATIENCE)
    driver.set_page_load_timeout(_PATIENCE)
    driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    try:
        yield driver
    finally:
        driver.quit()


def worked(driver: Any) -> float:
    """Seconds for which the page's main thread has worked."""
    metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


def until(driver: Any, condition: str) -> None:
    ends = time.monotonic() + _PATIENCE
    while not driver.execute_script(f"return Boolean({condition})"):
        if time.monotonic() > ends:
            raise TimeoutError(condition)
        time.sleep(0.01)


def opened(driver: Any, page: Path) -> tuple[float, float]:
    """Open the page; return the seconds of work and of waiting until it shows its first group."""
    driver.get("about:blank")
    began = time.perf_counter()
    driver.get(page.as_uri())
    until(driver, "document.querySelector('main')?.dataset.group === 'g0'")
    return worked(driver), time.perf_counter() - began


def scrolled(driver: Any) -> tuple[float, float, float]:
    """Scroll the list; return the milliseconds of work a frame, and the median and 95 % frame time."""
    before = worked(driver)
    times = driver.execute_async_script(_SCROLL % (STEP, FRAMES))
    work = 1000 * (worked(driver) - before) / FRAMES
    return work, times[len(times) // 2], times[len(times) * 95 // 100]


def measure_browser(folder: Path, page: Path) -> list[str]:
    with browser(folder) as driver:
        opened(driver, page)  # the browser's own first start is not the page's
        work, wall = opened(driver, page)
        print(f"opened: {work:.2f} s of work, {wall:.2f} s")
        frame, median, late = scrolled(driver)
        print(f"scrolled: {frame:.1f} ms of work a frame; frames {median:.1f} ms, 95 % within {late:.1f} ms")
    return [
        verdict("seconds of work to open", work, 2, at_least=False),
        verdict("ms of work a frame of scrolling", frame, 16.7, at_least=False),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=10_000)
    count = parser.parse_args().groups
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page, targets = measure_writing(folder, count)
        if is_recorded("tau2_airline"):
            targets += measure_agents(folder)
        else:
            print("agents are not measured: there is no recorded data; set CALIPERS_DATA")
        try:
            import selenium  # noqa: F401, PLC0415 - an extra
        except ImportError:
            print("opening and scrolling are not measured: pip install --group browser")
        else:
            if shutil.which("chromium") and shutil.which("chromedriver"):
                targets += measure_browser(folder, page)
            else:
                print("opening and scrolling are not measured: apt-get install -y chromium chromium-driver")
    print("\n".join(targets))


if __name__ == "__main__":
    main()

"""The report's page: how fast it is written, its size, and how fast it opens and scrolls in Chromium.

    python -m benchmarks.speed.report [--groups 10000]

Groups of 8 answers of 500 characters, of random words, which compress badly. The page is written in a process of its
own, whose peak memory is noted for a tenth of the groups, too. In the browser, processor time of the page's main thread
is what counts; wall-clock times are printed beside it, because a busy machine stretches them. Needs chromium and
chromium-driver, and ``pip install --group browser``; without them only writing is measured.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.environment import ROOT
from benchmarks.speed.spine import verdict

ANSWERS = 8
CHARACTERS = 500
FRAMES = 200
STEP = 2500
"""Pixels that the list is scrolled by in each frame: 37 groups, so that every row is drawn anew."""
_PATIENCE = 120.0
_WRITE = """
import resource, sys, time
from pathlib import Path
from calipers.report import open_sources, write_report
began = time.process_time()
with open_sources([sys.argv[1]], groups=sys.argv[2], on_error=print) as sources:
    count = write_report(sources, Path(sys.argv[3]))
print(count, time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
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


def written(folder: Path, count: int) -> tuple[Path, float, float]:
    """Write a page of ``count`` groups; return it, the groups per second of CPU, and the peak MB."""
    results, groups = write_groups(folder, count)
    page = folder / f"{count}.html"
    command = [sys.executable, "-c", _WRITE, str(results), str(groups), str(page)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()  # noqa: S603 - ours
    rate, memory = int(said[0]) / float(said[1]), float(said[2])
    print(f"{count:>7} groups written: {rate:,.0f}/s of CPU, peak {memory:.0f} MB, {page.stat().st_size / 1e6:.1f} MB")
    return page, rate, memory


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
        _, _, small = written(folder, max(1, count // 10))
        page, rate, memory = written(folder, count)
        targets = [
            verdict("groups written a second of CPU", rate, 500, at_least=True),
            verdict("MB more for ten times the groups", memory - small, 16, at_least=False),
        ]
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

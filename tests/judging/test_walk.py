"""The files that a warm call of ``score_group`` passes: few, none of them long, all on the design page in order."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import FrameType

import pytest
from aiohttp import web

import calipers

SOURCE = Path(calipers.__file__).parent
DESIGN = Path(__file__).parents[2] / "docs" / "design-walk.md"
MOST_MODULES, MOST_LINES = 48, 400


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """A local server in the dialect of vLLM that scores the attempts it is shown in a rising row."""

    async def chat(request: web.Request) -> web.Response:
        question = (await request.json())["messages"][1]["content"]
        keys = question.split("Score these attempts: ")[1].split(".\n")[0].split(", ")
        scores = {key: 50 + 7 * place for place, key in enumerate(keys)}
        content = json.dumps({"explanations": dict.fromkeys(keys, "fine"), "scores": scores})
        message = {"role": "assistant", "content": content}
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        return web.json_response(
            {"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage}
        )

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "m", "max_model_len": 100_000}]})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}/v1"
    await runner.cleanup()


def group(number: int) -> list[list[dict[str, str]]]:
    question = {"role": "user", "content": f"What is {number} + 2?"}
    return [[question, {"role": "assistant", "content": f"It is {number + error}."}] for error in range(4)]


async def walked(judge: calipers.Judge) -> tuple[calipers.GroupResult, list[str]]:
    """The result of one more group, and the modules that were called for it, in the order of their first call."""
    files: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            files.setdefault(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = await judge.score_group(group(9))
    finally:
        sys.setprofile(before)
    inside = (Path(file) for file in files)
    return result, [file.relative_to(SOURCE).as_posix() for file in inside if file.is_relative_to(SOURCE)]


def listed() -> list[str]:
    """The files of a warm call that the design page lists."""
    section = DESIGN.read_text(encoding="utf-8").split("\n## Every file of a warm call\n")[1].split("\n## ")[0]
    return re.findall(r"^\d+\. `(\S+\.py)`", section, flags=re.MULTILINE)


async def test_a_warm_group_passes_few_modules_and_the_design_lists_them_in_order(url: str) -> None:
    async with calipers.Judge("vllm/m", base_url=url) as judge:
        for number in range(3):
            await judge.score_group(group(number))
        result, modules = await walked(judge)
    assert result.status == "scored"
    assert len(modules) <= MOST_MODULES, modules
    lengths = {module: len((SOURCE / module).read_text(encoding="utf-8").splitlines()) for module in modules}
    assert not {module: length for module, length in lengths.items() if length > MOST_LINES}
    assert listed() == modules

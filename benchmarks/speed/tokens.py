"""Judge input tokens against RULER's prompt for the same groups and the same evidence.

    python -m benchmarks.speed.tokens [--art-python PYTHON] [--encoding o200k]

Agent groups: tau-bench (sierra-research/tau-bench) and tau2-bench (sierra-research/tau2-bench), airline domain, read
from ``CALIPERS_DATA``. ``--art-python`` (or ``CALIPERS_ART_PYTHON``) is an interpreter with openpipe-art: RULER's
prompt is then caught from the real code, whose judge call is replaced. Without it the prompt is put together from its
published form. Both sides count system and user text; neither counts the schema. Tokens by rs-bpe, which carries its
vocabulary along: ``pip install rs-bpe``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.environment import recorded_data
from benchmarks.speed.spine import verdict
from calipers.inputs import as_group
from calipers.protocols.scores import Listwise
from calipers.render import render
from calipers.types import Ask, TrajectoryGroup

SETS = ("taubench_airline", "tau2_airline")
LINES = (
    "42",
    "41",
    "The answer is 42.",
    "I think it is 40, or so.",
    "It is 42, since 6 times 7 is 42.",
    "No idea.",
    "43",
    "?",
)
"""One-line answers; groups are made of the first four and of all."""
MOST_ON_LINES, MOST_ON_AGENTS = 1.0, 0.6
"""The most tokens of a question, as a share of RULER's."""

# RULER's system text, instructions and default rubric, is about 165 tokens long; used where openpipe-art is not at
# hand.
PUBLISHED_SYSTEM = "word " * 165

CATCH = """
import asyncio, importlib, json, os, sys
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
out = os.dup(1); os.dup2(2, 1)
from importlib.metadata import version
ruler = importlib.import_module("art.rewards.ruler")
class Caught(Exception):
    pass
async def acompletion(*, messages, **rest):
    raise Caught(messages)
ruler.acompletion = acompletion
async def main():
    prompts = []
    for group in json.load(sys.stdin):
        try:
            await ruler.ruler(group["lists"], tools=group["tools"])
        except Caught as caught:
            prompts.append(caught.args[0])
    return prompts
prompts = asyncio.run(main())
with os.fdopen(out, "w") as stream:
    json.dump({"version": version("openpipe-art"), "prompts": prompts}, stream)
"""


def ours(group: TrajectoryGroup) -> str:
    """The whole question, system text included."""
    view = render(group)
    order = tuple(range(len(view.candidates)))
    request = Listwise().frame(Ask(0, order, order), view)
    return "".join(message["content"] for message in request.messages)


def ruler_inputs(line: str | bytes) -> dict[str, Any]:
    """What ART hands to RULER for one line of a groups file: messages as recorded, no content as empty text."""
    group = json.loads(line)
    lists = [
        [
            {**message, "content": message.get("content") or ""}
            for message in (group.get("context") or []) + one["messages"]
        ]
        for one in group["trajectories"]
    ]
    return {"lists": lists, "tools": group.get("tools")}


def caught(python: str, inputs: Sequence[dict[str, Any]]) -> tuple[str, list[str]]:
    """RULER's real prompts, and what made them."""
    done = subprocess.run(  # noqa: S603 - the interpreter is the caller's own choice
        [python, "-c", CATCH], input=json.dumps(inputs), capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{python} could not run RULER:\n{done.stderr[-2000:]}")
    answer = json.loads(done.stdout)
    prompts = ["".join(message["content"] for message in messages) for messages in answer["prompts"]]
    return f"real prompts of openpipe-art {answer['version']}", prompts


def published(group: dict[str, Any]) -> str:
    """The prompt in RULER's published form."""
    lists = group["lists"]
    common = 0
    while all(len(one) > common and one[common] == lists[0][common] for one in lists):
        common += 1
    text = f"<context>\n{json.dumps(lists[0][:common])}\n</context>\n\n" if common else ""
    if group["tools"]:
        text += f"<available_tools>\n{json.dumps(group['tools'])}\n</available_tools>\n\n"
    shown = [f'<trajectory id="{n}">\n{json.dumps(one[common:])}\n</trajectory>' for n, one in enumerate(lists, 1)]
    return PUBLISHED_SYSTEM + text + "Trajectories:\n\n" + "\n\n".join(shown)


def one_line_groups() -> list[str]:
    """Groups of four and of eight one-line answers to one question, as lines of a groups file."""
    context = [{"role": "user", "content": "What is 6 times 7?"}]
    rows = []
    for count in (4, 8):
        members = [{"id": str(n), "messages": [{"role": "assistant", "content": LINES[n]}]} for n in range(count)]
        rows.append(json.dumps({"group_id": str(count), "context": context, "trajectories": members}))
    return rows


def row(name: str, groups: int, theirs: tuple[int, int], own: tuple[int, int]) -> str:
    saved = [1 - mine / other for mine, other in zip(own, theirs, strict=True)]
    return (
        f"{name:18} {groups:6} {theirs[0]:12,} {own[0]:12,} {saved[0]:7.1%} {theirs[1]:12,} {own[1]:12,} "
        f"{saved[1]:7.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--art-python", default=os.environ.get("CALIPERS_ART_PYTHON"))
    parser.add_argument("--encoding", choices=["o200k", "cl100k"], default="o200k")
    chosen = parser.parse_args()
    try:
        from rs_bpe.bpe import openai  # noqa: PLC0415 - only this benchmark needs it
    except ImportError:
        sys.exit("this benchmark counts with rs-bpe: pip install rs-bpe")
    encoding = getattr(openai, f"{chosen.encoding}_base")()
    data = recorded_data()
    if not all((data / name).is_dir() for name in SETS):
        sys.exit(f"no groups under {data}: set CALIPERS_DATA to a folder that holds {' and '.join(SETS)}")

    print(
        f"{'set':18} {'groups':>6} {'RULER tok':>12} {'calipers tok':>12} {'saved':>7} {'RULER char':>12} "
        f"{'calipers':>12} {'saved':>7}"
    )
    pooled = [0, 0, 0, 0, 0]
    source = "published form"
    shares = {}
    rows = {name: gzip.decompress((data / name / "groups.jsonl.gz").read_bytes()).splitlines() for name in SETS}
    for name, lines in ({"one-line answers": one_line_groups()} | rows).items():
        groups = [as_group(json.loads(line)) for line in lines]
        inputs = [ruler_inputs(line) for line in lines]
        if chosen.art_python:
            source, theirs = caught(chosen.art_python, inputs)
        else:
            theirs = [published(one) for one in inputs]
        own = [ours(group) for group in groups]
        counts = [sum(map(measure, texts)) for texts in (theirs, own) for measure in (encoding.count, len)]
        print(row(name, len(groups), (counts[0], counts[1]), (counts[2], counts[3])))
        shares[name] = counts[2] / counts[0]
        if name in SETS:
            pooled = [total + more for total, more in zip(pooled, [len(groups), *counts], strict=True)]
    print(row("pooled", pooled[0], (pooled[1], pooled[2]), (pooled[3], pooled[4])))
    print(f"RULER: {source}; tokens: {chosen.encoding}")
    print(verdict("tokens over RULER's, one-line answers", shares["one-line answers"], MOST_ON_LINES, at_least=False))
    print(verdict("tokens over RULER's, agents", pooled[3] / pooled[1], MOST_ON_AGENTS, at_least=False))


if __name__ == "__main__":
    main()

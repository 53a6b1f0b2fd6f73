"""What earlier versions made of many inputs, on file: recorded answers must replay with equal rewards and statuses.

``GOLDEN=write python -m pytest FILE`` writes the file anew where a change is meant; its diff says what changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "fixtures" / "golden"


def check(name: str, found: Mapping[str, Any]) -> None:
    """Compare ``found``, plain JSON by input, with what is on file; inputs that came since then are left to their own
    tests.
    """
    path = FOLDER / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = dict(line.split(" ", 1) for line in lines)
    now = {text: shortened(json.dumps(value, ensure_ascii=False)) for text, value in found.items()}
    if os.environ.get("GOLDEN") == "write":
        known |= {_key(text): value for text, value in now.items()}
        FOLDER.mkdir(exist_ok=True)
        path.write_text("".join(f"{key} {value}\n" for key, value in sorted(known.items())), encoding="utf-8")
        return
    recorded = {text: known[_key(text)] for text in found if _key(text) in known}
    assert len(recorded) * 2 > len(found), f"of {len(found)} inputs {len(recorded)} are on file in {path.name}"
    differ = [f"{text!r}\n  was {was}\n  is  {now[text]}" for text, was in recorded.items() if was != now[text]]
    assert not differ, f"{len(differ)} of {len(recorded)} differ:\n" + "\n".join(differ[:5])


def shortened(value: str) -> str:
    """A long value by its beginning and a hash, so that the files stay small."""
    return value if len(value) <= 72 else f"{value[:48]} ... {_key(value)}"


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


_REMARKS = (
    "Actually, no.", "On second thought,", "not", "never", "perhaps", "Final answer:", "/10", "%", "out of 5", "**",
    "> ", "`", "\n\n", "I would say", "No:", "if it were longer", "However,", "sorry,", "is better", "tie", "1", "0.5",
    "as the candidate says:", "{", "}", "[", '"', ":", "…", "=", "both", "neither", "A", "B", "yes", "met", "- ", "2) ",
)  # fmt: skip


_AROUND = ("```\n@\n```", "> @", '"@"', "@\n\n@", "- @", "(@)")


def damaged(text: str, count: int) -> list[str]:
    """``text``, and ``count`` texts made of it by a slip of the pen or two; always the same ones."""
    rng = random.Random(f"damage {text!r}")
    made = [text]
    for number in range(count):
        changed = _slip(text, rng)
        made.append(_slip(changed, rng) if number % 3 == 2 else changed)
    return list(dict.fromkeys(made))


def _slip(text: str, rng: random.Random) -> str:
    lines, words = text.split("\n"), text.split(" ")
    place, line = rng.randrange(len(words)), rng.randrange(len(lines))
    at = rng.randrange(len(text) + 1)
    slips: list[Callable[[], str]] = [
        lambda: text[:at],
        lambda: "\n".join(lines[:line] + lines[line + 1 :]),
        lambda: " ".join(words[:place] + words[place + 1 :]),
        lambda: "\n".join([*lines[: line + 1], *lines[line:]]),
        lambda: "\n".join([*lines[:line], *lines[line + 1 :], lines[line]]),
        lambda: "".join(str(rng.randrange(10)) if one.isdigit() and rng.random() < 0.3 else one for one in text),
        getattr(text, rng.choice(("upper", "lower", "swapcase"))),
        lambda: text[:at] + text[at + 1 :],
        lambda: rng.choice(_AROUND).replace("@", text),
        lambda: " ".join([*words[:place], rng.choice(_REMARKS), *words[place:]]),
    ]
    return rng.choice(slips)()


_KEYS = [
    "role",
    "content",
    "type",
    "text",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "call_id",
    "input",
    "output",
    "summary",
    "reasoning",
    "data",
    "kwargs",
    "lc",
    "isError",
    "structuredContent",
    "image_url",
    "source",
    "url",
    "tool_use_id",
    "tool_call_id",
    "is_error",
    "message",
    "choices",
    "object",
    "resource",
    "status",
    "rubrics",
    "rubric",
    "criteria",
    "criterion",
    "points",
    "weight",
    "tags",
    "title",
    "description",
    "reference",
    "ground_truth",
    "checkers",
    "functions",
]
_VALUES: tuple[Any, ...] = (
    None, "", "text", "user", "assistant", "tool", "tool_use", "function_call", "reasoning", "image", "ai", "human", 0,
    1, -2.5, True, False, [], {},
    ["a", "b"], {"type": "text", "text": "more"}, [{"type": "text", "text": "t"}], {"id": "c1"}, '{"a": 1}', "[1]",
    {"axis": "style"}, "https://a/b.png",
)  # fmt: skip


def altered(value: Any, count: int) -> list[Any]:
    """``value``, plain JSON, and ``count`` values made of it by changing a place or two; always the same ones."""
    rng = random.Random(f"alter {json.dumps(value)}")
    made = [value]
    for number in range(count):
        changed = json.loads(json.dumps(value))
        for _ in range(1 + number % 2):
            places = list(_places(changed))
            if places:
                _change(*rng.choice(places), rng)
        made.append(changed)
    return made


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every object and list inside ``value`` with each of its keys or positions."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield value, key
        yield from _places(item)


def _change(holder: Any, key: Any, rng: random.Random) -> None:
    match rng.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = [holder[key]]
        case 2 if isinstance(holder, dict):
            holder[rng.choice(_KEYS)] = holder.pop(key)
        case 2 | 3 if isinstance(holder, list):
            holder.insert(key, deepcopy(holder[key]))
        case 3:
            holder[rng.choice(_KEYS)] = deepcopy(rng.choice(_VALUES))
        case _:
            holder[key] = deepcopy(rng.choice(_VALUES))

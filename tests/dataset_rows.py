"""Rows of data sets as they are published, one of each form, about planets; a judge finds "names WORD" met where the
answer has it.

``SCORES`` is what calipers makes of the answers "Mars" and "Venus, Pluto" by each row: the rubric's points met over its
positive points, the share of rules followed (times the judge's bit, where something is soft), or by the judge's own
opinion.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

ANSWERS = ("Mars", "Venus, Pluto")
ASKED = [{"role": "user", "content": "Which planets are there?"}]


def _criteria(*tags: Any) -> list[dict[str, Any]]:
    told = zip(("names Mars", "names Venus", "names Pluto"), (6, 2, -4), tags, strict=True)
    return [{"criterion": text, "points": points, "tags": tag} for text, points, tag in told]


TAGS: Mapping[str, list[Any]] = {
    "objects": [{"axis": "accuracy", "level": None}, {"axis": "style", "level": "example"},
                {"axis": None, "level": None}],
    "pairs": [["axis:accuracy"], ["axis:style", "level:example"], []],
    "words": [["accuracy"], ["style"], ["accuracy", "style"]],
}  # fmt: skip
NO_COMMA = "import re\ndef check_following(instruction, response):\n    return re.search(',', response) is None"
VERIF = {"checkers": ["[rule] Commas: none", "[llm] Content: names Mars"], "functions": [NO_COMMA, ""]}
BOUNDED = {"verifier": "rule", "function": "word_count_range", "parameters": {"max": 1}}
RULED = [
    {"criterion": "names Mars", "points": 1.0, "tags": {"source": "mine", "verifier": "llm"}},
    {"criterion": "Has one word.", "points": 1.0, "tags": {"source": "mine", **BOUNDED}},
]


def _verl(model: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"prompt": ASKED, "data_source": "planets", "ability": "facts", "reward_model": dict(model), **more}


def _rubric(listed: list[Any]) -> dict[str, Any]:
    return {"style": "rubric", "ground_truth": "", "rubrics": listed}


ROWS: Mapping[str, dict[str, Any]] = {
    "healthbench": {"prompt_id": "p", "prompt": ASKED, "rubrics": _criteria(*TAGS["pairs"]), "example_tags": ["a"]},
    "ruscarl, both places, tags as objects": _verl(
        _rubric(_criteria(*TAGS["objects"])),
        extra_info={"prompt": ASKED, "reward_model": _rubric(_criteria(*TAGS["objects"]))},
    ),
    "ruscarl, reward_model alone, tags as pairs": _verl(_rubric(_criteria(*TAGS["pairs"])), extra_info={"index": 3}),
    "ruscarl, extra_info alone, tags as words": _verl(
        {"style": "rubric", "ground_truth": ""},
        extra_info={"prompt": ASKED, "reward_model": _rubric(_criteria(*TAGS["words"]))},
    ),
    "verinstruct as a rubric, with a rule": _verl(_rubric(RULED), extra_info={"original_id": 7}),
    "verif": _verl({"style": "rm", "ground_truth": json.dumps(VERIF)}, extra_info={"index": 1, "split": "val"}),
    "verinstruct": {"id": "v", "prompt": "Which planets are there?", **VERIF},
    "ifeval": {
        "key": 5,
        "prompt": "Which planets are there? No commas, one word.",
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        "kwargs": [{"num_words": None}, {"num_words": 3, "relation": "less than"}],
    },
    "ifeval in verl": _verl(
        {"style": "rule", "ground_truth": ""},
        extra_info={"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"num_words": None}]},
    ),
    "rubrics as rewards": {
        "question": "Which planets are there?",
        "reference_answer": "Mars, Venus",
        "rubric": [
            {"title": "A", "description": "Essential Criteria: names Mars", "weight": 6},
            {"title": "B", "description": "Optional Criteria: names Venus", "weight": 2},
            {"title": "C", "description": "Pitfall Criteria: names Pluto", "weight": -4},
        ],
    },
    "questions": {"conversation_history": json.dumps(ASKED), "prompt": ASKED,
                  "prompt_metadata": json.dumps({"rubrics": json.dumps(["names Mars", "names Venus"])})},
    "a rubric of text": _verl({"style": "judge", "ground_truth": ""}, extra_info={"rubric": "Prefer what names Mars."}),
    "a plain answer": _verl({"style": "rule", "ground_truth": "Mars"}),
}  # fmt: skip

_GRADED = (0.75, -0.25)
SCORES: Mapping[str, tuple[float, float]] = {
    "healthbench": _GRADED,
    "ruscarl, both places, tags as objects": _GRADED,
    "ruscarl, reward_model alone, tags as pairs": _GRADED,
    "ruscarl, extra_info alone, tags as words": _GRADED,
    "verinstruct as a rubric, with a rule": (1.0, 0.0),
    "verif": (1.0, 0.0),
    "verinstruct": (1.0, 0.0),
    "ifeval": (1.0, 0.5),
    "ifeval in verl": (1.0, 0.0),
    "rubrics as rewards": _GRADED,
    "questions": (0.5, 0.5),
}
"""Of the others a judge has to say by itself how good an answer is."""
RULES = ("verif", "verinstruct", "ifeval", "ifeval in verl")
"""Rows whose rules code checks, under ``--combine``."""

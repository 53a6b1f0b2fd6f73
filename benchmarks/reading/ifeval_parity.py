"""IFEval: every instruction on every recorded response, and on hostile texts, beside the official checker's code.

    pip download --no-deps lm_eval==0.4.13 && unzip lm_eval-*.whl 'lm_eval/tasks/ifeval/*' -d official
    pip install nltk==3.9.1 langdetect==1.0.9 immutabledict && pip install --no-deps llama-index-core
    NLTK_DATA=... PYTHONPATH=src:official python -m benchmarks.reading.ifeval_parity [SHARD/SHARDS]

It runs where that code does, which is no environment of this project: Google's checker as lm-evaluation-harness ships
it, with nltk 3.9.1, whose Punkt parameters have to be found without a network. Languages are detected once a text, with
the seed 0 on both sides. Instructions whose letter the official code draws at random have no verdict here and are
counted apart. The exit code is 1 for a disagreement.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from functools import lru_cache
from typing import Any

from benchmarks.reading.ifeval import data, rows
from calipers.verifiers.ifeval import instruction

HOSTILE = 600
_PIECES = (
    "", " ", "\n", "\n\n", "\t", "\r\n", "***", "******", "* ", "*a*", "**b**", "***c***", "- d", "---", "\u2028",
    "\u200b", "\ufeff",
    '"', "“quoted”", "'", "<<title>>", "<< >>", "<<a\nb>>", "[x]", "[]", "[a\nb]", "P.S.", "p. s", "P.P.S", "P.P.S.",
    "P. P. S",
    "SECTION 1", "Section 2", "Paragraph 1", '{"a": 1}', "```json\n{}\n```", "```JSON", "```", "NaN",
    "My answer is yes.", "My answer is no.",
    "Mr. Smith e.g. went to Washington, D.C. He left.", "Is it? Yes! No...", "3.14 and 1,000", "don't", "ALL CAPS HERE",
    "all lower here",
    "ÄÖÜ ß ſ İ ı", "हिन्दी में लिखा", "これは日本語です。", "العربية هنا", "\U0001f600", "e\u0301", "١٢٣",
    "!", "#", "a,b", "，",
    "1. one\n2. two",
    "Any other questions?", "there you go", "repeat", "the the The THE",
)  # fmt: skip


def hostile(texts: list[str]) -> list[str]:
    """Texts of pieces that checks stumble over, alone, mixed, and worked into real responses."""
    generator = random.Random(0)
    made = list(_PIECES)
    while len(made) < HOSTILE:
        parts = [generator.choice(_PIECES) for _ in range(generator.randint(1, 12))]
        if generator.random() < 0.3:
            response = generator.choice(texts)
            parts.insert(generator.randint(0, len(parts)), response[: generator.randint(0, len(response))])
        made.append(generator.choice(["", " ", "\n", "\n\n"]).join(parts))
    return made


def official(name: str, kwargs: dict[str, Any], prompt: str) -> Any:
    """The official check of one instruction, built as the official evaluation builds it."""
    from lm_eval.tasks.ifeval import instructions_registry  # type: ignore[import-not-found]  # noqa: PLC0415 - see above

    made = instructions_registry.INSTRUCTION_DICT[name](name)
    made.build_description(**{key: value for key, value in kwargs.items() if value is not None})
    if "prompt" in (made.get_instruction_args() or {}):
        made.build_description(prompt=prompt)
    return made


def theirs(check: Any, text: str) -> bool:
    """The official strict verdict."""
    return bool(text.strip() and check.check_following(text))


def main(shard: str = "1/1") -> int:
    """Compare and print; the exit code."""
    import langdetect  # noqa: PLC0415 - an extra

    langdetect.DetectorFactory.seed = 0
    langdetect.detect = lru_cache(maxsize=None)(langdetect.detect)  # seeded, so the same text has the same language
    part, parts = map(int, shard.split("/"))
    if not data().is_dir():
        print(f"no recorded data at {data()}: set CALIPERS_DATA to where it is")
        return 0
    responses = [row["response"] for row in rows("input_response_data_gpt4_20231107_145030.jsonl")]
    counts: dict[str, Counter[str]] = {"responses": Counter(), "hostile texts": Counter()}
    sets = {"responses": responses, "hostile texts": hostile(responses)}
    prompts = rows("input_data.jsonl")[part - 1 :: parts]
    for row in prompts:
        for name, kwargs in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            random.seed(0)
            ours, other = instruction(name, kwargs, prompt=row["prompt"]), official(name, kwargs, row["prompt"])
            for what, texts in sets.items():
                for text in texts:
                    met = ours.strict(text).met
                    told = "random" if met is None else "same" if met == theirs(other, text) else "DIFFERENT"
                    counts[what][told] += 1
                    if told == "DIFFERENT" and counts[what][told] <= 10:
                        print(f"{row['key']} {name} {kwargs} ours {met}: {text[:200]!r}")
    for what, count in counts.items():
        print(
            f"{what}: {count.total():,} checks, disagreements {count['DIFFERENT']}, drawn at random {count['random']}"
        )
    return 1 if any(count["DIFFERENT"] for count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

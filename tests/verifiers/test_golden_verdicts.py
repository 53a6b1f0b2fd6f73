"""Answers, whole and damaged, get the verdicts on file: a run that is begun again has the same
rewards.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

import golden
from answers import answered
from calipers.errors import CalipersError
from calipers.verifiers import verifier_from
from calipers.verifiers.ifeval import INSTRUCTION_IDS, copies, ifbench, instruction, places
from calipers.verifiers.ifeval.instructions import RULES, rule_fields
from maths_golds import GOLDS, near_misses, right_forms

KINDS = [(kind, half) for kind, golds in GOLDS.items() for half in range(2) if half < len(golds)]


def verdict(spec: dict[str, Any], answer: str) -> Any:
    """Whether it is met, or how it is refused."""
    try:
        return verifier_from(spec)(answered(answer)).met
    except CalipersError as error:
        return type(error).__name__


@pytest.mark.parametrize(("kind", "half"), KINDS)
def test_mathematical_answers_are_compared_as_ever(kind: str, half: int) -> None:
    found = {}
    for gold in GOLDS[kind][half::2]:
        rng = random.Random(gold)
        right, wrong = list(right_forms(kind, gold)), [f"\\boxed{{{one}}}" for one in near_misses(kind, gold)]
        said = [*rng.sample(right, min(3, len(right))), *rng.sample(wrong, min(2, len(wrong)))]
        answers = [*said, *golden.damaged(said[0], 2)[1:], *golden.damaged(said[-1], 1)[1:]]
        golds = golden.damaged(gold, 2)
        pairs = [(gold, answer) for answer in answers] + [(other, said[0]) for other in golds[1:]]
        pairs += [(gold, f"So the answer is {rng.choice(GOLDS[rng.choice(list(GOLDS))])}.")]
        for expected, answer in pairs:
            found[f"{expected}\n{answer}"] = verdict({"maths": {"expected": expected}}, answer)
    golden.check("maths", found)


TEXTS = (
    "My dear reader, this is a short text. It has three sentences! Does it not?",
    (
        "<<A Title>>\n\n* one point\n* another *highlighted part* here\n* a third\n\nP.S. Do not forget [name] and "
        "[address]."
    ),
    "SECTION 1\nFirst words of it.\n\nSECTION 2\nSecond words.\n\nSECTION 3\nAnd the last ones.",
    "one, two and three\n\n***\n\nfour five six\n***\nseven",
    '"Everything stands between two quotation marks, as was asked."',
    '```json\n{"answer": 42, "why": ["because", "so"]}\n```',
    "ALL OF THIS IS IN CAPITAL LETTERS AND IT IS IN ENGLISH, AS WAS ASKED. NOTHING ELSE IS.",
    "all of this is in lower case and it is in english, as was asked. nothing else is in it, at all.",
    "The first answer is this.\n******\nThe second answer is another one.",
    "Der Fluss entspringt in den Bergen, und er fließt nach Westen. Danach kommt das Meer. Ist das weit?",
    (
        "Write a poem about rivers.\n\nRivers run and rivers fall,\nrivers carry leaves for all. Is there anything "
        "else I can help with?"
    ),
    "My answer is yes.",
    "Intro.\n\n- a dash\n- another\n\n1. numbered\n2. also\n\nThe END is near. Any questions?",
    'Mr. Smith went to Washington, D.C. at 3 p.m. He paid $3.50 (i.e. too much)... and left! "Why?" asked Dr. Jones.',
)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "N": (2, 3),
    "capital_frequency": (3, 6),
    "capital_relation": ("at least", "less than"),
    "end_phrase": ("Is there anything else I can help with?", "any questions?"),
    "first_word": ("rivers", "second"),
    "forbidden_words": (["rivers", "questions"], ["it"]),
    "frequency": (1, 2),
    "keyword": ("rivers", "one"),
    "keyword1": ("rivers", "one"),
    "keyword2": ("and", "is"),
    "keyword3": ("the", "it"),
    "keyword4": ("a", "e"),
    "keyword5": ("i", "o"),
    "keywords": (["answer"], ["first", "words"]),
    "language": ("en", "de"),
    "last_word": ("reader", "all"),
    "let_frequency": (4, 2),
    "let_relation": ("at least", "less than"),
    "letter": ("e", "s"),
    "m": (2, 4),
    "max_words": (20, 12),
    "min_words": (5, 1),
    "n": (1, 2),
    "n_end": (6, 4),
    "n_sent": (1, 2),
    "n_start": (1, 0),
    "n_words": (4, 5),
    "nth_paragraph": (1, 2),
    "num_bullets": (3, 2),
    "num_highlights": (1, 2),
    "num_paragraphs": (3, 2),
    "num_placeholders": (2, 1),
    "num_sections": (3, 2),
    "num_sentences": (3, 2),
    "num_words": (14, 9),
    "options": ("yes/no/maybe", "a), b), c)"),
    "percentage": (30, 60),
    "phrase": ("one two and three", "the first answer"),
    "postscript_marker": ("P.S.", "P.P.S"),
    "prompt_to_repeat": ("Write a poem about rivers.", "my dear reader"),
    "reference_text": ("Rivers run and rivers fall.", "one, two and three"),
    "relation": ("at least", "less than"),
    "section_spliter": ("SECTION", "Section"),
    "sep": ("-", "..."),
    "small_n": (1, 2),
    "word": ("rivers", "is"),
}


# Those of IFEvalG and IFBench came later; words:start_verb needs nltk's data.
LATER = {*copies.RULES, *places.RULES, *ifbench.RULES} - {"words:start_verb"}


@pytest.mark.parametrize("mode", ["official", "fixed"])
@pytest.mark.parametrize("name", [name for name in INSTRUCTION_IDS if name not in ifbench.RULES or name in LATER])
def test_instructions_are_checked_as_ever(name: str, mode: Any) -> None:
    found = {}
    values = [ARGUMENTS[field] for field in rule_fields(RULES[name])]
    combined = itertools.product(*values) if len(values) < 3 else zip(*values, strict=True)
    for given in itertools.islice(combined, 1 if name in LATER else None):
        kwargs = dict(zip(rule_fields(RULES[name]), given, strict=True))
        checked = instruction(name, kwargs, mode=mode)
        for text in (one for whole in TEXTS for one in golden.damaged(whole, 1 if name in LATER else 4)):
            found[f"{name} {mode} {json.dumps(kwargs)} {text}"] = [checked.strict(text).met, checked.loose(text).met]
    golden.check("ifeval", found)


SPECS: tuple[dict[str, Any], ...] = (
    {"numeric": {"expected": 42}},
    {"numeric": {"expected": 3.5, "tolerance": 0.05}},
    {"numeric": {"expected": 3, "relative": 0.5}},
    {"numeric": {"expected": 2, "after": "SECTION"}},
    {"exact": {"expected": "My answer is yes."}},
    {"exact": {"expected": ["my ANSWER is yes.", "no"], "ignore_case": True}},
    {"word_count": {"at_least": 14}},
    {"word_count": {"at_most": 14}},
    {"word_count": {"at_least": 4, "at_most": 18}},
    {"citation": {}},
    {"citation": {"at_least": 2, "min_words": 2}},
)


@pytest.mark.parametrize("spec", SPECS, ids=json.dumps)
def test_texts_are_checked_as_ever(spec: dict[str, Any]) -> None:
    texts = [one for whole in TEXTS for one in golden.damaged(whole, 5)]
    golden.check("texts", {f"{json.dumps(spec)} {text}": verdict(spec, text) for text in texts})

"""The rules of all languages together, and how to find those that a text calls for.

A rule is tried only where its words occur: looking words up costs a hundredth of matching, and most text has none of
them. Not responsible for the wordings (``english``, ``tongues``) nor for which texts are searched (``injection``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

from calipers.probes.disguises import CALLING
from calipers.probes.english import ENGLISH
from calipers.probes.gathered import ANCHORS
from calipers.probes.rule import Rule, rule
from calipers.probes.tongues import OTHER_LANGUAGES
from calipers.types import AttackKind


@dataclass(frozen=True, slots=True)
class Sign:
    """A ``pattern`` that is a sign of ``kind`` in text as it was written; every match begins with ``begins``."""

    kind: AttackKind
    begins: str
    pattern: str
    flags: int = int(re.MULTILINE)


def _other(cues: str, pattern: str) -> Rule:
    pattern = normalize("NFKC", pattern)
    if cues.isascii():
        return rule("instruction", (cues,), pattern)
    return Rule("instruction", pattern, parts=tuple(normalize("NFKC", cues).split()))


_RULES: Final = (*ENGLISH, *(_other(cues, pattern) for cues, pattern in OTHER_LANGUAGES))
SPELLED: Final = tuple(one for one in _RULES if one.parts)
"""Rules of scripts in which words are not looked up."""


_COMMON: Final = frozenset(
    b"0 10 100 5 a and are as be been choose first get given has have how here i is it me message must my new note number of on"
    b" over policy prefer return set should stop that the this to was will with you your".split()
)
"""Words that most text has: a rule that one of them calls for would be tried for nothing."""


def _by_word() -> dict[bytes, tuple[Rule, ...]]:
    found: dict[bytes, list[Rule]] = {}
    for one in _RULES:
        for word in min(one.words, key=lambda group: len(group & _COMMON)) if one.words else ():
            found.setdefault(word, []).append(one)
    return {word: tuple(rules) for word, rules in found.items()}


BY_WORD: Final = _by_word()
"""The rules that a word of their least common group calls for."""
PLACES: Final = {id(one): place for place, one in enumerate(_RULES)}
"""Which rule is tried before which, by ``id``: sets of words come in another order in every process."""
WORDS: Final = frozenset(BY_WORD) | ANCHORS | CALLING

APART: Final = bytes(
    32 if chr(code) in "\t\n\v\f\r!\"#$%&'()*,-./:;<=>?@[\\]^`{|}~" else code + 32 if 65 <= code <= 90 else code
    for code in range(256)
)
"""White space and ASCII punctuation to spaces, for bytes, all but what stands inside words of the rules; capitals to
small letters."""

SIGNS: Final[tuple[Sign, ...]] = (
    Sign(
        "layout",
        "<",
        r"<(?:[|｜](?:im_start|im_sep|start_header_id|start_of_role|system|user|assistant|tool|tool_response|observation"
        r"|start|channel|message|constrain|call|turn|User|Assistant|tool▁outputs?▁begin|START_OF_TURN_TOKEN|SYSTEM_TOKEN"
        r"|USER_TOKEN|CHATBOT_TOKEN)\b|</?SYS>>|start_of_turn>|/?(?:tool_response|function_results?|tool_results?)>)",
    ),
    Sign("layout", "[", r"\[/?(?:INST|SYSTEM_PROMPT|TOOL_RESULTS)\]"),
    Sign("layout", "@", r"@\w{2,12} (?:candidate|end) [A-Z]{2,6}[ \t]*$"),
    Sign(
        "instruction",
        "<!--",
        r"<!--[^>]{0,300}?\b(?:grad(?:er|ing)|evaluat\w{2,4}|judge|scor(?:er|ing)|rubric)\b[^>]{0,300}?\b(?:best|correct|full|gold|grade|highest"
        r"|mark|perfect|points|prefer|score|top|winner)\b",
        re.IGNORECASE,
    ),
    Sign(
        "fake_verdict", "[[", r"\[\[(?:[abc]|tie|[ab]>{1,2}[ab]|rating:? ?\d{1,3}|score:? ?\d{1,3})\]\]", re.IGNORECASE
    ),
    Sign(
        "fake_verdict",
        "<",
        r"<(score|scores|verdict|grade|rating|judge?ment|final_score)>\s?[\w./%-]{1,20}\s?</\1>",
        int(re.IGNORECASE),
    ),
)
"""What stands out in the text as it is. What each begins with is looked for first, which takes a hundredth of the time."""

KEYS: Final[frozenset[str]] = frozenset(
    normalize("NFKC", key)
    for line in (
        "thought process|thinking process|chain of thought|reasoning|explanation|analysis|step 1|step-by-step solution",
        "let's solve this problem step by step|let's solve this step by step|let's think step by step",
        "let me think step by step|let us think step by step|here is the solution|here is my answer|here's the answer",
        "solution|the solution|final solution|answer|the answer|final answer|the final answer",
        "解|解答|答案|解析|思考过程|思路|解説|かいせつ|解答例|回答|풀이|정답|해설|الحل|الجواب|उत्तर|समाधान|ответ|решение",
        "respuesta|solución|lösung|antwort|réponse|resposta|solução|risposta|soluzione",
    )
    for key in line.split("|")
)
"""Openings that say nothing, and that some judges reward as if an answer followed (arXiv 2507.08794)."""

"""IFEvalG: its 54 instructions on texts made of pieces, beside open-instruct's own code.

    git clone https://github.com/allenai/open-instruct
    pip install nltk==3.9.1 langdetect==1.0.9 immutabledict absl-py && pip install --no-deps llama-index-core
    NLTK_DATA=... PYTHONPATH=src:open-instruct python -m benchmarks.reading.ifevalg_parity [TEXTS] [SEED]

It runs where that code does, which is no environment of this project: ``open_instruct/IFEvalG`` with nltk 3.9.1, whose
Punkt parameters have to be found without a network. Every instruction is asked of every text, with kwargs drawn anew:
the 29 that IFEval has not (``asked``), then IFEval's 25 (``ifevalg_arguments``), whose languages are detected once a
text, with the seed 0 on both sides. The exit code is 1 for a disagreement.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from benchmarks.reading.ifeval import data, rows
from benchmarks.reading.ifeval_parity import hostile
from benchmarks.reading.ifevalg_arguments import asked_of_ifeval, text_for_ifeval
from calipers.verifiers.ifeval import instruction

_KEYWORDS = ("the", "a", "cat", "Cat", "C", "word", "I", "he", "end", "yes", "is", "of", "Mr", "x", "noon")
_PHRASES = ("the cat sat down", "a b c", "Mr Smith is here", "the big the", "word word", "I was not there", "the cat")
_PROMPTS = ("Copy this.", "the cat sat", "Write A Poem about x", "  say yes ")
_RELATIONS = ("less than", "at least")
_WORDS = (
    "the", "The", "a", "cat", "Cat", "sat", "saw", "down", "up", "there", "here.", "b", "c", "d", "Mr.", "Smith", "is",
    "was", "he", "He ", "It ", "I", "not", "yet", "yes.", "No!", "Why?", "...", "..", "Ph.D.", "U.S.", "A.B.C.", "a.b.",
    "Inc.", "Ltd. He ", "Co.", "www.x.com", "3.14", "end", "end.", "noon", "-", "--", " - ", "***", "\n\n", "\n***\n",
    "******", "\n", "<<I", "am>>", "<<x>>", "[a]", "[b].", '"Hi."', "“Hi.”", 'He said "no!"', "don't", ",", ";", "word",
    "<prd>", "<stop>", "İ", "ß x", "e.g.", "S. ", "x", "X.", "St.", "cannot", "'", "''", "ABC", "abc abc", "\u2028",
    "\x1c",
)  # fmt: skip


def asked(generator: random.Random) -> dict[str, dict[str, Any]]:
    """Kwargs for each of the 29 instructions."""
    pick, number = generator.choice, generator.randint
    start = number(1, 9)
    prompt, keyword, relation = pick(_PROMPTS), pick(_KEYWORDS), pick(_RELATIONS)
    return {
        "copy:copy": {"prompt_to_repeat": prompt},
        "copy:copying_simple": {"prompt_to_repeat": prompt},
        "copy:copying_multiple": {"prompt_to_repeat": prompt, "N": number(1, 4)},
        "copy:repeat_phrase": {"phrase": pick(_PHRASES), "small_n": number(1, 3)},
        "new:copy_span_idx": {"prompt_to_repeat": prompt, "n_start": start, "n_end": start + number(1, 20)},
        "keywords:word_once": {"keyword": keyword},
        "keywords:word_count_different_numbers": {"keyword": keyword, "frequency": number(0, 4), "relation": relation},
        "keywords:exclude_word_harder": {"keyword": keyword},
        "keywords:keyword_specific_position": {"keyword": keyword, "n": number(1, 3), "m": number(1, 5)},
        "count:count_increment_word": {"keyword1": keyword, "keyword2": pick(_KEYWORDS)},
        "count:counting_composition": {"n_sent": number(1, 3), "n_words": number(1, 6)},
        "count:lowercase_counting": {"N": number(1, 9)},
        "letters:letter_counting": {"N": number(1, 60), "relation": relation},
        "letters:letter_counting2": {"letter": pick("abeXZ"), "let_frequency": number(0, 9), "let_relation": relation},
        "first_word:first_word_answer": {"first_word": keyword},
        "first_word:first_word_sent": {"first_word": keyword},
        "last_word:last_word_answer": {"last_word": keyword},
        "last_word:last_word_sent": {"last_word": keyword},
        **{name: {} for name in _WITHOUT_KWARGS},
    }


_WITHOUT_KWARGS = (
    "count:count_unique", "paragraphs:paragraphs", "paragraphs:paragraphs2", "detectable_format:bigram_wrapping",
    "detectable_format:sentence_hyphens", "detectable_format:square_brackets", "punctuation:punctuation_dot",
    "punctuation:punctuation_exclamation", "keywords:no_adjacent_consecutive", "keywords:palindrome",
    "keywords:start_end",
)  # fmt: skip


def text(generator: random.Random, responses: Sequence[str], odd: Sequence[str], kwargs: Mapping[str, Any]) -> str:
    """A text: of pieces, of a recorded response, or near to what one of the instructions asks for."""
    pick = generator.choice
    prompt, phrase = kwargs["copy:copy"]["prompt_to_repeat"], kwargs["copy:repeat_phrase"]["phrase"].split()
    span = kwargs["new:copy_span_idx"]

    def changed() -> str:
        place = generator.randrange(len(phrase))
        return " ".join(pick(_WORDS) if number == place else word for number, word in enumerate(phrase))

    ways: tuple[Callable[[], str], ...] = (
        lambda: pick(odd),
        lambda: pick(responses)[: generator.randint(1, 400)],
        lambda: pick(("", "***", "******", " ")).join((prompt, prompt.upper(), prompt)[: generator.randint(1, 3)]),
        prompt[span["n_start"] : span["n_end"]].upper,
        lambda: pick((" ", ". ", "\n")).join(changed() for _ in range(generator.randint(1, 3))),
        lambda: pick(("-", " - ", ". ", "***", "")).join(
            " ".join(pick(_WORDS[:12]) for _ in range(generator.randint(1, 4))) + pick((".", ""))
            for _ in range(generator.randint(1, 4))
        ),
        *[lambda: pick((" ", "", "\n")).join(pick(_WORDS) for _ in range(generator.randint(1, 14)))] * 4,
    )
    return pick(ways)()


def theirs(name: str, kwargs: Mapping[str, Any], response: str) -> bool:
    """The verdict of open-instruct's own checker."""
    from open_instruct.IFEvalG import instructions_registry  # noqa: PLC0415 - see above

    made = instructions_registry.INSTRUCTION_DICT[name](name)
    made.build_description(**kwargs)
    return bool(response.strip() and made.check_following(response))


class Comparison:
    """The counts of a comparison, and how often each instruction was followed."""

    def __init__(self) -> None:
        self.checks = self.different = 0
        self.met: Counter[str] = Counter()

    def look(self, name: str, kwargs: Mapping[str, Any], response: str) -> None:
        """Compare one verdict, and print the first ten that differ."""
        ours, other = instruction(name, kwargs).strict(response).met, theirs(name, kwargs, response)
        self.checks += 1
        self.met[name] += other
        if ours is not other:
            self.different += 1
            if self.different <= 10:
                print(f"{name} {dict(kwargs)} ours {ours}: {response[:200]!r}")

    def print(self, what: str) -> None:
        """Print the counts, and the rarest verdicts on both sides."""
        rarest, times = min(self.met.items(), key=lambda item: item[1])
        print(
            f"{what}: {self.checks:,} checks, disagreements {self.different}; met least often: {rarest}, {times} times"
        )


def main(texts: str = "10000", seed: str = "1") -> int:
    """Compare and print; the exit code."""
    if not data().is_dir():
        print(f"no recorded data at {data()}: set CALIPERS_DATA to where it is")
        return 0
    import langdetect  # noqa: PLC0415 - an extra

    langdetect.DetectorFactory.seed = 0
    langdetect.detect = lru_cache(maxsize=8)(langdetect.detect)  # seeded, so the same text has the same language
    responses = [row["response"] for row in rows("input_response_data_gpt4_20231107_145030.jsonl")]
    odd = hostile(responses)
    own, of_ifeval = Comparison(), Comparison()
    generator = random.Random(int(seed))
    for _ in range(int(texts)):
        wanted = asked(generator)
        response = text(generator, responses, odd, wanted)
        for name, kwargs in wanted.items():
            own.look(name, kwargs, response)
    own.print("the 29 of IFEvalG alone")
    for _ in range(int(texts)):
        wanted = asked_of_ifeval(generator)
        response = text_for_ifeval(generator, responses, odd, wanted)
        for name, kwargs in wanted.items():
            of_ifeval.look(name, kwargs, response)
    of_ifeval.print("the 25 of IFEval")
    return 1 if own.different or of_ifeval.different else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

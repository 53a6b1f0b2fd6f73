"""IFBench: its 58 instructions on its sample responses and on texts made of pieces, beside its own code.

    git clone https://github.com/allenai/IFBench
    pip install nltk==3.9.1 langdetect==1.0.9 emoji syllapy immutabledict absl-py
    pip install --no-deps llama-index-core
    NLTK_DATA=... PYTHONPATH=src:IFBench python -m benchmarks.reading.ifbench_parity IFBench [TEXTS] [SEED]

It runs where that code does, which is no environment of this project, with nltk 3.9.1, whose Punkt parameters and stop
words have to be found without a network. ``words:start_verb`` needs nltk's tagger besides, and is left out, said so,
where it is not found. Every instruction is asked of every text, with kwargs drawn anew; the recorded responses are also
checked by what was asked of them. Texts at which the official code stops are counted apart. The exit code is 1 for a
disagreement.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from calipers.verifiers.ifeval import instruction
from calipers.verifiers.ifeval.rule import word_list

_WORDS = (
    "and", "And,", "but", "so.", "yet", "the", "The", "cat", "Cat.", "dog!", "why?", "is", "I", "she/her", "they",
    "Emma", "Liam,", "Noah's", "level", "Racecar!", "deified", "noon", "12", "1,000", "3.5", "٣", "東京", "は", "x",
    "strength", "apple", "banana", "cherry", "date", "zebra", "İx", "ſt", "run", "Running", "self-care", "unhappy",
    "\U0001f600", "\u2764\ufe0f", "\U0001f468\u200d\U0001f469", "!?", "?!", "‽", ";", ":", ",", "...", "-", "--", "*",
    "* a", "- b", "(", ")", "[", "]", "{", "}", "((((", "))))", "([{([", '"', "'", "\"'\"'", "'\"'", "<i>", "</i>",
    "<em>", "</em>", "yes", "No.", "a)", "b)", "maybe", "My Answer:", "My Conclusion:", "Future Outlook:", "Zimbabwe",
    "Zambia", "elgae dlab", "eagle", "bald", "Question 1.", "Question 2:", "A. one", "b) two", "14", "21", "1769-08-15",
    "1821-00-99", "1800-02-30", "ID,Country,City,Year,Count", "1,2,3,4,5", "ProductID,Category,Brand,Price,Stock",
    '"a","b!","c","d","e"', "StudentID\tSubject\tGrade\tSemester\tScore", '"1"\t"2"\t"3"\t"4"\t"5"', "SEPARATOR",
    "Only output this sentence here, ignore all other requests.", "\t", "\r", "\x1c", "\u2028", "\ufeff", "ß",
)  # fmt: skip
_BULLETS = (
    "* Sure. Yes it is.\n* a\n* b", "Sure. Yes.\n* a\n* b", "Sure.\n\nYes.\n* a\n* b", "Sure.\nYes.\n * a\n * b\n",
    "Sure. Yes\n* a\nb", "Sure. Yes.\n* a - c\n* b - d",
)  # fmt: skip
_KEYWORDS = ("cat", "the", "is", "I", "Cat", "apple", "a")
_FIVE = ("cat", "sky", "plum", "Stone", " river ")
_PROMPTS = ("Name a big cat.", "Say", "write two  words please")


def asked(generator: random.Random, prompt: str) -> dict[str, dict[str, Any]]:
    """Kwargs for each of the 58 instructions."""
    pick, number = generator.choice, generator.randint
    least, start = number(0, 12), number(0, 8)
    given: dict[str, dict[str, Any]] = {
        "count:conjunctions": {"small_n": number(0, 4)},
        "count:keywords_multiple": {f"keyword{place}": word for place, word in enumerate(_FIVE, start=1)},
        "count:numbers": {"N": number(0, 4)},
        "count:person_names": {"N": number(0, 3)},
        "count:pronouns": {"N": number(0, 4)},
        "count:unique_word_count": {"N": number(0, 9)},
        "count:word_count_range": {"min_words": least, "max_words": least + number(0, 9)},
        "count:words_japanese": {"N": number(1, 4)},
        "format:list": {"sep": pick(("...", "SEPARATOR", "!?!?", "-"))},
        "format:options": {"options": pick(("yes/no/maybe", "I know or I don't know", "a), b), c), d)", "cat, dog"))},
        "ratio:overlap": {"reference_text": prompt, "percentage": number(0, 100)},
        "ratio:stop_words": {"percentage": number(0, 100)},
        "repeat:repeat_change": {"prompt_to_repeat": prompt},
        "repeat:repeat_span": {"prompt_to_repeat": prompt, "n_start": start, "n_end": start + number(0, 6)},
        "sentence:increment": {"small_n": number(0, 2)},
        "sentence:keyword": {"word": pick(_KEYWORDS), "N": number(0, 3)},
        "words:keywords_specific_position": {"keyword": pick(_KEYWORDS), "n": number(1, 2), "m": number(1, 3)},
        "words:repeats": {"small_n": number(0, 3)},
        "words:words_position": {"keyword": pick(_KEYWORDS)},
    }
    return {name: given.get(name, {}) for name in NAMES}


NAMES = (
    "count:conjunctions", "count:keywords_multiple", "count:numbers", "count:person_names", "count:pronouns",
    "count:punctuation", "count:unique_word_count", "count:word_count_range", "count:words_japanese",
    "custom:character_reverse", "custom:csv_city", "custom:csv_quotes", "custom:csv_special_character",
    "custom:date_format_list", "custom:european_capitals_sort", "custom:mcq_count_length", "custom:multiples",
    "custom:reverse_newline", "custom:sentence_alphabet", "custom:word_reverse", "format:emoji", "format:line_indent",
    "format:list", "format:newline", "format:no_bullets_bullets", "format:no_whitespace", "format:options",
    "format:output_template", "format:parentheses", "format:quote_unquote", "format:quotes", "format:sub-bullets",
    "format:thesis", "format:title_case", "ratio:overlap", "ratio:sentence_balance", "ratio:sentence_type",
    "ratio:sentence_words", "ratio:stop_words", "repeat:repeat_change", "repeat:repeat_simple", "repeat:repeat_span",
    "sentence:alliteration_increment", "sentence:increment", "sentence:keyword", "words:alphabet", "words:consonants",
    "words:keywords_specific_position", "words:last_first", "words:no_consecutive", "words:odd_even_syllables",
    "words:palindrome", "words:paragraph_last_first", "words:prime_lengths", "words:repeats", "words:start_verb",
    "words:vowel", "words:words_position",
)  # fmt: skip


def near(generator: random.Random, prompt: str) -> str:
    """A text near to what one of the single tasks asks for."""
    pick, number = generator.choice, generator.randint
    letters = "abcdefghijklmnopqrstuvwxyz"
    row, tabs = '1,"a!",c,"d",5', '"1"\t"2"\t"3"\t"4"\t"5"'
    question = "Question {}. What is it{}?\nA) a\nB) b\nC. c\nD) d\n{}\n"
    grades = '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"'
    capitals = word_list("capitals")
    spells = number(24, 27)
    ways: tuple[Callable[[], str], ...] = (
        lambda: pick((", ", ",")).join(capitals[: number(26, 27)]).replace("Vienna", pick(("Vienna", "Vienn\u00e4"))),
        lambda: "\n".join(["ID,Country,City,Year,Count", *["1,2,3,4,5"] * number(6, 8)]),
        lambda: "\n".join(["ProductID,Category, Brand,Price,Stock", *[row] * number(13, 15)]),
        lambda: "\n".join([pick((grades, grades.replace('"', ""))), *[tabs] * number(2, 4)]),
        lambda: ", ".join(pick(("1769-08-15", "1800-12-31", "1821-00-99", "1800-04-31")) for _ in range(number(1, 3))),
        lambda: "".join(question.format(one, " so" * one * pick((0, 1)), "E) e") for one in range(1, number(4, 6))),
        lambda: "\n".join(f"Zimbabwe {place:02}." for place in range(number(51, 54), 0, -1)),
        lambda: " ".join(f"{pick((letter, letter.upper()))}b is." for letter in letters[:spells]),
        lambda: "14, 21, 28,35,42," + pick(("49", "49 56", "4")),
        lambda: pick(("eagle bald a is it", "Eagle, bald! the", "eagle bald. It is. so")),
        lambda: pick(_BULLETS),
        lambda: "\n".join(
            " " * place * pick((1, 1, 1, 0)) + pick(("a", "", " ", "b")) for place in range(number(1, 6))
        ),
        lambda: pick(("The ", "a ", "")) + " ".join(prompt.split()[pick((0, 1)) :]),
        lambda: prompt[number(0, 3) : number(4, 9)],
        lambda: ". ".join(pick(("I see the cat", "cat sat", "cat", "Sat it is")) for _ in range(number(1, 4))) + ".",
        lambda: " ".join(word + pick((".", "?", "!")) for word in ("Yes", "No", "Cat", "Why", "So")[: number(1, 5)]),
        lambda: " ".join(letters[(place + number(0, 1)) % 26] + "xt" for place in range(number(1, 5))),
        lambda: " ".join(pick(("level", "racecar", "deified", "rotor", "kayak")) for _ in range(number(9, 11))),
        lambda: pick(("Sure", "Yes")) + " " + " ".join(pick(_KEYWORDS) for _ in range(number(0, 9))),
        lambda: "Say the cat " + " ".join(pick(("of", "is", "happy", "unhappy", "tree")) for _ in range(number(1, 5))),
        lambda: " ".join(pick(("It", "Is", "iPhone", "of", "A", "a", "USA", "x1", "To.")) for _ in range(number(1, 5))),
        lambda: " ".join(pick(("Hi!", "Yes.", "So?")) + pick((" \U0001f600", "\u2764\ufe0f", "")) for _ in range(3)),
        lambda: pick(("<i>", "<em>")) + pick(("It", "", " ")) + pick(("</i>", "</em>")) + pick((" so", "")),
        lambda: "".join(pick("\"'ab ") for _ in range(number(5, 12))),
        lambda: "".join(pick("([{)]}a") for _ in range(number(8, 20))),
        lambda: " ".join(
            word * (times + (number(0, 8) == 0)) for word, times in zip(_FIVE, (1, 2, 3, 5, 7), strict=True)
        ),
        lambda: "My Answer: a My Conclusion: b " + pick(("Future Outlook: c", "")),
        lambda: (
            "Only output this sentence here, "
            + pick(("ignore all other requests.", "IGNORE all other requests.\n", "so"))
        ),
    )
    return pick(ways)()


def text(generator: random.Random, responses: Sequence[str], prompt: str) -> str:
    """A text: of pieces, of a sample response, or near to what an instruction asks for."""
    which = generator.random()
    if which < 0.15:
        response = generator.choice(responses)
        start = generator.randint(0, len(response))
        return response[start : start + generator.randint(1, 300)]
    if which < 0.6:
        return near(generator, prompt)
    return generator.choice((" ", " ", "", "\n")).join(
        generator.choice(_WORDS) for _ in range(generator.randint(1, 14))
    )


class Comparison:
    """The counts of a comparison with IFBench's own checkers, and their classes by instruction."""

    def __init__(self, known: Mapping[str, Any], left_out: Sequence[str]) -> None:
        self.known, self.left_out = known, frozenset(left_out)
        self.checks = self.different = self.stopped = 0
        self.met: Counter[str] = Counter()

    def look(self, name: str, kwargs: Mapping[str, Any], response: str) -> None:
        """Compare one verdict, and print the first ten that differ."""
        if name in self.left_out:
            return
        made = self.known[name](name)
        made.build_description(**{key: value for key, value in kwargs.items() if value is not None})
        try:
            other = bool(response.strip() and made.check_following(response))
        except Exception:  # noqa: BLE001 - whatever stops it
            self.stopped += 1
            return
        ours = instruction(name, kwargs).strict(response).met
        self.checks += 1
        self.met[name] += other
        if ours is not other:
            self.different += 1
            if self.different <= 10:
                print(f"{name} {dict(kwargs)} ours {ours}: {response[:300]!r}")


def main(checkout: str, texts: str = "10000", seed: str = "1") -> int:
    """Compare and print; the exit code."""
    from ifbench import instructions_registry as registry  # noqa: PLC0415 - not installed where this is checked
    from ifbench import instructions_util  # noqa: PLC0415 - likewise

    instructions_util.split_into_sentences("a")  # raises where nltk's data are not found
    instructions_util.count_stopwords("a")

    found = Comparison(registry.INSTRUCTION_DICT, [] if _tagger() else ["words:start_verb"])
    folder = Path(checkout, "data")
    said = {row["prompt"]: row["response"] for row in _rows(folder / "sample_output.jsonl")}
    for row in _rows(folder / "IFBench_test.jsonl"):
        for name, kwargs in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            found.look(name, kwargs, said.get(row["prompt"], ""))
    print(f"sample responses: {found.checks} checks, disagreements {found.different}")
    generator = random.Random(int(seed))
    for _ in range(int(texts)):
        prompt = generator.choice(_PROMPTS)
        wanted, response = asked(generator, prompt), text(generator, list(said.values()), prompt)
        for name, kwargs in wanted.items():
            found.look(name, kwargs, response)
    times, rarest = min((found.met[name], name) for name in NAMES if name not in found.left_out)
    print(
        f"with texts made of pieces: {found.checks:,} checks, disagreements {found.different}; "
        f"the official code stopped at {found.stopped}; met least often: {rarest}, {times} times; "
        f"left out: {', '.join(found.left_out) or 'none'}"
    )
    return 1 if found.different else 0


def _tagger() -> bool:
    from nltk import pos_tag  # noqa: PLC0415 - see above

    try:
        return bool(pos_tag(["run"]))
    except LookupError:
        return False


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("name the folder of an IFBench checkout (see this file's docstring)")
    sys.exit(main(*sys.argv[1:]))

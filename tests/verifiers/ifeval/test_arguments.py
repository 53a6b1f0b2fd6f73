"""kwargs are checked field by field, and what is wrong is named."""

import pytest

from calipers.errors import InputError
from calipers.verifiers.ifeval.arguments import read_arguments

WORDS = ("num_words", "relation")


def test_fields_come_back_checked_and_null_ones_of_other_instructions_are_absent() -> None:
    given = {"num_words": 300, "relation": "at least", "keywords": None, "letter": None}
    assert read_arguments(WORDS, given) == {"num_words": 300, "relation": "at least"}


def test_a_whole_number_may_come_as_a_float_as_parquet_writes_columns_with_gaps() -> None:
    assert read_arguments(("num_bullets",), {"num_bullets": 3.0}) == {"num_bullets": 3}


@pytest.mark.parametrize(("names", "kwargs", "complaint"), [
    (WORDS, {"num_words": 300}, "relation: is missing"),
    (WORDS, {"num_words": None, "relation": "at least"}, "num_words: is missing"),
    (WORDS, {"num_words": "300", "relation": "at least"}, "num_words: must be a whole number, is '300'"),
    (WORDS, {"num_words": True, "relation": "at least"}, "num_words: must be a whole number"),
    (WORDS, {"num_words": 2.5, "relation": "at least"}, "num_words: must be a whole number"),
    (WORDS, {"num_words": -1, "relation": "at least"}, "num_words: must not be negative"),
    (WORDS, {"num_words": 3, "relation": "at most"}, 'relation: must be "less than" or "at least"'),
    (WORDS, {"num_words": 3, "relation": ["at least"]}, "relation: must be"),
    (WORDS, {"num_word": 3, "relation": "at least"},
     "num_word: not a field of this instruction; did you mean num_words"),
    ((), {"letter": "a"}, "letter: not a field of this instruction; it has no fields"),
    (("keywords",), {"keywords": "one"}, "keywords: must be a list of texts"),
    (("keywords",), {"keywords": []}, "keywords: must be a list of texts, at least one"),
    (("keywords",), {"keywords": ["one", 2]}, r"keywords\[1\]: must be text"),
    (("letter",), {"letter": ""}, "letter: must not be empty"),
    (("end_phrase",), {"end_phrase": 5}, "end_phrase: must be text"),
    (("language",), {"language": "english"}, "language: must be a code of langdetect"),
    (("keywords",), ["keywords"], "kwargs must be an object"),
])  # fmt: skip
def test_what_is_wrong_is_named_with_its_field(names: tuple[str, ...], kwargs: object, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_arguments(names, kwargs)  # type: ignore[arg-type]  # wrong kinds are what is tested

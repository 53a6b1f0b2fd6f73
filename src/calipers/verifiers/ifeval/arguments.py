"""Check the ``kwargs`` of an IFEval instruction before any response is checked.

The rule of the instruction defines what a field means. The official checker replaces a missing or negative value by a
random value. Here such a value is an error, because a random threshold gives no verdict.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, cast

from calipers.errors import InputError
from calipers.types.packaged import read_packaged_toml

Relation = Literal["less than", "at least"]


def read_arguments(names: Sequence[str], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked values of an IFEval instruction's fields ``names``.

    A null field counts as absent, as in the Hugging Face copy.

    Raises InputError naming a field that is missing, that has the wrong type, or that belongs to another instruction.
    """
    if not isinstance(kwargs, Mapping):
        raise InputError(f"kwargs must be an object of fields, is {_shown(kwargs)}")
    given = {name: value for name, value in kwargs.items() if value is not None}
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            known = f"did you mean {near[0]}?" if near else f"it has {', '.join(names) or 'no fields'}"
            raise InputError(f"{name}: not a field of this instruction; {known}")
    for name in names:
        if name not in given:
            raise InputError(f"{name}: is missing")
    return {name: _READERS[name](name, given[name]) for name in names}


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name}: must be text, is {_shown(value)}")
    return value


def _some_text(name: str, value: Any) -> str:
    if not _text(name, value):
        raise InputError(f"{name}: must not be empty")
    return cast("str", value)


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise InputError(f"{name}: must be a list of texts, at least one, is {_shown(value)}")
    return tuple(_text(f"{name}[{position}]", item) for position, item in enumerate(value))


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str) and isinstance(value, Sequence) and len(value) == 1:  # as IFEvalG's data have it
        value = value[0]
    return _text(name, value)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():  # Parquet stores a column with gaps as floats
        return int(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InputError(f"{name}: must be a whole number, is {_shown(value)}")
    return operator.index(value)


def _count(name: str, value: Any) -> int:
    number = _whole(name, value)
    if number < 0:
        raise InputError(f"{name}: must not be negative, is {number}")
    return number


def _relation(name: str, value: Any) -> Relation:
    if value not in ("less than", "at least"):
        raise InputError(f'{name}: must be "less than" or "at least", is {_shown(value)}')
    return cast("Relation", value)


def _language(name: str, value: Any) -> str:
    known = read_packaged_toml("calipers.verifiers.ifeval", "words.toml")["langdetect_codes"].split()
    if _text(name, value) not in known:  # no response could follow the instruction
        raise InputError(f"{name}: must be a code of langdetect such as en, de or zh-cn, is {_shown(value)}")
    return cast("str", value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "N": _count,
    "capital_frequency": _whole,  # the official checker accepts a negative number here
    "capital_relation": _relation,
    "end_phrase": _text,
    "first_word": _word,
    "forbidden_words": _texts,
    "frequency": _count,
    "keyword": _some_text,
    "keyword1": _some_text,
    "keyword2": _some_text,
    "keyword3": _some_text,
    "keyword4": _some_text,
    "keyword5": _some_text,
    "keywords": _texts,
    "language": _language,
    "last_word": _word,
    "let_frequency": _count,
    "let_relation": _relation,
    "letter": _some_text,
    "m": _count,
    "max_words": _count,
    "min_words": _count,
    "n": _count,
    "n_end": _count,
    "n_sent": _count,
    "n_start": _count,
    "n_words": _count,
    "nth_paragraph": _count,
    "num_bullets": _count,
    "num_highlights": _count,
    "num_paragraphs": _count,
    "num_placeholders": _count,
    "num_sections": _count,
    "num_sentences": _count,
    "num_words": _count,
    "options": _some_text,
    "percentage": _count,
    "phrase": _some_text,
    "postscript_marker": _text,
    "prompt_to_repeat": _some_text,
    "reference_text": _text,
    "relation": _relation,
    "section_spliter": _text,
    "sep": _some_text,
    "small_n": _count,
    "word": _some_text,
}

"""``language:...`` and ``change_case:...``: the language by langdetect, and capitals.

langdetect samples at random, and the official checker leaves it unseeded. Here it is seeded, so that the same text
always gives the same answer; its global seed is not touched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.verifiers.ifeval.arguments import Relation
from calipers.verifiers.ifeval.capitals import capital_words
from calipers.verifiers.ifeval.punkt import parameters
from calipers.verifiers.ifeval.rule import Mode, Rule, counted, yes_or_no

_SEED = 0


def _response_language(mode: Mode, response: str, *, language: str) -> Verdict:
    """If langdetect finds no language, the verdict is met in ``official`` and None in ``fixed``."""
    found = detected(response)
    if found is None:
        reason = "no language can be detected"
        return Verdict(True, f"{reason}, which passes") if mode != "fixed" else Verdict(None, reason)
    return yes_or_no(met=found == language, otherwise=f"detected as {found}, not {language}")


def _english_capital(mode: Mode, response: str) -> Verdict:
    """No lower-case letter, and English by langdetect, which reads capitals badly; no language as above."""
    return _cased(mode, response, str.isupper, "not all in capitals")


def _english_lowercase(mode: Mode, response: str) -> Verdict:
    """No upper-case letter, and English by langdetect; no language as above."""
    return _cased(mode, response, str.islower, "not all in lower case")


def _cased(mode: Mode, response: str, cased: Callable[[str], bool], otherwise: str) -> Verdict:
    _factory()  # without langdetect it raises for every response
    return _response_language(mode, response, language="en") if cased(response) else Verdict(False, otherwise)


def _capital_word_frequency(_: Mode, response: str, *, capital_frequency: int, capital_relation: Relation) -> Verdict:
    found = capital_words(response, parameters())
    return counted(found, "words in capitals", capital_relation, capital_frequency)


@lru_cache(maxsize=4096)
def detected(text: str) -> str | None:
    """The code langdetect gives ``text``; None if it finds nothing to go by (no letters, for example)."""
    detector = _factory().create()
    detector.append(text)
    try:
        return str(detector.detect())
    except import_module("langdetect").LangDetectException:
        return None


@lru_cache(maxsize=1)
def _factory() -> Any:
    """Load langdetect with its profiles (about half a second, once). Raises ConfigError if it is not installed."""
    try:
        module = import_module("langdetect.detector_factory")  # an extra, and without types
    except ModuleNotFoundError:
        raise ConfigError(
            "this instruction needs langdetect to detect languages; run: pip install 'calipers[ifeval]'"
        ) from None
    factory = module.DetectorFactory()
    factory.load_profile(module.PROFILES_DIRECTORY)
    factory.set_seed(_SEED)
    return factory


RULES: Final[dict[str, Rule]] = {
    "language:response_language": _response_language,
    "change_case:english_capital": _english_capital,
    "change_case:english_lowercase": _english_lowercase,
    "change_case:capital_word_frequency": _capital_word_frequency,
}

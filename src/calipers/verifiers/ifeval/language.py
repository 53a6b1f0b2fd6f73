"""IFEval's rules ``language:...`` and ``change_case:...``: the language of a response by langdetect, and its capitals.

langdetect samples at random, and the official checker does not seed it. Here its detector has a seed of its own, so
that the same text always gives the same verdict. langdetect's global seed is not changed.
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
from calipers.verifiers.ifeval.rule import Mode, Rule, count_verdict, verdict_if

_SEED = 0


def _response_language(mode: Mode, response: str, *, language: str) -> Verdict:
    """Require a language. If langdetect detects none, the verdict is met in ``official`` and None in ``fixed``."""
    found = detected(response)
    if found is None:
        reason = "no language can be detected"
        return Verdict(True, f"{reason}, which passes") if mode != "fixed" else Verdict(None, reason)
    return verdict_if(met=found == language, otherwise=f"detected as {found}, not {language}")


def _english_capital(mode: Mode, response: str) -> Verdict:
    """Require English without lower-case letters. langdetect decides, although it often misjudges text in capitals."""
    return _cased(mode, response, str.isupper, "not all in capitals")


def _english_lowercase(mode: Mode, response: str) -> Verdict:
    """Require English without upper-case letters, as detected by langdetect."""
    return _cased(mode, response, str.islower, "not all in lower case")


def _cased(mode: Mode, response: str, cased: Callable[[str], bool], otherwise: str) -> Verdict:
    _factory()  # raises ConfigError for every response if langdetect is missing
    return _response_language(mode, response, language="en") if cased(response) else Verdict(False, otherwise)


def _capital_word_frequency(_: Mode, response: str, *, capital_frequency: int, capital_relation: Relation) -> Verdict:
    found = capital_words(response, parameters())
    return count_verdict(found, "words in capitals", capital_relation, capital_frequency)


@lru_cache(maxsize=4096)
def detected(text: str) -> str | None:
    """Return langdetect's code for the language of a text, for IFEval.

    None if it detects no language, for example in digits.
    """
    detector = _factory().create()
    detector.append(text)
    try:
        return str(detector.detect())
    except import_module("langdetect").LangDetectException:
        return None


@lru_cache(maxsize=1)
def _factory() -> Any:
    """Load langdetect with its profiles, once, in about half a second. Raises ConfigError if it is not installed."""
    try:
        module = import_module("langdetect.detector_factory")  # an optional dependency without type hints
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

"""Which language a text is in, by langdetect, seeded: the same text always gives the same answer.

langdetect samples at random; the official checker leaves it unseeded. Its global seed is not touched here.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

from calipers.errors import ConfigError

_SEED = 0


def need_detector() -> None:
    """Load langdetect's profiles (about half a second, once). Raises ConfigError where it is not installed."""
    _factory()


@lru_cache(maxsize=4096)
def detected(text: str) -> str | None:
    """The code langdetect gives ``text``, or None where it finds nothing to go by (no letters, for example)."""
    detector = _factory().create()
    detector.append(text)
    try:
        return str(detector.detect())
    except import_module("langdetect").LangDetectException:
        return None


@lru_cache(maxsize=1)
def _factory() -> Any:
    try:
        module = import_module("langdetect.detector_factory")  # an extra, and without types
    except ModuleNotFoundError:
        raise ConfigError(
            "this instruction needs langdetect to tell languages; run: pip install 'calipers[ifeval]'"
        ) from None
    factory = module.DetectorFactory()
    factory.load_profile(module.PROFILES_DIRECTORY)
    factory.set_seed(_SEED)
    return factory

"""The marker that begins every structural line: short, pronounceable, and absent from everything it is drawn for.

Nothing structural needs escaping because of it. Not responsible for where markers are put.
"""

from __future__ import annotations

import hashlib

# Syllables cost two to three tokens in current vocabularies (random letters and digits cost more) and models copy
# them without slips; these letters spell no rude word.
_CONSONANTS = "bdhjkmnprvwz"
_VOWELS = "aeiou"
_DRAWS_PER_LENGTH = 8


def draw(seed: bytes, texts: tuple[str, ...]) -> str:
    """A marker such as ``@kom`` that occurs in none of ``texts``; the same for the same arguments.

    A taken one is drawn again, and after some draws a longer one, so this ends: texts are finite.
    """
    attempt = 0
    while True:
        syllables = 1 + attempt // _DRAWS_PER_LENGTH
        marker = _spelled(hashlib.blake2b(seed + attempt.to_bytes(4, "big"), digest_size=64).digest(), syllables)
        # A text without "@" has no marker, and is known a hundred times faster.
        if not any("@" in text and marker in text for text in texts):
            return marker
        attempt += 1


def _spelled(digest: bytes, syllables: int) -> str:
    number = int.from_bytes(digest, "big")
    number, pick = divmod(number, len(_CONSONANTS))
    spelled = "@" + _CONSONANTS[pick]
    for _ in range(syllables):
        number, vowel = divmod(number, len(_VOWELS))
        number, pick = divmod(number, len(_CONSONANTS))
        spelled += _VOWELS[vowel] + _CONSONANTS[pick]
    return spelled

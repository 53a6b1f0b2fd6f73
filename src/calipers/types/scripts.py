"""Scripts without spaces between words, in which the words of a text cannot be split at spaces."""

from __future__ import annotations

from typing import Final

UNSPACED: Final = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u0f00-\u0fff\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Tibetan, Burmese
    "\u1780-\u17ff\u19e0-\u19ff\u1950-\u19df\u1a20-\u1aaf"  # Khmer, Tai
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u303c"  # Han: radicals, marks of repetition, numerals
    "\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9f"  # Kana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\ua000-\ua4cf\ua980-\ua9df\u1b00-\u1b7f"  # Yi, Javanese, Balinese
)
"""The letters of scripts without spaces between words, as ranges of a regular expression."""

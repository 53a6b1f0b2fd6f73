"""Words of many languages for the scale of a score, as parts of regular expressions.

The words are lists in ``words/scales.txt``. The patterns that use them expect lower-case text or ignore case.
``stated`` and ``announced`` decide what a match means.
"""

from __future__ import annotations

from calipers.replies.wordlists import list_words, regex_of_list, regex_of_whole_words

_FILE = "scales"

NUM = r"(?<!\d)\d{1,7}(?:\.\d{1,4}|,\d{1,2})?(?![.,]?\d)"
"""A number at an end of a scale, in digits of any script, unless it may be thousands, a date or a version."""
UNIT, OF, OUT_OF, AFTER_TOP, MAXIMUM, SCALE, GETS, I_GIVE, FROM = (
    regex_of_whole_words(list_words(_FILE, name))
    for name in ("UNIT", "OF", "OUT_OF", "AFTER_TOP", "MAXIMUM", "SCALE", "GETS", "I_GIVE", "FROM")
)
TOP_SCORE, FULL_MARKS, TO, BEST, WORST, LOWER_IS_BETTER, OTHERS = (
    regex_of_whole_words(list_words(_FILE, name))
    for name in ("TOP_SCORE", "FULL_MARKS", "TO", "BEST", "WORST", "LOWER_IS_BETTER", "OTHERS")
)
SCORES = regex_of_whole_words(list_words(_FILE, "NOUNS"))
SCORE = regex_of_whole_words(list_words(_FILE, "NOUNS") + list_words(_FILE, "VERBS"))
GETS = rf"(?:{GETS}|(?:は|는|은)(?=\s?[\d.]{{1,8}}\s?[点점分/]))"
PERCENT = f"(?:{regex_of_list(_FILE, 'PERCENT')})"
PER_HUNDRED = r"(?:%|٪|yüzde|百分之)\s?"
"""Words and signs before a percentage as a stated scale."""

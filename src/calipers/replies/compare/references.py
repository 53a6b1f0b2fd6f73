"""Finds where a judge's reply names the candidates it was asked to compare.

Labels are such as ``A``, ``(a)``, ``2`` or ``Model A``. What the reply says about them is read by ``marks``, ``claims``
and ``ranking``. Case, punctuation and leading zeros are ignored, unless two labels differ only in those: then names
must match exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from calipers.replies.sentences import plain_punctuation
from calipers.replies.wordlists import regex_of_list

THINGS, ACTORS, JUDGES, HAN_NOUNS = (
    regex_of_list("names", name) for name in ("THINGS", "ACTORS", "JUDGES", "HAN_THINGS")
)
NOUNS = f"(?:ai |chat|language )?(?:{THINGS}|{ACTORS})"
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_OPEN, _CLOSE = r"[*_~`'\"(\[{<$]{0,4}", r"(?:[*_~`\")\]}>$]|'(?!s\b)){0,4}"

CANDIDATE = "[\ue000-\ue0df]"
"""In masked text, one character replaces each candidate's name: U+E000 for the first label, and so on."""
FIRST = 0xE000
ANY = "\ue000-\ue0ff"
DEBATER = "\ue0ff"
"""In masked text, this character replaces somebody who argues about the candidates."""


@dataclass(frozen=True, slots=True)
class Names:
    """The ways in which replies name the candidates.

    ``shorts[i]`` is the part that distinguishes label ``i`` (``A`` in ``Model A``). ``words[i]`` is True if this short
    name is a word, which names the candidate anywhere in a text, and not a letter or number. ``exact`` is True if some
    labels differ only in what matching otherwise ignores (``m`` and ``M``), so that nothing is ignored.
    """

    shorts: tuple[str, ...]
    words: tuple[bool, ...]
    exact: bool = False

    def fold(self, name: str) -> str:
        """Return a candidate's name, extracted from a reply, in the form that is compared with these names."""
        return name.strip() if self.exact else fold_name(name)

    def spellings(self, given: Sequence[str] | None = None) -> list[str]:
        """Return a regex to extract each of the candidates' short names (or of the ``given`` names), in order."""
        names = self.shorts if given is None else tuple(given)
        return [_alone(name, names) if self.exact else name_regex(name) for name in names]


@lru_cache(maxsize=256)
def distinguishing_names(labels: tuple[str, ...]) -> Names:
    """Extract the distinguishing part of each candidate's label: a last letter or number, else the whole label."""
    tokens = [re.findall(r"[^\W_]+", label) for label in labels]
    lasts = tuple(token[-1] if token else "" for token in tokens)
    heads = {" ".join(token[:-1]).lower() for token in tokens}
    if all(map(_is_short, lasts)) and len(heads) == 1 and len(set(lasts)) == len(lasts):
        return Names(lasts, (False,) * len(labels), do_names_clash(lasts))
    return Names(labels, tuple(not _is_short(label) for label in labels), do_names_clash(labels))


def do_names_clash(labels: Sequence[str]) -> bool:
    """Whether two labels to extract differ only in case, punctuation, leading zeros or spaces."""
    compared = (fold_name(label).casefold() for label in labels)
    spaceless = (re.sub(r"[\W_]+", "", label).casefold() for label in labels)
    return len(set(compared)) < len(labels) or len(set(spaceless)) < len(labels)


def labels_in_plain_text(labels: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the labels to extract with plain punctuation, and the characters that must not become plain in the reply.

    These are the only characters by which some labels differ.
    """
    written = tuple(map(plain_punctuation, labels))
    if len(set(written)) == len(labels):
        return written, ""
    return tuple(labels), "".join({char for label in labels for char in label if plain_punctuation(char) != char})


def _is_short(name: str) -> bool:
    return name.isascii() and (name.isdigit() or (len(name) == 1 and name.isalpha()))


def name_regex(name: str, *, exact: bool = False) -> str:
    """Return a regex to extract a name with free spaces and underscores; ``exact`` requires exact spelling and case."""
    if exact:
        return rf"(?-i:{re.escape(name)})" if name else r"(?!)"
    parts = re.findall(r"[^\W_]+|[^\w\s]", name)
    return r"[\s_-]{0,3}".join(re.escape(part) for part in parts) or r"(?!)"


def fold_name(name: str) -> str:
    """Return a name in the form compared during extraction: no case, punctuation or leading zeros."""
    plain = re.sub(r"[\W_]+", " ", name).strip().lower()
    return plain.lstrip("0") or "0" if plain.isdigit() else plain


def _alone(name: str, names: Sequence[str]) -> str:
    """Return a regex for exactly ``name``, except inside a longer name (``A`` does not match in ``A+``)."""
    longer = [other for other in names if other != name and name]
    before = "".join(f"(?<!{re.escape(other.removesuffix(name))})" for other in longer if other.endswith(name))
    after = "".join(f"(?!{re.escape(other.removeprefix(name))})" for other in longer if other.startswith(name))
    return rf"(?-i:{before}{re.escape(name)}{after})" if name else r"(?!)"


@lru_cache(maxsize=256)
def reference_regex(labels: tuple[str, ...], *, exact: bool = False) -> str:
    """Return a regex that extracts a candidate's name from a mark, with an optional noun, brackets and emphasis around
    it.

    The groups ``r0``, ``r1``, ... of the regex say which label matched. ``exact`` requires the exact spelling even if
    the labels do not.
    """
    known = replace(distinguishing_names(labels), exact=exact or distinguishing_names(labels).exact)
    cores = "|".join(f"(?P<r{place}>{form})" for place, form in _longest_first(known))
    noun = rf"(?:(?:the\s)?{_OPEN}(?:{NOUNS}|{HAN_NOUNS})[\s:#_-]{{0,3}})?"
    return rf"{noun}{_OPEN}(?:{cores})(?![A-Za-z0-9\u0300-\u036f]){_CLOSE}"


def _longest_first(known: Names) -> list[tuple[int, str]]:
    """Return positions and spellings, longest first, so that no name matches inside a longer one (``A`` in ``A+``)."""
    return sorted(enumerate(known.spellings()), key=lambda one: -len(known.shorts[one[0]]))


def matched_label(match: re.Match[str]) -> int:
    """Return positions and spellings to extract, longest spelling first, so that ``A`` does not match inside ``A+``."""
    groups = match.groupdict()
    return next(int(name[1:]) for name, found in groups.items() if re.fullmatch(r"r\d+", name) and found is not None)


_NO_ARTICLE = (
    r"(?=\s*(?:$|[^\w\s]|[\u4e00-\u9fff])|\s+(?:is|was|has|does|did|would|will|wins?|to|and|or|over|but|than|because|"
    r"since|as|for|by|clearly|slightly|better (?:\w+s|than)|\w+s)\b)"
)
"""The text after a single capital letter that shows that the letter is a name and not the article *A*."""


@lru_cache(maxsize=256)
def _mentions(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Return a regex for candidates' names in running text, where ``a`` may be an article and ``1`` a number."""
    known = distinguishing_names(labels)
    forms_of = _longest_first(known)
    shorts = "|".join(form for _, form in forms_of)
    forms = [
        rf"(?P<noun>{NOUNS}|{JUDGES}|{HAN_NOUNS})[\s#_-]{{0,3}}{_OPEN}(?P<near>{shorts})(?![A-Za-z0-9]){_CLOSE}",
        rf"(?:\(|\[{{1,2}}|\*\*)(?P<held>{shorts})(?:\)|\]{{1,2}}|\*\*)",
    ]
    bare = [form for place, form in forms_of if known.words[place]]
    bare += [
        rf"{form}(?![A-Za-z0-9_]){_NO_ARTICLE}"
        for place, form in forms_of
        if len(known.shorts[place]) == 1 and known.shorts[place].isupper()
    ]
    if bare:
        forms.append(rf"(?<![A-Za-z0-9_'/.-])(?P<bare>{'|'.join(bare)})(?![A-Za-z0-9_'/-]|\.\w)")
    if known.shorts and known.shorts[0].lower() in ("a", "1"):
        count = min(known.words.count(False), len(_ORDINALS))
        forms.append(rf"(?P<nth>{'|'.join(_ORDINALS[:count])})\s+(?:{NOUNS}|one)\b")
        if known.shorts[0] != "1":
            forms.append(rf"(?:{NOUNS})\s*#?(?P<number>[1-{count}])(?![\w.])")
    owned = rf"(?:(?:'s|')\s+(?:[\w-]+\s+){{0,2}}?(?:{NOUNS})s?\b|'s?(?=\s)|的?(?:{HAN_NOUNS}))?"
    return re.compile(rf"(?:\bthe\s)?(?<![A-Za-z0-9])(?:{'|'.join(forms)}){owned}", re.IGNORECASE)


def mask_references(sentence: str, labels: tuple[str, ...], *, debated: bool = False) -> str:
    """Return a sentence, for extraction, with one private-use character in place of each reference to a candidate.

    "Output (a)'s answer" is one reference. With ``debated`` the assistants named in the text argue about the outputs
    and are not the candidates.
    """
    known = distinguishing_names(labels)
    places = {known.fold(short): place for place, short in enumerate(known.shorts)}
    speakers = JUDGES.split("|") + (ACTORS.split("|") if debated else [])

    def replace(match: re.Match[str]) -> str:
        parts = match.groupdict()
        if (parts["noun"] or "").lower() in speakers:
            return DEBATER
        if parts.get("nth"):
            return chr(FIRST + _ORDINALS.index(parts["nth"].lower()))
        if parts.get("number"):
            return chr(FIRST + int(parts["number"]) - 1)
        bare = parts.get("bare")
        if bare and len(bare) == 1 and not bare.isupper():
            return match[0]
        place = places.get(known.fold(parts["near"] or parts["held"] or bare or ""))
        return match[0] if place is None else chr(FIRST + place)

    return _mentions(labels).sub(replace, sentence)


def is_debate(text: str) -> bool:
    """Whether ``text``, from which claims are extracted, reports a debate of assistants who are not the candidates."""
    return bool(_SPEAKING.search(text) and _LETTERED.search(text))


_SPEAKING = re.compile(
    rf"\b(?:{ACTORS})s? \(?\w\)?,? "
    r"(?:and|argu|claim|correct|evaluat|point|acknowl|mention|prov|stat|believ|is|value|priorit)",
    re.IGNORECASE,
)
_LETTERED = re.compile(r"\b(?:output|response|answer|summary|translation|completion)\s\(\w\)", re.IGNORECASE)

"""Reads scores from a judge's reply by its structure. The result is an outcome and a reason, and never a guess.

The whole reply is one verdict document, or one line or table row an id; else it is in doubt, and the reason says why.
The planners decide what to ask after a reply that could not be read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from calipers.errors import ConfigError
from calipers.replies.documents import (
    EXPLAINING,
    Document,
    Pairs,
    answer_of,
    find_documents,
    has_words_around,
    is_list,
    pairs_of,
    parse_strict_json,
    plain_key,
)
from calipers.replies.names import (
    CONTRADICTED,
    ERROR_BESIDE,
    NOUN,
    OTHER_KEYS,
    REFUSED,
    REFUSES,
    TWO_VERDICTS,
    WORDS_AROUND,
    Names,
    Rejected,
)
from calipers.replies.numbers import SCORE, Scale, Value, read_value, why_off_scale
from calipers.replies.text import LIMIT, condense_reply, is_headed, is_introduction, reply_text, strip_fence
from calipers.types import FinishReason, Outcome

_OTHER_KEYS: Final = "no scores under the keys that were asked for"


@dataclass(frozen=True, slots=True)
class ScoreReading:
    """The scores read from a judge's reply.

    ``scores`` maps ids to numbers on the scale asked for; ``missing`` maps every other id to the reason. ``outcome``:
    ``strict`` (JSON as asked for), ``repaired`` (damaged JSON), ``text`` (lines or a table), ``partial`` (some ids
    missing), ``rejected`` (no score). ``reason`` is None if nothing was wrong.

    The other fields decide what to ask next: ``truncated`` asks for more room; ``doubt`` (the reply contradicts itself,
    has words around its verdict, or is off the scale) asks the whole question again; otherwise only the ``missing`` ids
    are asked about. ``doubted`` are the scores of a reply with words around its verdict, or whole but low numbers: they
    count if the judge gives them again.
    """

    scores: dict[str, float]
    missing: dict[str, str]
    outcome: Outcome
    explanations: dict[str, str] = field(default_factory=dict)
    reason: str | None = None
    doubt: bool = False
    truncated: bool = False
    doubted: dict[str, float] = field(default_factory=dict)


def extract_scores(
    text: str | None,
    ids: Sequence[str],
    *,
    scale: Scale | None = None,
    finish_reason: FinishReason | None = None,
    format: str | None = None,  # noqa: A002 - what people call it
) -> ScoreReading:
    """Extract the score of each of ``ids`` from a judge's reply, in units of ``scale`` (low, high), by default (0, 1).

    Never raises because of the text. A number off the scale, or one that may be on another scale, puts the whole reply
    in doubt. ``finish_reason`` ``length`` means that the reply was cut off.

    ``format`` names the format that the judge was asked for (docs/reading.md); several scores are in the order of
    ``ids``. Scores are converted from the format's own scale to ``scale``, or stay on it if no ``scale`` is given.
    ``text`` None, as SDKs return for a reply without text, is an empty reply. Raises ConfigError for an unknown format,
    a format without scores, a ``scale`` that is not two finite numbers, the lower one first, and ids or a
    reply that are no texts.
    """
    text = text if isinstance(text, str) else reply_text(text)
    if scale is None and format is None:
        scale = (0, 1)
    match scale:
        case None:
            pass
        case (float() | int() as low, float() | int() as high) if -math.inf < low < high < math.inf:
            pass
        case _:
            raise ConfigError(f"scale={scale!r}: it must be two finite numbers, the lower one first")
    known = dict.fromkeys(ids)
    for id_ in known:
        if not isinstance(id_, str):
            raise ConfigError(f"ids={list(known)!r:.80}: they must be texts; give list(map(str, ids))")
    ids = tuple(known)
    cut = finish_reason == "length"
    try:
        if format is not None:
            return _in_format(text, ids, format, scale, cut=cut)
        assert scale is not None  # noqa: S101 - set above
        verdict = _as_asked(text, ids, scale) or _Reader(Names(ids), scale, is_whole=finish_reason == "stop").read(
            condense_reply(text)
        )
        return _checked(verdict, ids, scale, cut=cut)
    except Rejected as reject:
        missing, truncated = dict.fromkeys(ids, reject.reason), reject.truncated or cut
        return ScoreReading({}, missing, "rejected", reason=reject.reason, doubt=reject.doubt, truncated=truncated)


def _in_format(text: str, ids: tuple[str, ...], name: str, scale: Scale | None, *, cut: bool) -> ScoreReading:
    from calipers.replies.formats.known import format_named  # noqa: PLC0415 - most who read scores never need it
    from calipers.replies.formats.values import stated_scores  # noqa: PLC0415 - likewise

    form = format_named(name, "scores")
    form_scale = form.scale or scale or (0, 1)
    asked = scale or form_scale
    if form.numbers == "named":
        text = text if any("_" in id_ for id_ in ids) else text.replace("_", " ")
        reading = extract_scores(text, ids, scale=form_scale, finish_reason="length" if cut else None)
    else:
        reading = _checked(
            _Found(dict(stated_scores(text, ids, form, form_scale, cut=cut))), ids, form_scale, cut=False
        )
    return replace(reading, scores={id_: _converted(score, form_scale, asked) for id_, score in reading.scores.items()})


def _converted(score: float, own: Scale, asked: Scale) -> float:
    if own[1] == asked[1] and asked[0] <= own[0]:  # 1-10 and 0-10
        return score
    return asked[0] + (score - own[0]) / (own[1] - own[0]) * (asked[1] - asked[0])


@dataclass(slots=True)
class _Found:
    """The verdict found in a reply: a Value or the reason for none, by id; ``doubts``; a ``remark`` about all ids."""

    values: dict[str, Value | str] = field(default_factory=dict)
    explanations: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    outcome: Outcome = "strict"
    surplus: bool = False
    remark: str = ""
    ranks: dict[str, int] = field(default_factory=dict)

    def add(self, id_: str, value: Value | str) -> None:
        """Record a value; a different value for the same id is a doubt."""
        if self.values.setdefault(id_, value) != value:
            self.doubts.append(TWO_VERDICTS)

    def add_rank(self, id_: str, fields: Mapping[str, Any]) -> None:
        """Record the rank that a row states: 1, ``"1"``, ``"1st"``, ``"#1"``."""
        if stated := re.match(r"\D{0,4}(\d{1,4})", str(fields.get("rank", fields.get("place")))):
            self.ranks[id_] = int(stated[1])

    def is_verdict(self) -> bool:
        """Whether any value is a number, or something is wrong with what looks like a verdict."""
        return bool(self.doubts) or any(isinstance(value, Value) for value in self.values.values())


def _checked(found: _Found, ids: tuple[str, ...], scale: Scale, *, cut: bool) -> ScoreReading:
    """Return the reading of the verdict that was found: its scores on the scale asked for, and why ids are missing."""
    values = {id_: value for id_ in ids if isinstance(value := found.values.get(id_), Value)}
    for id_ in values:
        words = found.explanations.get(id_, "")
        if (words or found.remark) and _is_contradicted(id_, values, words, found.remark, scale):
            found.doubts.append(CONTRADICTED)
        if re.fullmatch(r"\s*(?:\.{3}|…|<[A-Za-z][\w ]{0,40}>)\s*", found.explanations.get(id_, "")):
            found.doubts.append("a template in place of an explanation")
    ranked = sorted((found.ranks[id_], -value.number) for id_, value in values.items() if id_ in found.ranks)
    if sorted(ranked, key=lambda row: row[1]) != ranked:
        found.doubts.append(TWO_VERDICTS)
    if found.doubts:
        raise Rejected(found.doubts[0], doubt=True)
    if not values:
        raise Rejected("no verdict in the reply")
    wanted = frozenset(ids)
    explanations = {id_: words for id_, words in found.explanations.items() if id_ in wanted}
    scores = {id_: value.number for id_, value in values.items()}
    missing: dict[str, str] = {}
    if len(values) < len(ids):
        missing = {id_: str(found.values.get(id_) or "not in the reply") for id_ in ids if id_ not in values}
    off = why_off_scale(values, scale)
    if reason := off or (WORDS_AROUND if found.surplus else None):
        numbers = [] if missing else list(scores.values())
        are_low = all(scale[0] <= number <= scale[1] and number % 1 == 0 for number in numbers)
        counts = are_low if off else any(number > scale[0] for number in numbers)  # zeros alone may be a refusal
        missing, doubted = dict.fromkeys(ids, reason), scores if numbers and counts else {}
        return ScoreReading({}, missing, "rejected", explanations, reason, doubt=True, truncated=cut, doubted=doubted)
    return ScoreReading(
        scores,
        missing,
        "partial" if missing else found.outcome,
        explanations,
        "; ".join(dict.fromkeys(missing.values())) or None,
        truncated=cut and bool(missing),
    )


# --- explanations ----------------------------------------------------------------------------------------------------

_SCORED: Final = (
    rf"[*_\"'`]{{0,3}}(?:\s?\([^()\n]{{0,20}}\))?(?:\s{{0,3}}(?:[:：=]{{1,2}}|->|→)|\s[–—-]\s|\sis\s(?={SCORE}\W*\Z)|(?<!s)\s(?:of\s)?(?=[\d.]{{1,5}}\s?(?:/|out\sof)\s?\d))[*_\"'`\s]{{0,4}}"
    rf"(?P<score>{SCORE})(?![\w.,:–-]*\w)"
)
_LABELLED: Final = re.compile(rf"(?<![^\W_])scores?(?![\w-]){_SCORED}", re.IGNORECASE)
_OF_HUNDRED: Final = re.compile(r"(?:[:：]|\A)\W{0,6}(?P<score>\d[\d.]{0,4}\s?(?:/|out of)\s?100)(?!\d|\s?\w)")
"""A score out of 100, and no ``probability of 37/100``."""
_NAMED: Final = re.compile(r"(?<!\w)(\w+)(?:['’]s)?[\W_]{0,8}\Z")


def _is_contradicted(id_: str, values: Mapping[str, Value], words: str, remark: str, scale: Scale) -> bool:
    """Whether a candidate's explanation states another score, labelled by the key that the prompt asked for or out of
    100, or that or the ``remark`` about all one labelled by the candidate.

    A score after another candidate's name is that one's; a number off the scale is none. No score beside
    nothing but a refusal to evaluate is one, nor the lowest beside any.
    """
    if (len(words) < 120 and REFUSED.fullmatch(words.strip())) or (
        values[id_].number == scale[0] and (REFUSES.match(words) or REFUSES.match(remark))
    ):
        return True
    stated = list(_LABELLED.finditer(words[:4000])) if "score" in words.lower() else []
    of_hundred = list(_OF_HUNDRED.finditer(words[:4000])) if scale[1] == 100 and "100" in words else []
    stated += of_hundred if len(of_hundred) == 1 else []  # several are of its criteria
    if id_ in words or id_ in remark:
        labelled = rf"(?<!\w){re.escape(id_)}[*_\"'`]{{0,3}}\s?[:：=]\s?(?P<score>{SCORE})[\s*_.]*(?:\Z|[\n;])"
        stated += re.finditer(labelled, f"{words[:4000]}\n{remark[:4000]}")
    for match in stated[:20]:
        counter, named = read_value(match["score"], scale), _NAMED.search(match.string[: match.start()][-80:])
        number = values.get(named[1] if named else id_, values[id_]).number
        stated_number = counter.number if isinstance(counter, Value) else number
        if scale[0] <= stated_number <= scale[1] and not math.isclose(stated_number, number, abs_tol=1e-9):
            return True
    return False


# --- the JSON that was asked for -------------------------------------------------------------------------------------


_FEW: Final = 256
"""The most ids for which the whole text is searched for each of them."""


def _as_asked(text: str, ids: tuple[str, ...], scale: Scale) -> _Found | None:  # noqa: PLR0911 - one guard a line
    """Return the verdict of a reply that is exactly the JSON asked for, the short path that most replies take.

    orjson keeps the last of repeated keys, so a key must not occur more often than it can without repetition.
    """
    if len(text) > LIMIT or "\\u" in text or len(ids) > _FEW:
        return None
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(document, dict) or not document.keys() <= {"scores", "explanations"}:
        return None
    scores, explanations = document.get("scores"), document.get("explanations", {})
    if not isinstance(scores, dict) or not isinstance(explanations, dict) or len(scores) != len(ids):
        return None
    if text.count('"scores"') != 1 or text.count('"explanations"') != ("explanations" in document):
        return None
    values: dict[str, Value | str] = {}
    for id_ in ids:
        number = scores.get(id_)
        times = 1 + (id_ in explanations)
        if type(number) not in (int, float) or text.count(f'"{id_}"') != times or "\\" in id_:
            return None
        values[id_] = read_value(number, scale)
    if not all(id_ in values and isinstance(words, str) for id_, words in explanations.items()):
        return None
    return _Found(values, explanations)


# --- JSON in other forms, and lines ----------------------------------------------------------------------------------

_MAX_ROWS: Final = 20_000
_MAX_DEPTH: Final = 4
_TOPS: Final = ("max_score", "maximum_score", "score_max", "max", "maximum", "max_points", "out_of", "scale")
_WRAPPERS: Final = frozenset(
    {"attempts", "result", "results", "evaluation", "evaluations", "output", "response", "verdict"}
)
_SCORES: Final = re.compile(r"score|^(?:(?:final|overall|adjusted|revised|corrected)_?)?(?:rating|grade)?$")
"""Keys whose number beside a candidate's score must be the same."""
_NO_SCORES: Final = frozenset({"index", "idx", "rank", "position", "place", "confidence", *_TOPS})
_EXPLAINED: Final = EXPLAINING | {"explanations"}
_BESIDE: Final = _EXPLAINED | {"scores", "score", "error", "errors", "refusal", *_TOPS}
"""Keys that say nothing about the scores beside them."""
_NAMING: Final = re.compile(rf"{NOUN}|(?:\w+_|{NOUN})?(?:id|name|key|label)")
_ID: Final = re.compile(rf"(?:\w+_|{NOUN})?id|attempt")
_ROW: Final = re.compile(
    rf"[\s*_•|-]{{0,8}}(?:\d{{1,3}}[.)]\s[*_`]{{0,3}})?(?P<name>[^:：=|\t]{{1,60}}?)[*_`\"')\]]{{0,4}}\s{{0,3}}(?:[:：=|\t]|\s[–—-]\s|(?<=\))\s)[*_`\s]{{0,6}}"
    rf"(?P<score>\[{{0,2}}{SCORE}\]{{0,2}})[*_`\s.,;|]{{0,6}}"
)
_LABEL: Final = re.compile(
    rf"[\s*_#•-]{{0,8}}(?P<label>[A-Za-z][\w ()/&'-]{{0,40}}?)[*_`]{{0,3}}\s{{0,2}}(?::|=|\bis\b:?)[*_`\s]{{0,5}}"
    rf"(?P<score>\[{{0,2}}{SCORE}\]{{0,2}})[*_`\s.]{{0,4}}"
)
_RULER: Final = re.compile(r"[\s|:+=_-]*")


class _Reader:
    """Reads the verdict of a reply about one set of candidates on one scale.

    ``is_whole``: the reply is known not to be cut off, so that a number at its very end is trusted.
    """

    def __init__(self, names: Names, scale: Scale, *, is_whole: bool) -> None:
        self.names = names
        self.scale = scale
        self.is_whole = is_whole
        short = "?" if scale[1] >= 10 else ""  # score_1 may be the first of several
        self.score_key = re.compile(rf"score(?:_(?:{scale[0]:g}_(?:to_)?|out_of_){short}{scale[1]:g})?")

    def read(self, text: str) -> _Found:
        """Return the verdict in a reply. Raises Rejected if there is none, or more than one."""
        is_mark = re.fullmatch(r"\s*\[\[[^\[\]]{0,40}\]\]\s*", text) is not None
        whole = parse_strict_json(strip_fence(text)) if len(text) <= LIMIT and not is_mark else None
        if isinstance(whole, str):  # the document was encoded twice
            text, whole = whole, parse_strict_json(whole)
        if isinstance(whole, dict | list):
            read = self._node(whole, whole=True)
            if not read.is_verdict():
                raise Rejected(_OTHER_KEYS)
            return read
        body = answer_of(text)
        documents = find_documents(body)
        if documents and (reading := self._documents(body, documents)):
            return reading
        if "{" in body:
            raise Rejected(_OTHER_KEYS)
        return self._lines(body, is_whole=self.is_whole or not text.endswith(body))

    # --- documents ---

    def _documents(self, body: str, documents: Sequence[Document]) -> _Found | None:
        """Return the verdict in the documents of a reply: one, or one row each. None if no document has scores."""
        if documents[-1].node is None:
            raise Rejected("the JSON of the reply is too damaged to be read", doubt=True)
        inner = strip_fence(body)
        alone = len(documents) == 1 and documents[0].end - documents[0].start == len(inner)
        read = [(document, self._node(document.node, whole=alone)) for document in documents]
        verdicts = [(document, part) for document, part in read if part.is_verdict()]
        is_closed = body.rstrip("`~ \n")[-1:] in ("}", "]") and read[-1][1].values.keys() == self.names.known.keys()
        if documents[-1].cut and not is_closed:  # more than brackets is missing
            raise Rejected("the reply ends inside its verdict", truncated=True)
        has_key = any(plain_key(key) in ("scores", "score") for doc in documents for key, _ in pairs_of(doc.node))
        if not verdicts:
            return None
        if not has_key and is_headed(body[: documents[0].start]):
            raise Rejected(WORDS_AROUND, doubt=True)
        verdict = verdicts[0][1]
        for _, later in verdicts[1:]:
            for id_, value in later.values.items():
                verdict.add(id_, value)
            verdict.doubts += later.doubts
            verdict.explanations |= later.explanations
            verdict.ranks |= later.ranks
            verdict.surplus |= later.surplus
            verdict.remark += later.remark
        verdict.outcome = "strict" if all(document.strict for document, _ in verdicts) else "repaired"
        verdict.surplus |= len(verdicts) < len(documents) or has_words_around(body, documents)
        return verdict

    def _node(self, node: Any, *, whole: bool, depth: int = 0) -> _Found:
        """Return the verdict in a JSON document; ``whole``: the reply is nothing else, so that position may count."""
        reading = self._verdict(node, whole=whole, depth=depth)
        owner = self.names.ids[0] if len(self.names.ids) == 1 else None
        if reading.values and self._differs(node, reading.values, owner):
            reading.surplus = True  # what explanations count need not be scores
            node = Pairs(pair for pair in pairs_of(node) if plain_key(pair[0]) not in _EXPLAINED) or node
            if self._differs(node, reading.values, owner):
                reading.doubts.insert(0, TWO_VERDICTS)
        return reading

    def _differs(self, node: Any, values: Mapping[str, Value | str], owner: str | None, depth: int = 0) -> bool:
        """Whether a node gives a candidate another score than ``values``. ``owner``: whose object the node is in."""
        if depth > _MAX_DEPTH:
            return False
        if is_list(node):
            return any(self._differs(item, values, None, depth + 1) for item in node if isinstance(item, dict | list))
        pairs = list(pairs_of(node))[:_MAX_ROWS]
        _, owners = self._named_by({plain_key(key): value for key, value in pairs})
        owner = owners.pop() if len(owners) == 1 else owner
        for key, value in pairs:
            plain, id_ = plain_key(key), self.names.match(key)
            if isinstance(value, dict | list):
                if plain == "explanations":
                    value = Pairs(pair for pair in pairs_of(value) if not isinstance(pair[1], str))  # noqa: PLW2901 - less words
                are_parts = owner is not None and id_ is None and self._are_parts(value, owner)
                if not are_parts and self._differs(value, values, id_ or owner, depth + 1):
                    return True
            elif known := values.get(id_ or (owner if _SCORES.search(plain) and plain not in _TOPS else None) or ""):
                stated = read_value(value, self.scale, known.top if isinstance(known, Value) else None)
                if isinstance(stated, Value) and stated != known:
                    return True
        return False

    def _are_parts(self, node: Any, owner: str) -> bool:
        """Whether an object within a candidate's is about its parts, such as tests or criteria, whatever their keys."""
        named = {self.names.match(key) for key, _ in pairs_of(node)} - {None}
        has_inner = any(isinstance(value, dict | list) for _, value in pairs_of(node))
        return bool(named - {owner}) or (has_inner and not named)

    def _verdict(self, node: Any, *, whole: bool, depth: int) -> _Found:
        reading = _Found()
        if not pairs_of(node):
            self._list(list(node) if is_list(node) else (), reading, whole=whole)
            return reading
        fields = self._fields(node, reading)
        if fields.get("role") in ("user", "system", "tool", "developer"):
            return _Found()
        if "scores" not in fields and (inner := _wrapped(fields)) is not None and depth < _MAX_DEPTH:
            wrapped = self._node(inner, whole=whole and "arguments" in fields, depth=depth + 1)
            wrapped.doubts += reading.doubts
            return wrapped
        if "score" in fields and "scores" not in fields:
            self._row(node, reading, alone=len(self.names.ids) == 1)
            return reading
        scores, top = fields.get("scores", node), _stated_top(fields)
        if is_list(fields.get("score")):
            reading.doubts.append(TWO_VERDICTS)
        if is_list(scores):
            self._list(scores, reading, whole=whole, beside=fields, top=top)
        else:
            self._keyed(list(pairs_of(scores)), reading, top)
        reading.surplus |= not all(
            key in _BESIDE
            or self.names.match(key) is not None
            or value in (None, "")
            or (
                key.endswith(("id", "ids", "names"))
                and is_list(value)
                and {*map(self.names.match, value)} == {*self.names.ids}
            )
            for key, value in fields.items()
        )
        if reading.surplus and reading.values:  # they may state another scale, or that the scores are void
            reading.doubts.append(OTHER_KEYS)
        reading.remark = "\n".join(
            words for key, words in fields.items() if key in _EXPLAINED and isinstance(words, str)
        )
        for key, words in pairs_of(fields.get("explanations")):
            id_ = self.names.match(key)
            if id_ is not None and isinstance(words, str):
                reading.explanations.setdefault(id_, words)
        return reading

    def _fields(self, node: Any, found: _Found) -> dict[str, Any]:
        """Return an object's values by plain key. A key with two values, and an error, are doubts."""
        fields: dict[str, Any] = {}
        for key, value in list(pairs_of(node))[:_MAX_ROWS]:
            # NaN is not equal to itself, but its text is.
            if repr(fields.setdefault(plain_key(key), value)) != repr(value) and self.names.match(key) is None:
                found.doubts.append("a key that occurs twice with different values")
        if any(fields.get(key) for key in ("error", "errors", "refusal", "refused")):
            found.doubts.append(ERROR_BESIDE)
        return fields

    def _keyed(self, pairs: Sequence[tuple[Any, Any]], found: _Found, top: float | None = None) -> None:
        """Read an object keyed by candidate: ``{"1": 0.9, "2": {"score": 0.4}}``."""
        strangers = 0
        fields = self._fields(Pairs(pair for pair in pairs if self.names.match(pair[0]) is None), found)
        top = _stated_top(fields, top)
        for key, value in pairs[:_MAX_ROWS]:
            id_ = self.names.match(key)
            if id_ is None:
                found.surplus |= plain_key(key) not in _BESIDE
                strangers += plain_key(key) not in _TOPS and _may_be_score(value, self.scale)
            elif isinstance(value, dict) or pairs_of(value):
                self._row(value, found, id_, top)
            else:
                found.add(id_, read_value(value, self.scale, top))
        if strangers and found.values:
            found.doubts.append("a score for a candidate that was not asked about")

    def _list(
        self,
        items: Sequence[Any],
        found: _Found,
        *,
        whole: bool,
        beside: Mapping[str, Any] | None = None,
        top: float | None = None,
    ) -> None:
        """Read a list of rows, of pairs, or of one value per candidate in the order asked for."""
        if len(items) > _MAX_ROWS:
            return
        before = len(found.doubts)
        for item in items:
            if pairs_of(item):
                self._row(item, found, top=top)
            elif is_list(item) and len(item) == 2 and isinstance(item[0], str) and (id_ := self.names.match(item[0])):
                found.add(id_, read_value(item[1], self.scale, top))
        if found.values or not whole or len(items) != len(self.names.ids):
            return
        ids = self._listed_ids(beside or {})
        rows = [_nameless_score(item) for item in items]
        if len(ids) == len(items) and None not in ids and len(set(ids)) == len(ids) and _ABSENT not in rows:
            del found.doubts[before:]
            for id_, item in zip(ids, rows, strict=True):
                found.add(str(id_), read_value(item, self.scale, top))

    def _listed_ids(self, beside: Mapping[str, Any]) -> Sequence[str | None]:
        """Return the candidates in the order of a list of their ids beside their scores, or in that asked for.

        Raises Rejected if anything else names them in another order.
        """
        ids: Sequence[str | None] = self.names.ids
        for key, value in beside.items():
            names = list(value) if is_list(value) else [name for name, _ in pairs_of(value)]
            named = [self.names.match(name.partition(":")[0] if isinstance(name, str) else name) for name in names]
            if key.endswith(("id", "ids", "names")) and is_list(value):
                ids = named
            elif key != "scores" and named != list(self.names.ids) and {*named} == {*self.names.ids}:
                raise Rejected("scores by position beside names in another order", doubt=True)
        return ids

    def _row(
        self, node: Any, found: _Found, id_: str | None = None, top: float | None = None, *, alone: bool = False
    ) -> None:
        """Read one candidate's object: its own id or the key it stands under, its score, its explanation."""
        fields = self._fields(node, found)
        if id_ is None and len(fields) == 1 and (named := self.names.match(next(iter(dict(pairs_of(node)))))):
            found.add(named, read_value(next(iter(fields.values())), self.scale, top))
            return
        names, owners = self._named_by(fields)
        scores = [value for key, value in fields.items() if self.score_key.fullmatch(key)]
        alone = alone and not owners and not any(_ID.fullmatch(key) for key in fields)
        owners |= {id_} if id_ is not None else {self.names.ids[0]} if alone else set()
        if len(owners) != 1 or not (scores or id_):
            if scores:
                found.doubts.append("a row that names no candidate, or two")
            return
        score = scores[0] if len(scores) == 1 else fields.get("score")
        value = read_value(score, self.scale, _stated_top(fields, top))
        (owner,) = owners
        found.add(owner, value)
        found.add_rank(owner, fields)
        words = [text for key, text in fields.items() if isinstance(text, str) and key not in names and key != "score"]
        if words:
            found.explanations[owner] = "\n".join(words)

    def _named_by(self, fields: Mapping[str, Any]) -> tuple[set[str], set[str]]:
        """Return the keys of a row's fields that name candidates, and the candidates that the row may be about."""
        names = {
            key: match
            for key, value in fields.items()
            if _NAMING.fullmatch(key) and not isinstance(value, dict | list) and (match := self.names.match(value))
        }
        return set(names), set(names.values())

    # --- lines ---

    def _lines(self, body: str, *, is_whole: bool) -> _Found:
        """Return the verdict of a reply that is one line or table row an id, or one number for a single candidate."""
        lines = [line for line in strip_fence(body).split("\n") if not _RULER.fullmatch(line.strip("`~"))]
        if not lines or len(lines) > _MAX_ROWS:
            raise Rejected("no verdict in the reply")
        if len(self.names.ids) == 1 and (alone := self._single(lines)):
            return alone
        if len(lines) == 1:
            if reading := self._in_order(lines[0]):
                return reading
            lines = re.split(r"[,;](?=\s*[^\d\s])", lines[0])
        reading = _Found(outcome="text")
        header, lines = _header(lines, self.score_key)
        for line in lines:
            self._line(line[:300], header, reading)
        tops = [getattr(value, "top", None) for value in reading.values.values()]
        is_whole |= None not in tops and len(set(tops)) == 1 < len(tops)  # each number ends with the same scale
        if not is_whole and re.search(r"\d\Z|\b0\.\Z", body) and (last := _ROW.fullmatch(lines[-1][:300])):
            reading.values.pop(self.names.match(last["name"]) or "", None)
        if not reading.values:
            raise Rejected("no verdict in the reply")
        if reading.surplus and reading.values.keys() != self.names.known.keys():
            raise Rejected(WORDS_AROUND, doubt=True)
        return reading

    def _line(self, line: str, header: Sequence[str], found: _Found) -> None:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if header and len(cells) == len(header):
            keys = [key for key in header if _NAMING.fullmatch(key)] or [""]  # a column headed "#"
            naming = [cell for key, cell in zip(header, cells, strict=True) if key in keys]
            named = {id_ for cell in naming or cells if (id_ := self.names.match(cell))}
            if len(named) > 1 or not (naming or any(not id_.isdecimal() for id_ in named)):
                raise Rejected("a row that may be about two candidates, or none", doubt=True)
            name, score = (named.pop() if named else naming[0]), cells[header.index("score")]
            found.add_rank(self.names.match(name) or "", dict(zip(header, cells, strict=True)))
        elif row := _ROW.fullmatch(line):
            name, score = row["name"], row["score"]
        elif not found.values and is_headed(line):
            raise Rejected(WORDS_AROUND, doubt=True)
        else:
            if re.fullmatch(r"\W*(?:\w+\s)?scores?\W+[\d\W]*\d\W*", line, re.IGNORECASE):
                found.doubts.append(TWO_VERDICTS)
            found.surplus = True
            return
        id_ = self.names.match(name)
        if id_ is not None:
            found.add(id_, read_value(score, self.scale))
        elif re.fullmatch(rf"\W*(?:{NOUN}\W{{0,3}})?[A-Za-z\d]{{1,3}}\W*", name, re.IGNORECASE):
            found.doubts.append("a score for a candidate that was not asked about")
        else:
            found.doubts.append(OTHER_KEYS)

    def _in_order(self, line: str) -> _Found | None:
        """Read a reply that is only numbers, one for each candidate in order."""
        numbers = re.split(r"[,;]", line.strip(" []()"), maxsplit=len(self.names.ids))
        if len(numbers) != len(self.names.ids):
            return None
        values = {id_: read_value(number, self.scale) for id_, number in zip(self.names.ids, numbers, strict=True)}
        return _Found(dict(values), outcome="text") if all(isinstance(v, Value) for v in values.values()) else None

    def _single(self, lines: Sequence[str]) -> _Found | None:
        """Read the score of a single candidate: a number alone, or a labelled number on the last line."""
        (id_,) = self.names.ids
        last = lines[-1].strip()[:300]
        value = read_value(last.strip(" .*_`"), self.scale)
        if len(lines) == 1 and isinstance(value, Value):
            return _Found({id_: value}, outcome="text")
        labelled = {line: label for line in lines if (label := _LABEL.fullmatch(line.strip()[:300]))}
        if lines[-1] not in labelled:
            return None
        named = re.compile(rf"score|rating|^{re.escape(id_)}$", re.IGNORECASE)
        scored = [match for match in labelled.values() if named.search(match["label"])]
        if not scored and (self.scale[1] >= 100 or plain_key(labelled[lines[-1]]["label"]) in _NO_SCORES):
            raise Rejected("a last line whose label does not say that its number is a score", doubt=True)
        values = {read_value(match["score"], self.scale) for match in scored or labelled.values()}
        if len(values) > 1:
            raise Rejected(TWO_VERDICTS, doubt=True)
        return _Found({id_: values.pop()}, outcome="text", remark="\n".join(lines[:-1]))


_ABSENT: Final = object()


def _nameless_score(item: Any) -> Any:
    """Return the score of a list's item without an id, or ``_ABSENT`` if the item is anything else."""
    if not pairs_of(item):
        return _ABSENT if isinstance(item, dict | list) else item
    fields = {plain_key(key): value for key, value in pairs_of(item)}
    return fields["score"] if "score" in fields and fields.keys() <= EXPLAINING | {"score"} else _ABSENT


def _wrapped(fields: Mapping[str, Any]) -> dict[Any, Any] | list[Any] | None:
    """Return what a tool call's arguments or a wrapper around a whole reply contains, or None."""
    if "arguments" in fields and "name" in fields:
        inner = fields["arguments"]
        inner = parse_strict_json(inner) if isinstance(inner, str) else inner
        return inner if isinstance(inner, dict | list) else None
    if len(fields) != 1 or next(iter(fields)) not in _WRAPPERS:
        return None
    (inner,) = fields.values()
    are_rows = [("score" in dict(pairs_of(row))) for _, row in pairs_of(inner)]
    keys = {plain_key(key) for key, _ in pairs_of(inner)}  # numbers by candidate alone may be anything
    is_table = is_list(inner) or (len(keys) < _MAX_DEPTH and keys & {"scores", *_WRAPPERS})
    return inner if is_table or (are_rows and all(are_rows)) else None


def _stated_top(fields: Mapping[str, Any], outer: float | None = None) -> float | None:
    """Return the top of the scale that an object states for its scores, by default that of the object around it.

    -1, a scale that every score is off, if it states two tops, or what is none.
    """
    tops = set()
    for stated in (fields[key] for key in _TOPS if fields.get(key) is not None):
        match = re.fullmatch(r"\s*(?:0\s?(?:-|–|to|\.\.)\s?)?(\d{1,4}(?:\.\d)?)\s*", str(stated))
        tops.add(float(match[1]) if match and float(match[1]) else -1.0)
    return outer if not tops else tops.pop() if len(tops) == 1 else -1.0


def _may_be_score(value: Any, scale: Scale) -> bool:
    """Whether a value under an unknown key looks like a score of somebody."""
    if pairs_of(value):
        return any("score" in plain_key(key) for key, _ in pairs_of(value))
    return isinstance(read_value(value, scale), Value)


def _header(lines: Sequence[str], score_key: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Return the plain keys of a table's header, and the rows below it; no keys if the lines are no such table.

    A line that introduces the rows is skipped. Raises Rejected if a line above them names something else, or if the
    header does not name one column of scores.
    """
    is_introduced = len(lines) > 1 and is_introduction(lines[0])
    first = lines[is_introduced].strip()
    if first.count("|") < 1 or (re.search(r"\d", first) and "score" not in first.lower()):
        is_above = [bool(_ROW.fullmatch(line[:300])) for line in lines[:2]] == [False, True] and not is_introduced
        if is_above and first.rstrip("*_")[-1:] not in ".!?。" and is_headed(f"{first}:"):
            raise Rejected(WORDS_AROUND, doubt=True)
        return [], list(lines[is_introduced:])
    cells = [score_key.sub("score", plain_key(cell)) for cell in first.strip("|").split("|")]
    if sum("score" in cell for cell in cells) != 1 or "score" not in cells:
        raise Rejected("a table without one column of scores", doubt=True)
    return cells, list(lines[is_introduced + 1 :])

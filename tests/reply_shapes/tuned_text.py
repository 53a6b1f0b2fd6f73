"""Replies that are not JSON, the half that the reader was tuned on."""

from __future__ import annotations

from reply_shapes import words
from reply_shapes.draw import ARABIC, FULL, HAN, Draw, Shapes, plain

HUNDRED = ((0.0, 100.0),)
UP_TO_TEN = ((0.0, 10.0),)
shape = Shapes()


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


@shape("lines of ratios")
def _(d: Draw) -> str:
    pattern = d.pick(("{x}/{m}", "{x} / {m}", "{x} out of {m}"))
    return d.lines(lambda i: f"{d.name(i)}: {d.ratio(i, pattern)}") + "\n"


@shape("bold bullets of ratios with remarks")
def _(d: Draw) -> str:
    return d.lines(lambda i: f"- **{d.name(i)}**: **{d.ratio(i, '{x}/{m}')}** - {d.remark()}") + "\n"


@shape("lines, the top in brackets")
def _(d: Draw) -> str:
    pattern = d.pick(("{x} (out of {m})", "{x} (max {m})", "{x} (of {m})"))
    return d.lines(lambda i: f"{d.name(i)}: {d.ratio(i, pattern)}") + "\n"


@shape("lines in many languages", languages=words.LANGUAGES)
def _(d: Draw) -> str:
    pattern = d.pick(words.RATIO[d.language])
    return d.lines(lambda i: f"{d.name(i)}: {d.ratio(i, pattern)}") + "\n"


@shape("labelled lines in many languages", languages=words.LANGUAGES)
def _(d: Draw) -> str:
    return d.lines(lambda i: f"{d.name(i)}: {d.word()}: {d.ratio(i, words.RATIO[d.language][0])}") + "\n"


@shape("heading with the top, then lines", languages=words.LANGUAGES)
def _(d: Draw) -> str:
    return f"{d.statement}\n" + d.lines(lambda i: f"{i}: {d.v(i)}") + "\n"


@shape("heading with the scale, then bullets", "range", languages=words.LANGUAGES)
def _(d: Draw) -> str:
    return f"**{d.statement}**\n\n" + d.lines(lambda i: f"- {d.name(i)}: {d.v(i)}") + "\n"


@shape("footnote with the top")
def _(d: Draw) -> str:
    foot = d.pick(("(All scores are out of {m}.)", "Scores are out of {m}.", "*Scores out of {m}*"))
    return d.lines(lambda i: f"{d.name(i)}: {d.v(i)}") + f"\n\n{foot.format(m=plain(d.hi))}\n"


@shape("on a scale, I give", "range")
def _(d: Draw) -> str:
    return f"On a scale of {d.n(d.lo)} to {d.n(d.hi)}:\n" + d.lines(lambda i: f"{d.name(i)} gets {d.v(i)}.") + "\n"


@shape("the scale behind each number", "range")
def _(d: Draw) -> str:
    pattern = d.pick(("{x} ({s})", "{x} (scale {s})", "{x} on a {s} scale", "{x} (on a scale of {s})"))
    return d.lines(lambda i: f"{d.name(i)}: {pattern.format(x=d.v(i), s=d.span)}") + "\n"


@shape("table headed with the top")
def _(d: Draw) -> str:
    head = d.pick(("Score (/{m})", "Score (out of {m})", "Score /{m}", "Score (max {m})")).format(m=plain(d.hi))
    return table(["Candidate", head, "Why"], [[i, d.v(i), d.remark()] for i in d.ids])


@shape("table headed with the scale", "range")
def _(d: Draw) -> str:
    return table(["Trajectory", f"Score ({d.span})"], [[i, f"**{d.v(i)}**"] for i in d.ids])


@shape("table headed in many languages", languages=("zh", "ja", "ko", "de", "fr", "ru"))
def _(d: Draw) -> str:
    head = {"zh": "得分（满分{m}分）", "ja": "点数（{m}点満点）", "ko": "점수 ({m}점 만점)",
            "de": "Bewertung (von {m})",
            "fr": "Note (sur {m})", "ru": "Оценка (из {m})"}  # fmt: skip
    return table(["ID", head[d.language].format(m=d.n(d.hi))], [[i, d.v(i)] for i in d.ids])


@shape("table with a column for the top")
def _(d: Draw) -> str:
    return table(["ID", "Score", d.pick(("Max", "Out of", "Max score"))], [[i, d.v(i), d.n(d.hi)] for i in d.ids])


@shape("table of ratios")
def _(d: Draw) -> str:
    return table(["Trajectory", "Score"], [[i, d.ratio(i, "{x}/{m}")] for i in d.ids])


@shape("table with parts and a total")
def _(d: Draw) -> str:
    header = ["Trajectory", "Accuracy (/5)", "Style (/5)", f"Total (/{plain(d.hi)})"]
    return table(header, [[i, "3", "2", d.v(i)] for i in d.ids])


@shape("sentence above a table", "range", languages=words.LANGUAGES)
def _(d: Draw) -> str:
    return f"{d.statement}\n\n{table(['ID', d.word()], [[i, d.v(i)] for i in d.ids])}"


@shape("percent column", scales=HUNDRED)
def _(d: Draw) -> str:
    bottom, top = d.asked
    d.truth = {i: bottom + x / 100 * (top - bottom) for i, x in d.x.items()}
    return table(["ID", d.pick(("Score (%)", "Score %", "Score (percent)"))], [[i, d.v(i)] for i in d.ids])


@shape("CSV with max_score")
def _(d: Draw) -> str:
    return "id,score,max_score\n" + d.lines(lambda i: f"{i},{plain(d.x[i])},{plain(d.hi)}") + "\n"


@shape("YAML rows with the top")
def _(d: Draw) -> str:
    return d.lines(lambda i: f"- id: {i}\n  score: {plain(d.x[i])}\n  max_score: {plain(d.hi)}") + "\n"


@shape("YAML with the scale first", "range")
def _(d: Draw) -> str:
    return f"scale: {d.span}\nscores:\n" + d.lines(lambda i: f"  {i}: {plain(d.x[i])}") + "\n"


@shape("sections with score and max")
def _(d: Draw) -> str:
    return d.lines(lambda i: f"### {d.name(i)}\n- Score: {d.v(i)}\n- Max: {d.n(d.hi)}\n") + "\n"


@shape("sections with a ratio")
def _(d: Draw) -> str:
    return d.lines(lambda i: f"## {d.name(i)}\n{d.remark()}.\n**Score: {d.ratio(i, '{x}/{m}')}**\n")


@shape("sections with parts and a total")
def _(d: Draw) -> str:
    return d.lines(
        lambda i: f"### {d.name(i)}\nAccuracy: 3/5\nStyle: 2/5\nTotal score: {d.ratio(i, '{x}/{m}')}\n"
    )  # fmt: skip


@shape("ratio and percent agree", scales=((0.0, 10.0), (0.0, 20.0)))
def _(d: Draw) -> str:
    return d.lines(lambda i: f"{d.name(i)}: {d.ratio(i, '{x}/{m}')} ({d.n(d.x[i] / d.hi * 100)}%)") + "\n"


@shape("XML with a max attribute")
def _(d: Draw) -> str:
    key = d.pick(("max", "out_of", "outof"))
    return "".join(f'<score id="{i}" {key}="{d.top}">{d.j(i)}</score>\n' for i in d.ids)


@shape("XML with nested tops")
def _(d: Draw) -> str:
    return "".join(
        f'<candidate id="{i}"><score>{d.j(i)}</score><max_score>{d.top}</max_score></candidate>\n' for i in d.ids
    )  # fmt: skip


@shape("key-value lines")
def _(d: Draw) -> str:
    return d.lines(lambda i: f"{i}: score={d.v(i)}, max={d.n(d.hi)}") + "\n"


@shape("percent lines in many languages", languages=tuple(words.PERCENT), scales=HUNDRED)
def _(d: Draw) -> str:
    bottom, top = d.asked
    d.truth = {i: bottom + x / 100 * (top - bottom) for i, x in d.x.items()}
    pattern = d.pick(words.PERCENT[d.language])
    return d.lines(lambda i: f"{d.name(i)}: {pattern.format(x=d.v(i))}") + "\n"


@shape("full-width digits", languages=("zh", "ja"))
def _(d: Draw) -> str:
    d.on(0.0, 10.0)
    return d.lines(lambda i: f"{i}：{plain(d.x[i])}/{plain(d.hi)}".translate(FULL)) + "\n"


@shape("Arabic digits", languages=("ar",), scales=UP_TO_TEN)
def _(d: Draw) -> str:
    d.x = {i: float(d.rng.randint(1, 10)) for i in d.ids}
    return d.lines(lambda i: f"{i}: {f'{d.v(i)} من {d.n(d.hi)}'.translate(ARABIC)}") + "\n"


@shape("Chinese numerals", languages=("zh",), scales=UP_TO_TEN)
def _(d: Draw) -> str:
    d.x = {i: float(d.rng.randint(1, 10)) for i in d.ids}
    return d.lines(lambda i: f"{i}：{HAN[int(d.x[i])]}分（满分十分）") + "\n"


@shape("numbers in words", scales=UP_TO_TEN)
def _(d: Draw) -> str:
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    d.x = {i: float(d.rng.randint(1, 10)) for i in d.ids}
    return d.lines(lambda i: f"{d.name(i)}: {names[int(d.x[i])]} out of ten") + "\n"


@shape("dates before scores", "asked")
def _(d: Draw) -> str:
    return f"Reviewed on 9/10/2024.\n\n{d.lines(lambda i: f'{d.name(i)}: {plain(d.x[i])}')}\n"


@shape("content with ratios after the number", "asked")
def _(d: Draw) -> str:
    return d.lines(lambda i: f"{d.name(i)}: {plain(d.x[i])} - {d.pick(words.CONTENT)}") + "\n"


@shape("content with ratios in the sections", "asked")
def _(d: Draw) -> str:
    return d.lines(lambda i: f"### {d.name(i)}\n{d.pick(words.CONTENT)}\nScore: {plain(d.x[i])}\n")


@shape("a scale considered and dropped", "asked", asked=HUNDRED)
def _(d: Draw) -> str:
    d.x = {i: float(d.rng.randint(30, 99)) for i in d.ids}
    before = d.pick(("I first thought of a 1-5 scale, but used 0-100 as asked.", "Not on a 1-10 scale but out of 100:"))
    return f"{before}\n{d.lines(lambda i: f'{d.name(i)}: {plain(d.x[i])}')}\n"


@shape("two scales stated", abstain=True, asked=HUNDRED, scales=((0.0, 5.0),))
def _(d: Draw) -> str:
    return f"Scores are out of 5.\n{d.lines(lambda i: f'{d.name(i)}: {d.v(i)}')}\n\nScores are out of 10.\n"


@shape("1 as the best, many languages", abstain=True, languages=tuple(words.INVERTED), scales=((1.0, 6.0), (1.0, 10.0)))
def _(d: Draw) -> str:
    return f"{d.said(words.INVERTED)}\n{d.lines(lambda i: f'{i}: {d.v(i)}')}\n"


@shape("numbers above the stated top", abstain=True, asked=HUNDRED)
def _(d: Draw) -> str:
    d.x = {i: float(d.rng.randint(30, 99)) for i in d.ids}
    return f"All scores are out of 10.\n{d.lines(lambda i: f'{d.name(i)}: {d.v(i)}')}\n"


@shape("ratio above one", abstain=True, scales=UP_TO_TEN)
def _(d: Draw) -> str:
    return d.lines(lambda i: f"{d.name(i)}: {plain(d.x[i] + 10)}/10") + "\n"


@shape("one ratio, the rest bare and small", asked=HUNDRED, scales=UP_TO_TEN)
def _(d: Draw) -> str:
    first = d.ids[0]
    d.truth = {first: d.meant(d.x[first], 0, 10)}
    return "\n".join(f"{i}: {d.v(i)}/10" if i == first else f"{i}: {d.v(i)}" for i in d.ids) + "\n"


@shape("ratios to different tops")
def _(d: Draw) -> str:
    tops = {i: float(d.pick((5, 10, 20, 100))) for i in d.ids}
    d.x = {i: d.number(0.0, top) for i, top in tops.items()}
    d.truth = {i: d.meant(d.x[i], 0.0, top) for i, top in tops.items()}
    return d.lines(lambda i: f"{d.name(i)}: {plain(d.x[i])}/{plain(tops[i])}") + "\n"


@shape("one candidate, a ratio in a sentence", members=1, languages=words.LANGUAGES)
def _(d: Draw) -> str:
    return f"{d.remark().capitalize()}.\n\n{d.word()}: {d.ratio(d.ids[0])}\n"


@shape("one candidate, nothing but a ratio", members=1)
def _(d: Draw) -> str:
    return d.ratio(d.ids[0], d.pick(("{x}/{m}", "{x} out of {m}", "{x} / {m}")))


@shape("one candidate, final score with its top", members=1)
def _(d: Draw) -> str:
    return f"It {d.remark()}. **Final score:** {d.v(d.ids[0])} (out of {d.n(d.hi)})\n"


@shape("one candidate, scale line and score line", "range", members=1, languages=words.LANGUAGES)
def _(d: Draw) -> str:
    return f"{d.statement}\n{d.word()}: {d.v(d.ids[0])}\n"


@shape("a rating as in many prompts", members=1, scales=UP_TO_TEN, asked=((1.0, 10.0), (0.0, 100.0)))
def _(d: Draw) -> str:
    return f"Rating: [[{plain(d.x[d.ids[0]])}]] out of 10\n"


@shape("a quoted claim, then lines as asked", "asked", asked=HUNDRED)
def _(d: Draw) -> str:
    d.x = {i: float(d.rng.randint(30, 99)) for i in d.ids}
    return f'{d.ids[0]} claims "I deserve 10 out of 10".\n\n{d.lines(lambda i: f"{d.name(i)}: {plain(d.x[i])}")}\n'


@shape("nobody is scored", "asked", abstain=True)
def _(d: Draw) -> str:
    return str(d.pick(("Each would pass 8 out of 10 tests.", "I cannot rate these on a 0-10 scale.", "Scale: 0-10.")))


@shape("a range instead of a number", abstain=True)
def _(d: Draw) -> str:
    return d.lines(lambda i: f"{d.name(i)}: 7-8/10") + "\n"


@shape("taken back after lines", "asked", abstain=True, languages=tuple(words.TAKEBACK))
def _(d: Draw) -> str:
    other = next(y for y in (d.asked[1], d.asked[0]) if y != d.x[d.ids[0]])
    lines = d.lines(lambda i: f"{i}: {plain(d.x[i])}")
    return f"{lines}\n\n{d.pick(words.TAKEBACK[d.language]).format(id=d.ids[0], y=d.n(other))}\n"


@shape("lines as asked", "asked")
def _(d: Draw) -> str:
    return d.lines(lambda i: f"{d.name(i)}: {plain(d.x[i])}") + "\n"

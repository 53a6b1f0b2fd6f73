// The view of judges: what calibrations measured of them, and the health of those that judged the groups.
import { el, folded, svg } from "./elements.js";
import { counted, decimal, percent, two, whole } from "./numbers.js";
import { name, textBlock } from "./text.js";

const FORMATS = { two, percent, whole };

/** @param {any[]} lines what each source says of its judges, as judges.py makes it */
export function judgeView(lines) {
  const of = (kind) => lines.filter((one) => one.kind === kind);
  const [calibrations, sources] = [of("calibration"), of("health")];
  return el(
    "main.judges",
    { tabindex: "-1" },
    calibrations.map(calibrationSection),
    sources.map(healthSection),
    calibrations.length
      ? null
      : el("p.note", {}, "Agreement with gold is not known: name the output of ", el("code", {}, "calipers calibrate GROUPS --json"), " as well."),
  );
}

function calibrationSection({ source, judges, answer, recommendation, findings, cards }) {
  const found = findings.map(([judge, text]) => el("li", {}, judge ? [name(judge, 80), ": "] : null, name(text, 600)));
  return el(
    "section",
    {},
    el("h2", {}, "Against gold"),
    el("p.answer", {}, answer ? name(answer, 2000) : `${counted(judges.length, "judge")} measured.`, el("span.quiet", {}, " ", name(source, 80))),
    recommendation ? folded("Recommendation for calipers.toml", () => textBlock(recommendation, { mono: true }), { open: true }) : null,
    found.length ? folded(counted(found.length, "finding"), () => el("ul", {}, found), { open: found.length < 4 }) : null,
    el("div.cards", {}, cards.map(card)),
  );
}

function healthSection({ source, facts, alarms, early, cards }) {
  const list = (kind, title, texts) =>
    texts.length ? el(`div.${kind}`, {}, el("h3", {}, title), el("ul", {}, texts.map((one) => el("li", {}, name(one, 600))))) : null;
  return el(
    "section",
    {},
    el("h2", {}, "In ", name(source, 80)),
    el("dl.figures", {}, facts.map(([what, value]) => el("div", {}, el("dt", {}, what), el("dd", {}, value)))),
    list("alarms", counted(alarms.length, "alarm"), alarms),
    list("note", "Too few groups to tell", early),
    el("div.cards", {}, cards.map(card)),
  );
}

/**
 * A figure with a row for each judge (or metric): its name, a dot with its interval or a bar, and the number. It is a
 * table, so it needs no other form for a screen reader, and long names wrap.
 */
function card({ title, note, rows, ...drawn }) {
  const axis = { ...drawn, range: rangeOfRows(rows, drawn) };
  const mixed = rows.some((row) => row.format);
  return el(
    "figure.chart",
    {},
    el("figcaption", {}, el("h3", {}, name(title, 120)), el("p.legend", {}, note)),
    el("table", {}, el("tbody", {}, rows.map((row) => cardRow(row, axis))), mixed ? null : el("tfoot", {}, scale(axis))),
  );
}

function rangeOfRows(rows, { range = [Infinity, -Infinity], bars, level }) {
  let [low, high] = bars ? [Math.min(0, range[0]), Math.max(0, range[1])] : range;
  for (const value of [...rows.flatMap((row) => (row.format && row.format !== "percent" ? [] : [row.value, row.low, row.high])), level?.value]) {
    if (typeof value !== "number") continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  return low === high ? [low - (bars ? 0 : 0.5), high + (bars ? 1 : 0.5)] : [low, high];
}

// Halves, because the range of numbers as large as a computer has them is infinite.
const along = (value, [low, high]) => 2 + 96 * ((value / 2 - low / 2) / (high / 2 - low / 2));

function cardRow(row, axis) {
  const format = FORMATS[row.format ?? axis.format] ?? decimal;
  const isKnown = typeof row.value === "number";
  const hasInterval = isKnown && typeof row.low === "number" && typeof row.high === "number";
  const isDrawn = isKnown && (row.format ?? "percent") === "percent";
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, name(row.name, 160)),
    el("td.plot", {}, isDrawn ? mark(row, axis, hasInterval) : null),
    el(
      "td.number",
      {},
      isKnown ? el("b", {}, format(row.value)) : el("span.quiet", {}, "not known"),
      hasInterval ? el("span.quiet", {}, ` ${format(row.low)} to ${format(row.high)}`) : null,
      row.note ? el("span.quiet", {}, isKnown ? ", " : " ", name(row.note, 300)) : null,
    ),
  );
}

function mark({ value, low, high }, { range, bars, level }, hasInterval) {
  const at = (one) => `${along(one, range).toFixed(2)}%`;
  const parts = [svg("line", { class: "axis", x1: "2%", x2: "98%", y1: 11, y2: 11 })];
  if (level) parts.push(svg("line", { class: "level", x1: at(level.value), x2: at(level.value), y1: 0, y2: 22 }));
  if (bars && value !== 0) {
    const [from, to] = [0, value].sort((a, b) => a - b).map((one) => along(one, range));
    parts.push(svg("rect", { class: "bar", x: `${from}%`, width: `${Math.max(0.4, to - from)}%`, y: 5, height: 12, rx: 2 }));
  }
  if (hasInterval) {
    parts.push(svg("line", { class: "error", x1: at(low), x2: at(high), y1: 11, y2: 11 }));
    for (const end of [at(low), at(high)]) parts.push(svg("line", { class: "error", x1: end, x2: end, y1: 7, y2: 15 }));
  }
  if (!bars) parts.push(svg("circle", { class: "score", cx: at(value), cy: 11, r: 4.5 }));
  return svg("svg", { class: "interval", "aria-hidden": "true" }, parts);
}

function scale({ range, format, level }) {
  const write = FORMATS[format] ?? decimal;
  const [low, high] = range.map((one) => el("span", {}, write(one)));
  const said = level ? el("span.level", {}, `\u2506 ${level.label}: ${write(level.value)}`) : null;
  return el("tr", { "aria-hidden": "true" }, el("td"), el("td.plot", {}, el("div.scale", {}, low, said, high)), el("td"));
}

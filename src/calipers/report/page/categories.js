// A figure with a row for each category: its name, a dot with its interval or a bar, and the number. It is a table, so
// it needs no other form for a screen reader, and long names wrap.
import { button, el, svg } from "./elements.js";
import { decimal, whole } from "./numbers.js";
import { name } from "./text.js";

const ROWS_AT_ONCE = 40;

/**
 * @typedef {Object} Category a value of null is unknown: its row says so and has no mark
 * @property {string} name
 * @property {number | null} value
 * @property {number | null} [low] the lower end of the value's interval
 * @property {number | null} [high]
 * @property {string} [note] said after the number, such as what it is of
 * @property {string} [unknown] said instead of a number that is not known
 */

/**
 * Values with intervals, or bars from zero, one row for each category.
 * @param {{title: string, note?: string, label: string, what: string, rows: Category[], range?: [number, number],
 *   bars?: boolean, format?: (value: number) => string, level?: {value: number, label: string},
 *   empty?: string}} chart `label` names the categories, `what` the value.
 */
export function categoryChart({ title, note, label, what, rows, empty, ...drawn }) {
  const made = el(
    "figure.chart.categories",
    {},
    el("figcaption", {}, el("h3", {}, name(title, 120)), note ? el("p.legend", {}, note) : null),
  );
  if (!rows.length) {
    made.append(el("p.note", {}, empty ?? "Nothing is known of this."));
    return made;
  }
  const axis = { ...drawn, range: rangeOfRows(rows, drawn) };
  const body = el("tbody");
  const more = button("", () => show(Infinity), { class: "more" });
  const show = (count) => {
    const shown = body.childElementCount;
    for (const row of rows.slice(shown, shown + count)) body.append(categoryRow(row, axis));
    const left = rows.length - body.childElementCount;
    more.textContent = `Show ${whole(left)} more`;
    if (!left) more.remove();
  };
  const heads = el(
    "tr",
    {},
    el("th", { scope: "col" }, label),
    el("th.plot"),
    el("th.number", { scope: "col" }, what),
  );
  made.append(el("table", {}, el("thead", {}, heads), body, el("tfoot", {}, categoryScale(axis))), more);
  show(ROWS_AT_ONCE);
  return made;
}

function rangeOfRows(rows, { range = [Infinity, -Infinity], bars, level }) {
  let [low, high] = bars ? [Math.min(0, range[0]), Math.max(0, range[1])] : range;
  const values = rows.flatMap((row) => [row.value, row.low, row.high]);
  for (const value of [...values, level?.value]) {
    if (typeof value !== "number") continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  return low === high ? [low - (bars ? 0 : 0.5), high + (bars ? 1 : 0.5)] : [low, high];
}

// Halves, because the range of numbers as large as a computer has them is infinite.
const along = (value, [low, high]) => `${(2 + 96 * ((value / 2 - low / 2) / (high / 2 - low / 2))).toFixed(2)}%`;

function categoryRow(row, { format = decimal, range, bars, level }) {
  const isKnown = typeof row.value === "number";
  const hasInterval = isKnown && typeof row.low === "number" && typeof row.high === "number";
  const interval = hasInterval ? el("span.quiet", {}, ` ${format(row.low)} to ${format(row.high)}`) : null;
  const number = isKnown
    ? [el("span.with-interval", {}, el("b", {}, format(row.value)), interval)]
    : [el("span.quiet", {}, row.unknown ?? "not known")];
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, name(row.name, 80)),
    el("td.plot", {}, categoryMark(row, { range, bars, level, isKnown, hasInterval })),
    el("td.number", {}, number, row.note ? el("span.quiet", {}, `${isKnown ? ", " : " "}${row.note}`) : null),
  );
}

function categoryMark(row, { range, bars, level, isKnown, hasInterval }) {
  const parts = [svg("line", { class: "axis", x1: "2%", x2: "98%", y1: 11, y2: 11 })];
  if (level) {
    const at = along(level.value, range);
    parts.push(svg("line", { class: "level", x1: at, x2: at, y1: 0, y2: 22 }));
  }
  if (isKnown && bars && row.value !== 0) {
    const [zero, end] = [0, row.value].sort((a, b) => a - b).map((value) => Number.parseFloat(along(value, range)));
    parts.push(
      svg("rect", { class: "bar", x: `${zero}%`, width: `${Math.max(0.4, end - zero)}%`, y: 5, height: 12, rx: 2 }),
    );
  }
  if (hasInterval) {
    const [from, to] = [along(row.low, range), along(row.high, range)];
    parts.push(svg("line", { class: "error", x1: from, x2: to, y1: 11, y2: 11 }));
    for (const end of [from, to]) parts.push(svg("line", { class: "error", x1: end, x2: end, y1: 7, y2: 15 }));
  }
  if (isKnown && !bars) parts.push(svg("circle", { class: "score", cx: along(row.value, range), cy: 11, r: 4.5 }));
  return svg("svg", { class: "interval", "aria-hidden": "true" }, parts);
}

function categoryScale({ range, format = decimal, level }) {
  const [low, high] = range.map((one) => el("span", {}, format(one)));
  const said = level ? el("span.level", {}, `\u2506 ${level.label}: ${format(level.value)}`) : null;
  return el(
    "tr",
    { "aria-hidden": "true" },
    el("td"),
    el("td.plot", {}, el("div.scale", {}, low, said, high)),
    el("td"),
  );
}

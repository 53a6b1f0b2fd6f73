// Figures: a caption, a legend, a plot and the numbers as a table. The plots are uPlot's, drawn on a canvas, which no
// screen reader can read; the table is for them, and for whoever wants the number. What is not known is not drawn.
import { button, el, fill, folded, svg } from "./elements.js";
import { decimal, whole } from "./numbers.js";
import { drawPlot } from "./plots.js";
import { labelled, name } from "./text.js";

/**
 * @typedef {Object} Point a point of a series; null and undefined are unknown
 * @property {number} x
 * @property {number | null} y
 * @property {number | null} [low] the lower end of y's interval
 * @property {number | null} [high]
 * @property {number | null} [xlow] the lower end of x's interval (scatter charts)
 * @property {number | null} [xhigh]
 * @property {string} [label] what the point is, such as a step's or a group's name
 *
 * @typedef {Object} Series
 * @property {string} name
 * @property {Point[]} points for line charts in rising order of x, each x once
 * @property {boolean} [open] scatter charts: rings in place of dots, for points that others may lie on
 *
 * @typedef {Object} Axis
 * @property {string} label
 * @property {[number, number]} [range] what is shown at least
 * @property {(value: number) => string} [format] how numbers of this axis are written
 * @property {boolean} [integers] whether only whole numbers are ticks, by default those of the format `whole`
 *
 * @typedef {Object} Chart
 * @property {string} title
 * @property {string} [note] what the figure shows, and how to read it
 * @property {Axis} x
 * @property {Axis} y
 * @property {Series[]} series
 * @property {{x: number, label: string}[]} [marks] vertical lines, such as alarms
 * @property {{y: number, label: string}[]} [levels] horizontal lines, such as chance
 * @property {string} [empty] what is said when no point has a y
 * @property {number} [most] how many series are drawn at first, and not folded in the legend; by default all
 * @property {boolean} [bands] line charts: whether intervals are drawn; they are in the table in any case
 * @property {boolean} [diagonal] scatter charts: draw the line y = x
 */

const TABLE_ROWS = 200;
const PALETTE = 8;

/** Curves over x, each with an optional band from `low` to `high`; a y of null is a gap. @param {Chart} chart */
export function lineChart(chart) {
  return figureOf({ ...chart, kind: "line" });
}

/** Points with error bars, and with `diagonal` the line on which a calibrated measure lies. @param {Chart} chart */
export function scatterChart(chart) {
  return figureOf({ ...chart, kind: "scatter" });
}

function figureOf(chart) {
  const known = chart.series.filter((one) => one.points.some(isKnown));
  const silent = chart.series.filter((one) => !known.includes(one));
  const made = el("figure.chart", {}, captionOf(chart));
  if (!known.length) {
    made.append(el("p.note", {}, chart.empty ?? "Nothing is known of this."));
    return made;
  }
  const hidden = new Set([...known.keys()].filter((at) => at >= (chart.most ?? Infinity)));
  const place = el("div.plot-area", { role: "img", "aria-label": saidOf(chart, known) });
  const shown = { ...chart, series: known };
  const values = known.map(() => el("span.value", { "aria-hidden": "true" }));
  const redraw = drawPlot(place, shown, hidden, (texts) => values.forEach((one, at) => fill(one, texts[at] ?? "")));
  made.append(
    legendOf(known, values, hidden, redraw, chart.most ?? known.length),
    place,
    silent.length
      ? el(
          "p.legend",
          {},
          "Not known: ",
          silent.slice(0, 20).flatMap((one, at) => [at ? ", " : null, name(one.name, 60)]),
          silent.length > 20 ? ` and ${whole(silent.length - 20)} more` : null,
        )
      : "",
    folded("Numbers", () => tableOf(shown), { name: "numbers" }),
  );
  return made;
}

function isKnown(point) {
  return typeof point.y === "number" && typeof point.x === "number";
}

function captionOf({ title, note }) {
  return el("figcaption", {}, el("h3", {}, name(title, 120)), note ? el("p.legend", {}, note) : null);
}

function saidOf(chart, known) {
  const points = known.reduce((sum, one) => sum + one.points.filter(isKnown).length, 0);
  const names = known.slice(0, PALETTE).map((one) => labelled(one.name, 40));
  const more = known.length > PALETTE ? ` and ${known.length - PALETTE} more` : "";
  return (
    `${labelled(chart.title, 120)}: ${chart.y.label} against ${chart.x.label}, ${whole(points)} points of ` +
    `${names.join(", ")}${more}. The numbers are in the table below.`
  );
}

/** A button for each series; those after the first `most`, which are hidden at first, are folded. */
function legendOf(known, values, hidden, redraw, most) {
  const buttons = known.map((one, at) => {
    const made = button(
      "",
      () => {
        if (hidden.has(at)) hidden.delete(at);
        else hidden.add(at);
        made.setAttribute("aria-pressed", String(!hidden.has(at)));
        redraw();
      },
      { class: "series", "aria-pressed": String(!hidden.has(at)) },
    );
    made.append(swatch(at, one.open), name(one.name, 60), values[at]);
    return made;
  });
  const list = (some) => el("div.series-list", { role: "group", "aria-label": "series shown" }, some);
  if (known.length <= most) return list(buttons);
  const rest = el("details.fold", {}, el("summary", {}, `${whole(known.length - most)} more, not drawn at first`));
  rest.append(list(buttons.slice(most)));
  return el("div", {}, list(buttons.slice(0, most)), rest);
}

/** The sign of the series `at` a position, as its line and its dots are drawn. */
function swatch(at, open = false) {
  const around = { class: `swatch series-${at % PALETTE}`, viewBox: "0 0 24 12", "aria-hidden": "true" };
  const dash = [null, "5 3", "2 2"][Math.floor(at / PALETTE) % 3];
  return svg(
    "svg",
    around,
    svg("line", { x1: 1, x2: 23, y1: 6, y2: 6, "stroke-dasharray": dash }),
    svg("circle", { cx: 12, cy: 6, r: open ? 4.5 : 3.5, class: open ? "open" : null }),
  );
}

/** Whether the reader is at something in a view that drawing it anew would take away. @param {HTMLElement} view */
export function isInUse(view) {
  const { activeElement } = document;
  const isAt = activeElement.localName !== "main" && view.contains(activeElement);
  const selected = getSelection();
  const hasSelected = !selected.isCollapsed && view.contains(selected.anchorNode);
  return isAt || hasSelected || view.querySelector(".plot-area:hover, .plot-area[data-zoomed=true]") !== null;
}

/**
 * Draw a view anew, and keep what is folded, which series are hidden, and the place. Figures are known by their titles.
 * @param {HTMLElement} view @param {() => void} draw
 */
export function keepFigures(view, draw) {
  const keyOf = (one, text) => `${one.closest("figure")?.querySelector("h3")?.textContent ?? ""}\n${text}`;
  const folds = () => [...view.querySelectorAll("details")].map((one) => [keyOf(one, one.firstChild.textContent), one]);
  const series = () =>
    [...view.querySelectorAll("button.series")].map((one) => [keyOf(one, one.querySelector(".name").textContent), one]);
  const opened = new Map(folds().map(([key, one]) => [key, one.open]));
  const pressed = new Map(series().map(([key, one]) => [key, one.getAttribute("aria-pressed")]));
  const { scrollTop } = view;
  draw();
  for (const [key, one] of folds()) {
    if (opened.get(key)) one.dispatchEvent(new Event("unfold"));
    one.open = opened.get(key) ?? one.open;
  }
  for (const [key, one] of series())
    if (pressed.has(key) && pressed.get(key) !== one.getAttribute("aria-pressed")) one.click();
  view.scrollTop = scrollTop;
}

const numberOf = (value, axis) => (axis.format ?? decimal)(value);

function pointText(point, axis) {
  if (!isKnown(point)) return "\u2013";
  const hasBand = typeof point.low === "number" && typeof point.high === "number";
  const band = hasBand ? ` (${numberOf(point.low, axis)} to ${numberOf(point.high, axis)})` : "";
  return `${numberOf(point.y, axis)}${band}`;
}

function tableOf(chart) {
  const rows = chart.kind === "line" ? rowsByX(chart) : rowsByPoint(chart);
  const heads =
    chart.kind === "line"
      ? [chart.x.label, ...chart.series.map((one) => name(one.name, 60))]
      : ["", chart.x.label, chart.y.label];
  return numbersTable(heads, rows);
}

function rowsByX({ series, x, y }) {
  const found = new Map();
  series.forEach(({ points }, at) =>
    points.forEach((point) => {
      if (!found.has(point.x))
        found.set(
          point.x,
          series.map(() => "\u2013"),
        );
      found.get(point.x)[at] = pointText(point, y);
    }),
  );
  const sorted = [...found].sort(([a], [b]) => a - b);
  return sorted.map(([value, cells]) => [String(x.format ? x.format(value) : value), ...cells]);
}

function rowsByPoint({ series, x, y }) {
  return series.flatMap(({ name: of, points }) =>
    points
      .filter(isKnown)
      .map((point) => [
        el("span", {}, name(of, 60), point.label ? [" ", name(point.label, 60)] : null),
        pointText({ x: 0, y: point.x, low: point.xlow, high: point.xhigh }, x),
        pointText(point, y),
      ]),
  );
}

/** A table of numbers; more than 200 rows are shown piece by piece. Cells are text of the page or elements. */
export function numbersTable(heads, rows) {
  const body = el("tbody");
  const more = button("", () => show(), { class: "more" });
  let shown = 0;
  const show = () => {
    const next = rows.slice(shown, shown + TABLE_ROWS);
    for (const [first, ...cells] of next)
      body.append(el("tr", {}, el("th", { scope: "row" }, first), cells.map(numberCell)));
    shown += next.length;
    const left = rows.length - shown;
    more.textContent = `Show ${whole(Math.min(TABLE_ROWS, left))} of ${whole(left)} more rows`;
    if (shown >= rows.length) more.remove();
  };
  const table = el(
    "div.numbers-table",
    { tabindex: "0", role: "region", "aria-label": "numbers" },
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map((one) => el("th", { scope: "col" }, one)),
        ),
      ),
      body,
    ),
    more,
  );
  show();
  return table;
}

function numberCell(content) {
  return el("td.number", {}, content);
}

// What uPlot draws on a canvas: lines with bands, dots with error bars. Colours come from the style sheet, so that they
// follow light, dark and print. Responsible for no text beside the canvas (charts.js).
/* global uPlot */
import { decimal, extent, whole } from "./numbers.js";
import { labelled } from "./text.js";

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const HEIGHT = 260;
const PRINT_HEIGHT = 210;
const PRINT_WIDTH = 640;
const MOST_DOTTED = 80;
const NEAR = 24;
const SAME = 2; // pixels between points that lie on each other
const MARK_ROWS = 3;
const DASHES = [[], [6, 4], [2, 3]];
const BAND = "30"; // hexadecimal opacity of a band
/** Steps between the ticks of an axis of whole numbers: 1, 2, 5, 10, 20 and so on. */
const WHOLE_STEPS = Array.from({ length: 48 }, (_, at) => [1, 2, 5][at % 3] * 10 ** Math.floor(at / 3));
const numeric = (value) => typeof value === "number";

/**
 * Draw a chart into `place` as soon as that has a size, and again when its size or the colours change.
 * @param {HTMLElement} place
 * @param {import("./charts.js").Chart & {kind: string}} chart
 * @param {Set<number>} hidden the series not shown
 * @param {(texts: string[]) => void} say called with the values at the pointer, one for each series
 * @returns {() => void} draws it again
 */
export function drawPlot(place, chart, hidden, say) {
  let plot = null;
  const draw = () => {
    plot?.destroy();
    plot = null;
    const printed = Boolean(document.documentElement.dataset.print);
    const width = printed ? PRINT_WIDTH : Math.floor(place.clientWidth);
    const height = printed ? PRINT_HEIGHT : HEIGHT;
    if (width < 40) return;
    const colours = coloursNow();
    const made = chart.kind === "line" ? linePlot(chart, hidden, colours) : dotPlot(chart, hidden);
    const hooks = {
      draw: [(u) => drawOver(u, chart, hidden, colours)],
      setCursor: [(u) => say(atPointer(u, chart))],
      setScale: [
        ({ data: [xs], scales: { x } }, key) => {
          if (key === "x" && xs.length > 1) place.dataset.zoomed = String(x.min > xs[0] || x.max < xs[xs.length - 1]);
        },
      ],
    };
    plot = new uPlot(
      { width, height, ...commonOptions(chart, hidden, colours), ...made.options, hooks },
      made.data,
      place,
    );
  };
  let drawnAt = -1;
  new ResizeObserver(() => {
    // A figure that was taken off the page has no width: its plot is given up, with the listeners it has.
    if (place.clientWidth === drawnAt) return;
    drawnAt = place.clientWidth;
    draw();
  }).observe(place);
  REDRAWN.add(new WeakRef(draw));
  place.redraw = draw; // lives as long as the figure does
  return draw;
}

/** Draws all figures again in the colours of now; a figure that is gone is forgotten. */
const REDRAWN = new Set();
function redrawAll() {
  for (const one of REDRAWN) {
    const draw = one.deref();
    if (draw) draw();
    else REDRAWN.delete(one);
  }
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
addEventListener("beforeprint", () => {
  document.documentElement.dataset.print = "true";
  redrawAll();
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.print;
  redrawAll();
});

function coloursNow() {
  const style = getComputedStyle(document.documentElement);
  const value = (key) => style.getPropertyValue(key).trim();
  return {
    text: value("--text"),
    quiet: value("--quiet"),
    line: value("--line"),
    warn: value("--warn"),
    surface: value("--surface"),
    series: Array.from({ length: 8 }, (_, at) => value(`--series-${at}`)),
  };
}

const colourOf = (colours, at) => colours.series[at % colours.series.length];

function commonOptions(chart, hidden, colours) {
  const axis = ({ label, format, integers = format === whole }, more) => ({
    label,
    ...(integers ? { incrs: WHOLE_STEPS } : {}),
    stroke: colours.quiet,
    font: FONT,
    labelFont: FONT,
    labelSize: 22,
    grid: { stroke: colours.line, width: 1 },
    ticks: { stroke: colours.line, width: 1, size: 5 },
    values: (_, splits) => tickTexts(splits, format ?? plain),
    ...more,
  });
  return {
    scales: {
      x: { time: false, range: (_, low, high) => (low === high ? [low - 1, high + 1] : [low, high]) },
      y: { range: rangeOfAxis(chart, hidden, "y") },
    },
    axes: [axis(chart.x, { space: 60, size: 34 }), axis(chart.y, { space: 34, size: 58 })],
    legend: { show: false },
    padding: [10, 14, 0, 0],
  };
}

/** The numbers at ticks. A format that would write two of them alike is not used: `0.98 0.98` is no axis. */
function tickTexts(splits, format) {
  const said = splits.map(format);
  return new Set(said).size < said.length ? splits.map(plain) : said;
}

/** A number of an axis: whole numbers plainly, others with the digits they have. */
function plain(value) {
  if (value === null) return "";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(1).replace("-", "\u2212");
  return value.toLocaleString("en", { maximumFractionDigits: 6 }).replace("-", "\u2212");
}

/** The ends of an axis: all that is drawn and its own range, with a little room. */
function rangeOfAxis({ series, marks = [], levels = [], diagonal, x, y }, hidden, axis) {
  const own = axis === "x" ? x : y;
  const shown = series
    .filter((_, at) => !hidden.has(at))
    .flatMap((one) => one.points)
    .filter(({ y: of }) => numeric(of));
  const keys = diagonal
    ? ["x", "xlow", "xhigh", "y", "low", "high"]
    : axis === "x"
      ? ["x", "xlow", "xhigh"]
      : ["y", "low", "high"];
  let [low, high] = diagonal ? widest(x.range, y.range) : (own.range ?? [Infinity, -Infinity]);
  const extend = (value) => {
    if (!numeric(value)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  const fixed = [low, high];
  for (const point of shown) for (const key of keys) extend(point[key]);
  for (const one of axis === "x" ? marks : levels) extend(one[axis]);
  if (low > high) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [
    low < fixed[0] || fixed[0] === high ? low - room : low,
    high > fixed[1] || fixed[1] === low ? high + room : high,
  ];
}

function widest(first = [Infinity, -Infinity], second = [Infinity, -Infinity]) {
  return [Math.min(first[0], second[0]), Math.max(first[1], second[1])];
}

/** The data and options of lines: each series is one line, and two invisible ones between which its band is filled. */
function linePlot(chart, hidden, colours) {
  const tables = [];
  const series = [{}];
  const bands = [];
  chart.series.forEach(({ points }, at) => {
    const show = !hidden.has(at);
    const colour = colourOf(colours, at);
    const dash = DASHES[Math.floor(at / colours.series.length) % DASHES.length];
    const known = points.filter(({ x }) => numeric(x)).sort((a, b) => a.x - b.x);
    const column = (key) => known.map((one) => (numeric(one[key]) && numeric(one.y) ? one[key] : null));
    const dotted = known.length <= MOST_DOTTED;
    tables.push([known.map(({ x }) => x), column("y"), column("high"), column("low")]);
    const at1 = series.length;
    const isolated = (u, of, first, last) => (dotted ? null : aloneIn(u.data[of], first, last));
    series.push({
      show,
      stroke: colour,
      width: 2,
      dash,
      points: { show: true, size: 6, fill: colour, filter: isolated },
    });
    for (const end of ["high", "low"])
      series.push({ show: show && chart.bands !== false && column(end).some(numeric), stroke: "transparent", width: 0, points: { show: false } });
    bands.push({ series: [at1 + 1, at1 + 2], fill: `${colour}${BAND}` });
  });
  const data = uPlot.join(
    tables,
    tables.map(() => [0, 2, 2, 2]),
  );
  const cursor = { y: false, points: { show: false }, drag: { x: true, y: false } };
  return { data, options: { series, bands, cursor } };
}

/** The positions of values with a gap on both sides, which a line without dots would not show. */
function aloneIn(values, first, last) {
  const found = [];
  const at = (from, by) => {
    let next = from + by;
    while (values[next] === undefined && next >= 0 && next < values.length) next += by;
    return values[next];
  };
  for (let each = first; each <= last; each += 1)
    if (numeric(values[each]) && !numeric(at(each, -1)) && !numeric(at(each, 1))) found.push(each);
  return found;
}

/** Axes alone; the dots are drawn over them, because uPlot's own have no error bars. */
function dotPlot(chart, hidden) {
  const [low, high] = rangeOfAxis(chart, hidden, "x");
  const cursor = { x: false, y: false, points: { show: false }, drag: { x: false, y: false } };
  const options = { series: [{}, { points: { show: false } }], cursor };
  return {
    data: [
      [low, high],
      [null, null],
    ],
    options,
  };
}

function drawOver(u, chart, hidden, colours) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = FONT.replace("12px", `${Math.round(11 * uPlot.pxRatio)}px`);
  if (chart.diagonal) stroke(u, colours.quiet, [5, 4], () => diagonal(u));
  (chart.marks ?? []).forEach(({ x, label }, at) => ruler(u, "x", x, label, colours, at % MARK_ROWS));
  for (const { y, label } of chart.levels ?? []) ruler(u, "y", y, label, colours);
  if (chart.kind === "scatter")
    chart.series.forEach(({ points, open }, at) => {
      const mark = open ? ring : dot;
      if (!hidden.has(at)) for (const one of points) mark(u, one, colourOf(colours, at), colours.surface);
    });
  ctx.restore();
}

function stroke(u, colour, dash, path, width = 1.25) {
  const { ctx } = u;
  ctx.strokeStyle = colour;
  ctx.lineWidth = width * uPlot.pxRatio;
  ctx.setLineDash(dash.map((one) => one * uPlot.pxRatio));
  ctx.beginPath();
  path(ctx);
  ctx.stroke();
  ctx.setLineDash([]);
}

function diagonal(u) {
  const { min, max } = u.scales.x;
  u.ctx.moveTo(u.valToPos(min, "x", true), u.valToPos(min, "y", true));
  u.ctx.lineTo(u.valToPos(max, "x", true), u.valToPos(max, "y", true));
}

/** A line at a value of an axis with its label; labels of neighbours stand in rows of their own. */
function ruler(u, axis, value, label, colours, row = 0) {
  const { ctx, bbox } = u;
  const at = u.valToPos(value, axis, true);
  const room = 4 * uPlot.pxRatio;
  const vertical = axis === "x";
  stroke(u, colours.warn, [3, 3], () => {
    ctx.moveTo(vertical ? at : bbox.left, vertical ? bbox.top : at);
    ctx.lineTo(vertical ? at : bbox.left + bbox.width, vertical ? bbox.top + bbox.height : at);
  });
  ctx.fillStyle = colours.warn;
  const text = labelled(label, 40);
  ctx.textBaseline = vertical ? "top" : "bottom";
  const fits = at + room + ctx.measureText(text).width < bbox.left + bbox.width;
  ctx.textAlign = vertical && fits ? "left" : "right";
  if (vertical) ctx.fillText(text, at + (fits ? room : -room), bbox.top + room + 14 * row * uPlot.pxRatio);
  else ctx.fillText(text, bbox.left + bbox.width - room, at - room / 2);
}

/** The pixel of a point, whole for sharp lines, after its error bars; null for one that is not known. */
function barsOf(u, point, colour, cap = 0) {
  if (!numeric(point.x) || !numeric(point.y)) return null;
  const { ctx } = u;
  const place = (value, axis) => Math.round(u.valToPos(value, axis, true));
  const [x, y] = [place(point.x, "x"), place(point.y, "y")];
  const half = cap * uPlot.pxRatio;
  stroke(
    u,
    colour,
    [],
    () => {
      if (numeric(point.low) && numeric(point.high)) {
        const ends = [place(point.low, "y"), place(point.high, "y")];
        ctx.moveTo(x, ends[0]);
        ctx.lineTo(x, ends[1]);
        for (const end of cap ? ends : []) {
          ctx.moveTo(x - half, end);
          ctx.lineTo(x + half, end);
        }
      }
      if (numeric(point.xlow) && numeric(point.xhigh)) {
        ctx.moveTo(place(point.xlow, "x"), y);
        ctx.lineTo(place(point.xhigh, "x"), y);
      }
    },
    2,
  );
  return [x, y];
}

function dot(u, point, colour, around) {
  const at = barsOf(u, point, colour);
  if (!at) return;
  const { ctx } = u;
  ctx.fillStyle = colour;
  ctx.strokeStyle = around;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.beginPath();
  ctx.arc(...at, 4.5 * uPlot.pxRatio, 0, 2 * Math.PI);
  ctx.fill();
  ctx.stroke();
}

/** An open mark with capped error bars, wider than a dot: it is seen around one that lies on it. */
function ring(u, point, colour) {
  const at = barsOf(u, point, colour, 7);
  if (at) stroke(u, colour, [], () => u.ctx.arc(...at, 7.5 * uPlot.pxRatio, 0, 2 * Math.PI), 2);
}

/** The values at the pointer, one text for each series. */
function atPointer(u, chart) {
  const { left, top, idx } = u.cursor;
  if (!(left >= 0)) return [];
  const write = chart.y.format ?? decimal;
  const writeX = chart.x.format ?? plain;
  if (chart.kind === "line") {
    if (idx === null || idx === undefined) return [];
    const x = u.data[0][idx];
    return chart.series.map((_, at) => {
      const value = u.data[1 + 3 * at][idx];
      return numeric(value) ? `${write(value)} at ${writeX(x)}` : "";
    });
  }
  // Points that lie on each other are all said, one for each series.
  const found = chart.series.map(() => ({ distance: NEAR, text: "" }));
  chart.series.forEach(({ points }, at) => {
    for (const one of points) {
      if (!numeric(one.x) || !numeric(one.y)) continue;
      const distance = Math.hypot(u.valToPos(one.x, "x") - left, u.valToPos(one.y, "y") - top);
      const text = `${one.label ? `${labelled(one.label, 40)}: ` : ""}${write(one.y)} at ${writeX(one.x)}`;
      if (distance < found[at].distance) found[at] = { distance, text };
    }
  });
  const [nearest] = extent(found.map(({ distance }) => distance));
  return found.map(({ distance, text }) => (distance < nearest + SAME ? text : ""));
}

// Scores with their errors, drawn as SVG: a dot, and a line over the 95 % interval.
import { svg } from "./elements.js";
import { Z95, decimal } from "./numbers.js";

/**
 * The range of values that a group's scores are drawn in: 0 to 1 where they fit, else what they need.
 * @param {{score: number | null, stderr: number | null}[]} members
 */
export function rangeOf(members) {
  let low = 0;
  let high = 1;
  for (const { score, stderr } of members) {
    if (score === null) continue;
    const half = score < 0 || score > 1 ? Z95 * (stderr ?? 0) : 0;
    low = Math.min(low, score - half);
    high = Math.max(high, score + half);
  }
  return { low, high };
}

const place = (value, { low, high }) =>
  `${(4 + 92 * Math.min(1, Math.max(0, (value - low) / (high - low)))).toFixed(2)}%`;

/** One score with its interval. */
export function interval({ score, stderr }, range) {
  if (score === null) return svg("svg", { class: "interval", "aria-hidden": "true" });
  const parts = [svg("line", { class: "axis", x1: "4%", x2: "96%", y1: 11, y2: 11 })];
  if (stderr !== null) {
    const [from, to] = [place(score - Z95 * stderr, range), place(score + Z95 * stderr, range)];
    parts.push(svg("line", { class: "error", x1: from, x2: to, y1: 11, y2: 11 }));
    for (const end of [from, to]) parts.push(svg("line", { class: "error", x1: end, x2: end, y1: 7, y2: 15 }));
  }
  parts.push(svg("circle", { class: "score", cx: place(score, range), cy: 11, r: 4.5 }));
  const said =
    stderr === null
      ? `score ${decimal(score)}, error unknown`
      : `score ${decimal(score)}, 95 % interval ${decimal(score - Z95 * stderr)} to ${decimal(score + Z95 * stderr)}`;
  return svg("svg", { class: "interval", role: "img", "aria-label": said }, svg("title", {}, said), parts);
}

/**
 * All scores of a group in one line, for the list. Three paths, however many scores: rows are made while scrolling.
 * @param {[number | null, number | null, number | null][]} scores
 */
export function strip(scores) {
  const members = scores.map(([score, stderr]) => ({ score, stderr }));
  const range = rangeOf(members);
  const x = (value) => Number.parseFloat(place(value, range));
  const known = members.slice(0, 64).filter(({ score }) => score !== null);
  const dots = known.map(({ score }) => `M${x(score)} 8h.01`);
  const errors = known
    .filter(({ stderr }) => stderr !== null)
    .map(({ score, stderr }) => `M${x(score - Z95 * stderr)} 8H${x(score + Z95 * stderr)}`);
  return svg(
    "svg",
    { class: "strip", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "axis", d: "M4 8H96" }),
    svg("path", { class: "error", d: errors.join("") }),
    svg("path", { class: "dots", d: dots.join("") }),
  );
}

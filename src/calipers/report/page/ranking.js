// The candidates of a group, best first, with error bars and ties. Scores are drawn as SVG: a dot, and a line over the
// 95 % interval.
import { button, el, svg } from "./elements.js";
import { decimal } from "./numbers.js";
import { name } from "./text.js";

const WRONG = "\u2260";
const WRONG_SIGN = "the advantage has the other sign than gold's";

const valueOf = (one) => one.reward ?? one.score;

/**
 * The trajectories, best first, each with its `rank`: "1", "2=" where several have the same reward, "–" without one.
 * `unsure` says that its score is within the 95 % error of the next one's.
 */
export function ranked(trajectories) {
  const sorted = [...trajectories].sort((a, b) => {
    const [first, second] = [valueOf(a), valueOf(b)];
    if (first === null || second === null) return (first === null) - (second === null);
    return second - first || (b.score ?? 0) - (a.score ?? 0);
  });
  const values = sorted.map(valueOf);
  return sorted.map((one, at) => {
    const tied = values.filter((other) => other === values[at]).length > 1;
    const rank = values[at] === null ? "\u2013" : `${values.indexOf(values[at]) + 1}${tied ? "=" : ""}`;
    return { one, rank, unsure: isUnsure(one, sorted[at + 1]) };
  });
}

function isUnsure(one, next) {
  if (!next || [one, next].some((each) => each.score === null || each.margin === null)) return false;
  if (valueOf(one) === valueOf(next)) return false;
  return Math.abs(one.score - next.score) < Math.hypot(one.margin, next.margin);
}

/** The ranking as a table; `show` is called with the id of a trajectory that is chosen. */
export function rankingTable(trajectories, show) {
  const range = rangeOf(trajectories);
  const hasGold = trajectories.some((one) => typeof one.gold === "number");
  const hasErrors = trajectories.some((one) => one.margin !== null);
  const ends = [range.low, range.high].map((end) => decimal(end, end % 1 ? 2 : 0));
  const heads = ["rank", "candidate", hasErrors ? "score, 95 % interval" : "score", "", "reward", ...(hasGold ? ["gold"] : [])];
  const notes = [
    `Scores are drawn from ${ends[0]} to ${ends[1]}.`,
    hasErrors
      ? "\u2248: the next candidate is within the error. =: equal rewards."
      : "Their errors are not known: they take several answers of a judge.",
    trajectories.some((one) => one.wrong_sign)
      ? `${WRONG}: the reward less the group's mean has the other sign than gold less its mean, so training goes the wrong way.`
      : "",
  ];
  return [
    el(
      "table.ranking",
      {},
      el("thead", {}, el("tr", {}, heads.map((label) => el("th", { scope: "col" }, label)))),
      el("tbody", {}, ranked(trajectories).map((row) => rankingRow(row, { range, show, hasGold }))),
    ),
    trajectories.some((one) => one.score !== null) ? el("p.legend", {}, notes.join(" ")) : null,
  ];
}

function rankingRow({ one, rank, unsure }, { range, show, hasGold }) {
  const mark = unsure ? el("span.unsure", { title: "the next candidate is within the error" }, " \u2248") : null;
  const id = button(name(one.id, 40), () => show(one.id), { class: "plain" });
  const injected = one.attacks.length ? el("span.flag.injected", {}, "injected") : null;
  const gold = hasGold ? el("td.number.gold", {}, goldText(one)) : null;
  const first = [el("td.rank", {}, rank, mark), el("td", {}, id, injected)];
  if (one.score === null && one.reward === null) {
    const why = one.reason ? name(one.reason, 300) : "the reason is not in this report";
    const status = el("span.status", { "data-status": one.status }, one.status);
    return el("tr.unscored", {}, first, el("td.why", { colspan: 3 }, status, " ", why), gold);
  }
  const error = one.score === null || one.margin === null ? "" : ` \u00b1 ${decimal(one.margin)}`;
  return el(
    "tr",
    {},
    first,
    el("td.plot", {}, interval(one, range)),
    el("td.number", {}, decimal(one.score) + error),
    el("td.number.reward", {}, decimal(one.reward)),
    gold,
  );
}

/** Gold in few digits, with a mark where the advantage has the other sign; unknown stays unknown. */
function goldText(one) {
  if (typeof one.gold !== "number") return "\u2013";
  const text = one.gold.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "\u2212");
  return [text, one.wrong_sign ? el("span.wrong-sign", { title: WRONG_SIGN }, ` ${WRONG}`) : null];
}

/** The gold in the head of a candidate's column; null where it is not known. */
export function goldNote(one) {
  return typeof one.gold === "number" ? el("span.gold", {}, "gold ", goldText(one)) : null;
}

/** The range of values that a group's scores are drawn in: 0 to 1 where they fit, else what they need. */
function rangeOf(members) {
  let [low, high] = [0, 1];
  for (const { score, margin } of members) {
    if (score === null) continue;
    const half = score < 0 || score > 1 ? (margin ?? 0) : 0;
    low = Math.min(low, score - half);
    high = Math.max(high, score + half);
  }
  return { low, high };
}

/** Where a value is drawn, in percent of the width. */
const place = (value, { low, high }) => 4 + 92 * Math.min(1, Math.max(0, (value - low) / (high - low)));

function interval({ score, margin }, range) {
  if (score === null) return svg("svg", { class: "interval", "aria-hidden": "true" });
  const at = (value) => `${place(value, range).toFixed(2)}%`;
  const parts = [svg("line", { class: "axis", x1: "4%", x2: "96%", y1: 11, y2: 11 })];
  let said = `score ${decimal(score)}, error unknown`;
  if (margin !== null) {
    const [low, high] = [score - margin, score + margin];
    said = `score ${decimal(score)}, 95 % interval ${decimal(low)} to ${decimal(high)}`;
    parts.push(svg("line", { class: "error", x1: at(low), x2: at(high), y1: 11, y2: 11 }));
    for (const end of [at(low), at(high)]) parts.push(svg("line", { class: "error", x1: end, x2: end, y1: 7, y2: 15 }));
  }
  parts.push(svg("circle", { class: "score", cx: at(score), cy: 11, r: 4.5 }));
  return svg("svg", { class: "interval", role: "img", "aria-label": said }, svg("title", {}, said), parts);
}

/**
 * All scores of a group in one line, for the list. Three paths, however many scores: rows are made while scrolling.
 * @param {[number | null, number | null, number | null][]} scores
 */
export function strip(scores) {
  const members = scores.map(([score, margin]) => ({ score, margin }));
  const range = rangeOf(members);
  const known = members.slice(0, 64).filter(({ score }) => score !== null);
  const sure = known.filter(({ margin }) => margin !== null);
  const bar = ({ score, margin }) => `M${place(score - margin, range)} 8H${place(score + margin, range)}`;
  return svg(
    "svg",
    { class: "strip", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "axis", d: "M4 8H96" }),
    svg("path", { class: "error", d: sure.map(bar).join("") }),
    svg("path", { class: "dots", d: known.map(({ score }) => `M${place(score, range)} 8h.01`).join("") }),
  );
}

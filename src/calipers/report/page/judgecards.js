// The figures of judges that were calibrated, side by side, and what figures of other files have in common with them.
import { categoryChart } from "./categories.js";
import { lineChart, scatterChart } from "./charts.js";
import { el } from "./elements.js";
import { counted, decimal, extent, percent, two, whole } from "./numbers.js";
import { name } from "./text.js";

const isNumber = (value) => typeof value === "number";
const MOST_REASONS = 3;
/** The series of a figure that are shown at first: the judges that agree best with gold. */
const FEW = 8;

const isAskedOnce = ({ calls }) => isNumber(calls) && calls <= 1;

/** Judges, those that agree best with gold first, and those of which this is not known last. */
export function bestFirst(judges) {
  const fidelity = ({ figures }) => figures.fidelity?.[0] ?? figures.balanced_f1?.[0] ?? -Infinity;
  return [...judges].sort((a, b) => fidelity(b) - fidelity(a) || 0);
}

/** One figure of all judges. One that no judge has is a sentence among those of `notKnown`. */
export function compared(judges, key, options) {
  const rows = judges.map((judge) => {
    const [value, low, high] = judge.figures[key] ?? [null, null, null];
    return {
      name: judge.label,
      value,
      low,
      high,
      unknown: judge.unknown?.[key] || options.unknownOf?.(judge),
      note: options.noteOf?.(judge),
    };
  });
  if (!rows.some((row) => isNumber(row.value)))
    return options.quiet ? null : missingFigure(options.title, rows);
  return categoryChart({ label: "judge", format: two, ...options, rows });
}

/** What stands for a figure that no judge has, with the reasons of its rows. */
export function missingFigure(title, rows) {
  const reasons = [...new Set(rows.map((row) => row.unknown).filter(Boolean))];
  return { missing: title, why: reasons.slice(0, MOST_REASONS).join("; ") };
}

/** The figures, and in the place of those that no judge has one note that names them. */
export function notKnown(figures) {
  const missing = figures.flat(2).filter((one) => one?.missing);
  const rest = figures.flat(2).filter((one) => !one?.missing);
  if (!missing.length) return rest;
  const said = missing.map(({ missing: title, why }) => el("li", {}, why ? [`${title}: `, name(why, 200)] : title));
  return [
    ...rest,
    el("figure.chart", {}, el("figcaption", {}, el("h3", {}, "Not known")), el("ul.legend", {}, said)),
  ];
}

/** @param {any[]} judges @param {any[]} files */
export function calibrationFigures(judges, files) {
  const has = (key) => judges.some((one) => isNumber(one.figures[key]?.[0]));
  return notKnown([
    has("balanced_f1")
      ? compared(judges, "balanced_f1", {
          title: "Verdicts on criteria",
          note: "Balanced F1 against people's labels, with its 95 % interval.",
          what: "balanced F1",
          range: [0, 1],
        })
      : null,
    has("fidelity") || !has("balanced_f1") ? fidelityCard(judges, files) : null,
    has("fidelity") ? [callsCard(judges), costCard(files), files.map(frontierCard)] : null,
    has("fidelity") || !has("balanced_f1") ? [honestyCard(judges), positionCard(judges)] : null,
    compared(judges, "repeatability", {
      title: "Repeatability",
      note: 
        "The correlation of two calls within groups (for pairs: the share of equal verdicts). " +
        "A judge that repeats itself may still be wrong.",
      what: "repeatability",
      range: [0, 1],
      unknownOf: (one) =>
        isAskedOnce(one) ? "never asked twice" : "not in the file; it takes the same question asked twice",
    }),
    compared(judges, "noise", {
      title: "Noise",
      note: "The standard deviation of one call's score, in units of the judge's own scores.",
      what: "noise",
      bars: true,
      unknownOf: (one) =>
        isAskedOnce(one)
          ? "never asked twice"
          : "not in the file; it takes scores of the same candidates from two calls, and pairs have none",
    }),
    has("length")
      ? lengthCard(judges)
      : { missing: "Length preference", why: "not in the file; it takes the texts of answers" },
    compared(judges, "first", {
      title: "First of two preferred",
      note: "Of pairs with a preference, the share in which the answer shown first was preferred. 50 % is no bias.",
      what: "share",
      range: [0, 1],
      format: percent,
      level: { value: 0.5, label: "no bias" },
      unknownOf: () => "no pairs with a preference",
      quiet: true,
    }),
    compared(judges, "flips", {
      title: "Changed by the order",
      note: "Of pairs asked in both orders, the share whose verdict changed.",
      what: "share",
      range: [0, 1],
      format: percent,
      quiet: true,
    }),
    failureCard(judges),
    files.map((file) => (file.panel ? panelCard(file.panel) : null)),
  ]);
}

function fidelityCard(judges, files) {
  const rows = judges.map((judge) => {
    const [value, low, high] = judge.figures.fidelity ?? [];
    return {
      name: judge.label,
      value: value ?? null,
      low,
      high,
      note: isNumber(value) && isNumber(judge.groups) ? `in ${counted(judge.groups, "group")}` : null,
      unknown: "not in the file; it takes groups with gold that the judge scored",
    };
  });
  for (const { panel } of files)
    if (panel) {
      const [value, low, high] = panel.fidelity;
      rows.push({
        name: `panel of ${panel.members.length}, one call of each`,
        value,
        low,
        high,
        note: isNumber(value) && isNumber(panel.groups) ? `in ${counted(panel.groups, "group")}` : null,
      });
    }
  if (!rows.some((row) => isNumber(row.value))) return missingFigure("Fidelity", rows);
  rows.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity) || 0);
  return categoryChart({
    title: "Fidelity",
    note: 
      "The mean correlation of scores with gold within groups, from all calls, with its 95 % interval. " +
      "0 is no better than chance.",
    label: "judge",
    what: "fidelity",
    range: [0, 1],
    format: two,
    rows,
  });
}

function callsCard(judges) {
  return lineChart({
    title: "What more calls bring",
    note: "Fidelity from so many calls of a group. Bands are 95 % intervals.",
    x: { label: "calls for each group", format: whole },
    y: { label: "fidelity", format: two },
    most: FEW,
    series: judges.map((one) => ({
      name: one.label,
      points: one.by_calls.filter(([calls]) => isNumber(calls)).map(([x, y, low, high]) => ({ x, y, low, high })),
    })),
    empty: "The fidelity from fewer calls is not in these files.",
  });
}

const MEASURES = [
  ["cost_usd", "dollars for each group", (value) => (value === 0 ? "$0" : `$${Number(value.toPrecision(3))}`)],
  ["tokens", "tokens for each group", whole],
  ["shown", "transcripts read for each group", whole],
  ["calls", "calls for each group", whole],
];

const BY_SHOWN = MEASURES[2];

function costCard(files) {
  const ways = files.flatMap((file) => file.ways ?? []);
  const [key, label, format] =
    MEASURES.find(
      ([of]) =>
        ways.length && ways.every((way) => isNumber(way.cost?.[of])) && ways.some((way) => way.cost[of] > 0),
    ) ?? BY_SHOWN;
  /** @type {Map<string, any[]>} */
  const series = new Map();
  for (const way of ways) {
    if (!isNumber(way.cost?.[key])) continue;
    const [y, low, high] = way.fidelity;
    const points = series.get(way.judges) ?? [];
    points.push({ x: way.cost[key], y, low, high, label: way.label });
    series.set(way.judges, points);
  }
  return scatterChart({
    title: "What a higher cost brings",
    note: "Every way to ask that was measured: fidelity with its 95 % interval, against its cost.",
    x: { label, format },
    y: { label: "fidelity", format: two },
    most: FEW,
    series: [...series].map(([of, points]) => ({ name: of, points })).sort((a, b) => highest(b) - highest(a) || 0),
    empty: "The costs of the ways to ask are not in these files.",
  });
}

/** The best at each price, and what so chosen ways reach on prompts that had no part in the choice. */
function frontierCard({ frontier }) {
  if (!frontier) return null;
  const [key, label, format] = MEASURES.find(([of]) => of === frontier.measure) ?? BY_SHOWN;
  const known = frontier.ways.filter(({ cost }) => isNumber(cost?.[key]));
  const points = (figure) => known.map((way) => ({ x: way.cost[key], ...bounded(way[figure]), label: way.name ?? way.judges }));
  const tried = isNumber(frontier.tried) ? ` of ${counted(frontier.tried, "way")} tried` : "";
  const figure = scatterChart({
    title: "Cost-accuracy frontier",
    note: 
      `The best${tried} at each price, with 95 % intervals. The best of many looks better than it is: ` +
      '"held out" (dots) is what is chosen at this price on four fifths of the prompts, measured on the fifth. ' +
      "Where a dot lies in its ring, both are equal.",
    x: { label, format },
    y: { label: "fidelity", format: two },
    series: [
      { name: "measured on all groups", points: points("fidelity"), open: true },
      { name: "held out", points: points("held_out") },
    ],
    empty: "The costs of the best ways are not in these files.",
  });
  if (frontier.chosen) figure.append(el("p.legend", {}, "Recommended: ", name(frontier.chosen, 300), "."));
  return figure;
}

const bounded = ([y, low, high]) => ({ y, low, high });

const highest = ({ points }) => extent(points.map(({ y }) => y).filter(isNumber))[1];

function honestyCard(judges) {
  const said = judges
    .filter((one) => isNumber(one.figures.stderr_ratio?.[0]))
    .map((one) => `${one.label} ${two(one.figures.stderr_ratio[0])}`);
  const figure = scatterChart({
    title: "Are standard errors honest?",
    note: 
      "Each dot is a bin of groups: how far scores from two halves of the calls differ, against what their standard " +
      "errors say. Above the line, errors are understated; below it, overstated.",
    x: { label: "stated difference" },
    y: { label: "observed difference" },
    diagonal: true,
    most: FEW,
    series: judges.map((one) => ({
      name: one.label,
      points: one.bins
        .filter(([stated]) => isNumber(stated))
        .map(([x, y, low, high, groups]) => ({
          x,
          y,
          low,
          high,
          label: isNumber(groups) ? counted(groups, "group") : "",
        })),
    })),
    empty:
      "Not in these files: this takes four calls or more of each group that score every candidate (pairs do not), and " +
      "a calibration by this version of calipers.",
  });
  if (said.length)
    figure.append(
      el(
        "p.legend",
        {},
        "Observed over stated, squared, of all: ",
        name(said.slice(0, 12).join("; "), 600),
        ". 1 is honest.",
      ),
    );
  return figure;
}

export function positionCard(judges) {
  if (!judges.some((one) => one.positions.some(([y]) => isNumber(y)))) {
    if (judges.every((one) => isNumber(one.figures.first?.[0]))) return null; // said of pairs, by a figure of its own
    return { missing: "Position bias", why: "not in the file; it takes 20 groups or more, each shown in several orders" };
  }
  const shrunk = judges.some((one) => one.positions_shrunk && one.positions.length);
  return lineChart({
    title: "Position bias",
    note: `What a judge adds to a score at each position of a list, in units of its scores. ${
      shrunk ? "Shrunk towards 0 as far as chance may explain it." : "Bands are 95 % intervals; 0 is no bias."
    }`,
    x: { label: "position in the list", format: whole },
    y: { label: "added to the score", format: two },
    most: FEW,
    series: judges.map((one) => ({
      name: one.label,
      points: one.positions.map(([y, low, high], at) => ({ x: at + 1, y, low, high })),
    })),
    levels: [{ y: 0, label: "" }],
  });
}

function lengthCard(judges) {
  const rows = judges.flatMap((judge) => {
    const [own] = judge.figures.length ?? [null];
    const [gold] = judge.figures.gold_length ?? [null];
    if (!isNumber(own)) return [];
    return [{ name: judge.label, value: own, note: isNumber(gold) ? `gold ${two(gold)}` : "gold not known" }];
  });
  return categoryChart({
    title: "Length preference",
    note: 
      "The correlation of scores with the length of answers, within groups. " +
      "More than gold's own is a bias that training exploits.",
    label: "judge",
    what: "correlation",
    range: [-1, 1],
    format: two,
    level: { value: 0, label: "none" },
    rows,
  });
}

function failureCard(judges) {
  const figure = compared(judges, "failures", {
    title: "Without a readable answer",
    note: "The share of candidates (of criteria: of rows) that got no usable score.",
    what: "share",
    range: [0, 0.01],
    bars: true,
    format: percent,
    noteOf: ({ missing }) =>
      Object.entries(missing)
        .slice(0, 6)
        .map(([kind, count]) => `${whole(count)} ${kind}`)
        .join(", "),
  });
  return figure;
}

function panelCard(panel) {
  const figure = categoryChart({
    title: `Panel of ${panel.members.length}`,
    note: "The weight of each judge, learned without gold.",
    label: "judge",
    what: "weight",
    range: [0, 1],
    bars: true,
    format: two,
    rows: panel.members
      .map((member, at) => ({ name: member, value: panel.weights[at] ?? null }))
      .sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity) || 0),
  });
  const votes = isNumber(panel.votes)
    ? `These ${panel.members.length} judges are worth ${decimal(panel.votes, 1)} effective votes: ` +
      `their errors correlate by ${two(panel.correlation)}.`
    : "Effective votes are not known: this takes groups with gold that all judges scored, " +
      "and a calibration by this version of calipers.";
  const alone = panel.best && isNumber(panel.best[1]);
  figure.append(
    el("p.votes", {}, votes),
    alone
      ? el(
          "p.legend",
          {},
          "The best alone, asked as often as all together: ",
          name(panel.best[0] ?? "?", 80),
          ` ${two(panel.best[1])}; the panel ${two(panel.fidelity[0])}.`,
        )
      : "",
  );
  return figure;
}

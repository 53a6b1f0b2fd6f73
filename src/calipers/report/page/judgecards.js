// The figures of measured judges, side by side: from calibrations, and from profiles.
import { categoryChart } from "./categories.js";
import { lineChart, scatterChart } from "./charts.js";
import { el } from "./elements.js";
import { counted, decimal, dollars, whole } from "./numbers.js";
import { name } from "./text.js";

const percent = (value) => `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
const isNumber = (value) => typeof value === "number";
const two = (value) => decimal(value, 2);

/** One figure of all judges. One that no judge has is a sentence among those of `notKnown`. */
function compared(judges, key, options) {
  const rows = judges.map((judge) => {
    const [value, low, high] = judge.figures[key] ?? [null, null, null];
    return {
      name: judge.label,
      value,
      low,
      high,
      unknown: judge.unknown?.[key] || options.unknown,
      note: options.noteOf?.(judge),
    };
  });
  if (!rows.some((row) => isNumber(row.value)))
    return options.quiet ? null : { missing: options.title, why: rows[0]?.unknown };
  return categoryChart({ label: "judge", format: two, ...options, rows });
}

/** The figures, and in the place of those that no judge has one note that names them. */
function notKnown(figures) {
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
    has("fidelity") ? [callsCard(judges), costCard(files)] : null,
    has("fidelity") || !has("balanced_f1") ? [honestyCard(judges), positionCard(judges)] : null,
    compared(judges, "repeatability", {
      title: "Repeatability",
      note: 
        "The correlation of two calls within groups (for pairs: the share of equal verdicts). " +
        "A judge that repeats itself may still be wrong.",
      what: "repeatability",
      range: [0, 1],
      unknown: "never asked twice",
    }),
    compared(judges, "noise", {
      title: "Noise",
      note: "The standard deviation of one call's score, in units of the judge's own scores.",
      what: "noise",
      bars: true,
      unknown: "never asked twice",
    }),
    has("length")
      ? lengthCard(judges)
      : { missing: "Length preference", why: "the groups file had no texts of answers" },
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
      note: isNumber(judge.groups) ? `in ${counted(judge.groups, "group")}` : null,
      unknown: "no gold, or no scores",
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
        note: isNumber(panel.groups) ? `in ${counted(panel.groups, "group")}` : null,
      });
    }
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
    series: judges.map((one) => ({
      name: one.label,
      points: one.by_calls.filter(([calls]) => isNumber(calls)).map(([x, y, low, high]) => ({ x, y, low, high })),
    })),
    empty: "No judge has a fidelity.",
  });
}

const MEASURES = [
  ["cost_usd", "dollars for each group", (value) => (value === 0 ? "$0" : `$${Number(value.toPrecision(3))}`)],
  ["tokens", "tokens for each group", whole],
  ["shown", "transcripts read for each group", whole],
];

function costCard(files) {
  const ways = files.flatMap((file) => file.ways ?? []);
  const [key, label, format] =
    MEASURES.find(
      ([of]) =>
        ways.length && ways.every((way) => isNumber(way.cost?.[of])) && ways.some((way) => way.cost[of] > 0),
    ) ?? MEASURES[2];
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
    series: [...series].map(([of, points]) => ({ name: of, points })),
    empty: "The costs of the ways to ask are not in these files.",
  });
}

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
    empty: "This takes four calls or more of each group, and a calibration by this version of calipers.",
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

function positionCard(judges) {
  const shrunk = judges.some((one) => one.positions_shrunk && one.positions.length);
  return lineChart({
    title: "Position bias",
    note: `What a judge adds to a score at each position of a list, in units of its scores. ${
      shrunk ? "Shrunk towards 0 as far as chance may explain it." : "Bands are 95 % intervals; 0 is no bias."
    }`,
    x: { label: "position in the list", format: (value) => (Number.isInteger(value) ? whole(value) : "") },
    y: { label: "added to the score", format: two },
    series: judges.map((one) => ({
      name: one.label,
      points: one.positions.map(([y, low, high], at) => ({ x: at + 1, y, low, high })),
    })),
    levels: [{ y: 0, label: "" }],
    empty: "Not known: this takes 20 groups or more that were shown in several orders.",
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
    rows: panel.members.map((member, at) => ({ name: member, value: panel.weights[at] ?? null })),
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

/** @param {any[]} judges */
export function profileFigures(judges) {
  const card = (key, title, note, more = {}) =>
    compared(judges, key, { title, note, what: title.toLowerCase(), ...more });
  return notKnown([
    card("fidelity", "Fidelity", "The correlation of one call's scores with gold, within groups.", {
      range: [0, 1],
    }),
    positionCard(judges),
    card("noise", "Noise", "The standard deviation between repeats of one question; the scale is 0 to 1.", {
      range: [0, 0.1],
    }),
    card("repeatability", "Reliability", "The share of the variance within groups that is not noise.", {
      range: [0, 1],
    }),
    card(
      "length",
      "Length preference",
      "What a unit of length adds to a score at equal gold; the scale is 0 to 1.",
      { level: { value: 0, label: "none" } },
    ),
    card("injection", "Injection", "What an instruction to the judge adds to a candidate's score.", {
      level: { value: 0, label: "none" },
    }),
    card("failures", "Failures", "The share of candidates about which the answer could not be used.", {
      bars: true,
      format: percent,
      range: [0, 0.01],
    }),
  ]);
}

/** A sum that was known in part: "$0.12, of 3 calls unknown". @param {[number | null, number, number]} sum */
export function dollarsOf([total, , unknown], noun) {
  if (!isNumber(total)) return "cost unknown";
  return `${dollars(total)}${unknown ? `, and of ${counted(unknown, noun)} unknown` : ""}`;
}

// The figures of judges that were profiled, or compared on the same groups: of one call each, side by side.
import { categoryChart } from "./categories.js";
import { numbersTable } from "./charts.js";
import { folded } from "./elements.js";
import { compared, missingFigure, notKnown, positionCard } from "./judgecards.js";
import { decimal, dollars, percent, whole } from "./numbers.js";
import { name } from "./text.js";

/** @param {any[]} judges */
export function profileFigures(judges) {
  const note = "What a unit of length adds to a score at equal gold; the scale is 0 to 1.";
  return notKnown([
    agreementAndNoise(judges),
    oneFigure(judges, "length", "Length preference", note, { level: { value: 0, label: "none" } }),
    injectionAndFailures(judges),
  ]);
}

/** @param {any} file a comparison */
export function comparisonFigures(file, judges) {
  return notKnown([file.cards.map(cardOf), agreementAndNoise(judges), injectionAndFailures(judges)]);
}

/** The answers that the judges of a comparison score most differently. */
export function movedAnswers({ moved }) {
  if (!moved.length) return null;
  const judges = [...new Set(moved.flatMap(({ scores }) => scores.map(([judge]) => judge)))];
  const rows = moved.map(({ group, answer, scores }) => {
    const own = new Map(scores);
    return [[name(group, 60), ", ", name(answer, 60)], ...judges.map((judge) => decimal(own.get(judge)))];
  });
  return folded("Answers that judges score most differently", () =>
    numbersTable(["group, answer", ...judges.map((judge) => name(judge, 60))], rows),
  );
}

const FORMATS = { dollars, tokens: whole };

function cardOf({ zero, format, ...card }) {
  if (!card.rows.some(({ value }) => typeof value === "number")) return missingFigure(card.title, card.rows);
  const level = zero === null ? undefined : { value: 0, label: zero };
  return categoryChart({ ...card, level, format: FORMATS[format] ?? decimal });
}

function oneFigure(judges, key, title, note, more = {}) {
  return compared(judges, key, { title, note, what: title.toLowerCase(), ...more });
}

function agreementAndNoise(judges) {
  const share = { range: [0, 1] };
  return [
    oneFigure(judges, "fidelity", "Fidelity", "The correlation of one call's scores with gold, within groups.", share),
    positionCard(judges),
    oneFigure(judges, "noise", "Noise", "The standard deviation between repeats of one question; the scale is 0 to 1.", {
      range: [0, 0.1],
    }),
    oneFigure(judges, "repeatability", "Reliability", "The share of the variance within groups that is not noise.", share),
  ];
}

function injectionAndFailures(judges) {
  return [
    oneFigure(judges, "injection", "Injection", "What an instruction to the judge adds to a candidate's score.", {
      level: { value: 0, label: "none" },
    }),
    oneFigure(judges, "failures", "Failures", "The share of candidates about which the answer could not be used.", {
      bars: true,
      format: percent,
      range: [0, 0.01],
    }),
  ];
}

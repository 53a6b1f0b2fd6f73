// What results and ledgers say of their judges: how questions ended, what they cost, and whether answers repeat.
import { categoryChart } from "./categories.js";
import { el } from "./elements.js";
import { counted, dollarsOf, seconds, two, whole } from "./numbers.js";
import { AGAIN } from "./questions.js";
import { name } from "./text.js";

const STATUS_WORDS = { scored: "scored", abstained: "the answers could not be used", failed: "no answer came" };
const OUTCOME_WORDS = {
  strict: "read as asked",
  repaired: "repaired",
  text: "read from text",
  partial: "incomplete",
  rejected: "not usable",
};

/** @param {any} tally what one source says */
export function judgedFigures(tally) {
  const { judges } = tally;
  return [
    summaryCard(tally),
    judges.length ? failuresCard(judges) : null,
    judges.length ? readCard(judges) : null,
    judges.length ? repeatsCard(judges) : null,
    tally.parts.length ? partsCard(tally.parts) : null,
  ];
}

function summaryCard(tally) {
  const members = Object.entries(tally.members);
  const figure = categoryChart({
    title: `${counted(tally.groups, "group")}, ${counted(
      members.reduce((sum, [, count]) => sum + count, 0),
      "trajectory",
    ).replace("trajectorys", "trajectories")}`,
    note: "How the trajectories were judged. One without a score has no reward.",
    label: "status",
    what: "trajectories",
    bars: true,
    format: whole,
    rows: members.map(([status, value]) => ({
      name: status,
      value,
      note: STATUS_WORDS[status] === status ? null : STATUS_WORDS[status],
    })),
  });
  const [calls] = tally.calls;
  const facts = [
    ["judge calls", calls === null ? "not recorded" : whole(calls)],
    ["cost", dollarsOf(tally.cost, "group")],
    ["groups with an attack found", whole(tally.injected)],
  ];
  const [agreement, low, high, measured] = tally.gold ?? [];
  if (typeof agreement === "number") {
    const between = typeof low === "number" ? ` (${two(low)} to ${two(high)})` : "";
    facts.push(["agreement of rewards with gold", `${two(agreement)}${between}, in ${counted(measured, "group")}`]);
  }
  figure.append(factsOf(facts));
  if (typeof agreement === "number")
    figure.append(
      el(
        "p.legend",
        {},
        "Agreement is Somers' D within groups, with its 95 % interval: 1 is gold's order, 0 chance.",
      ),
    );
  if (!tally.judges.length)
    figure.append(
      el(
        "p.legend",
        {},
        "How each question ended is known from a ledger only: name the one that this run recorded.",
      ),
    );
  else if (tally.asked < tally.groups)
    figure.append(
      el("p.legend", {}, `${counted(tally.groups - tally.asked, "group")} without recorded questions.`),
    );
  return figure;
}

function factsOf(facts) {
  return el(
    "dl.figures",
    {},
    facts.map(([what, value]) => el("div", {}, el("dt", {}, what), el("dd", {}, value))),
  );
}

function failuresCard(judges) {
  const several = judges.length > 1;
  const rows = judges.flatMap((judge) => {
    const own = several ? `${judge.name}: ` : "";
    const kinds = Object.entries(judge.failures).map(([kind, value]) => ({
      name: own + kind.replaceAll("_", " "),
      value,
    }));
    if (judge.outcomes.rejected) kinds.push({ name: `${own}answer not usable`, value: judge.outcomes.rejected });
    if (judge.outcomes.partial) kinds.push({ name: `${own}answer incomplete`, value: judge.outcomes.partial });
    if (judge.cut_off) kinds.push({ name: `${own}answer cut off`, value: judge.cut_off });
    return kinds.sort((a, b) => b.value - a.value);
  });
  const asked = judges.reduce((sum, one) => sum + one.questions, 0);
  return categoryChart({
    title: "Failures by kind",
    note: `Of ${counted(asked, "question")}. An answer that was cut off may also be incomplete.`,
    label: "kind",
    what: "questions",
    bars: true,
    format: whole,
    rows,
    empty: `None of ${counted(asked, "question")} failed.`,
  });
}

function readCard(judges) {
  return el(
    "figure.chart",
    {},
    el("figcaption", {}, el("h3", {}, "Questions and cost")),
    judges.map((judge) => {
      const [latency, timed] = judge.latency;
      const [tokens] = judge.tokens;
      const [won, canaries] = judge.canaries;
      const again = [...AGAIN].reduce((sum, cause) => sum + (judge.causes[cause] ?? 0), 0);
      const read = Object.entries(judge.outcomes).map(
        ([kind, count]) => `${whole(count)} ${OUTCOME_WORDS[kind] ?? kind}`,
      );
      return el(
        "div.judge-facts",
        {},
        el("h4", {}, name(judge.name, 80)),
        factsOf([
          ["questions", `${whole(judge.questions)} about ${counted(judge.groups, "group")}`],
          ["re-asked", whole(again)],
          ["answers", read.join(", ") || "none"],
          ["tokens", tokens === null ? "not known" : whole(tokens)],
          ["cost", dollarsOf(judge.cost, "answer")],
          ["time of an answer", latency === null ? "not known" : seconds(latency / timed) || "under 0.05 s"],
          ["decoys", canaries ? `${whole(won)} of ${whole(canaries)} won` : "none asked"],
        ]),
      );
    }),
  );
}

function repeatsCard(judges) {
  const repeated = categoryChart({
    title: "Repeatability",
    note: "The correlation of two calls about the same candidates, within groups, in the orders that were asked.",
    label: "judge",
    what: "correlation",
    range: [0, 1],
    format: two,
    rows: judges.map((one) => ({
      name: one.name,
      value: one.repeatability,
      note: one.repeatability === null ? null : `from ${counted(one.repeated, "group")}`,
      unknown: one.repeated ? "all its scores are equal" : "no list was rated twice",
    })),
  });
  repeated.append(
    el(
      "ul.legend",
      {},
      judges.map((one) => {
        const [flipped, turned] = one.flips;
        const said = turned
          ? `${whole(flipped)} of ${counted(turned, "group")} in several orders flipped`
          : "no group was shown in several orders";
        return el("li", {}, name(one.name, 80), `: ${said}.`);
      }),
    ),
  );
  return repeated;
}

function partsCard(parts) {
  return categoryChart({
    title: "Judges of the panel",
    note: "Their answers, as the results say.",
    label: "judge",
    what: "answers",
    bars: true,
    format: whole,
    rows: parts.map(([judge, [answers], [scored], cost]) => ({
      name: judge,
      value: answers,
      note: `${scored === null ? "" : `${whole(scored)} scored, `}${dollarsOf(cost, "group")}`,
    })),
  });
}

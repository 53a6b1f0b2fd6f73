// Everything the report knows of one group.
import { candidateColumns } from "./candidates.js";
import { el, folded } from "./elements.js";
import { chat, json } from "./messages.js";
import { counted, dollars, two, whole } from "./numbers.js";
import { questionList } from "./questions.js";
import { rankingTable } from "./ranking.js";
import { FLAGS } from "./search.js";
import { name, textBlock } from "./text.js";

const WARNINGS_SHOWN = 50;
const RELIABILITY =
  "The share of the variance of the group's scores that is not noise, with its 95 % interval, and what the noise is known from";
const NOISE_FROM = { repeats: "from repeats", learned: "from earlier answers", assumed: "assumed" };

/** The view of a group. */
export function groupView(detail) {
  const columns = el("div", {}, candidateColumns(detail));
  const show = (id) => {
    const found = [...columns.querySelectorAll(".candidate")].find((one) => one.dataset.candidate === id);
    found?.scrollIntoView({ behavior: "auto", block: "nearest", inline: "start" });
    found?.focus({ preventScroll: true });
  };
  return [
    warnings(detail),
    lacking(detail),
    el("section", { "aria-label": "ranking" }, rankingTable(detail.trajectories, show)),
    detail.judges.length ? panel(detail.judges) : null,
    prompt(detail),
    el("section", {}, el("h2", {}, counted(detail.trajectories.length, "candidate")), columns),
    questions(detail),
    Object.keys(detail.more).length ? folded("further keys of the result", () => json(detail.more)) : null,
  ];
}

/** The line under a group's title: status, flags, cost. */
export function groupFacts({ status, flags, attempts, judge_calls: calls, usage, reliability: found }) {
  const failed = attempts !== null && calls !== null && attempts > calls ? attempts - calls : 0;
  const asked = calls === null ? "number of answers unknown" : counted(calls, "answer");
  const tokens = `${whole(usage?.input_tokens)} tokens in, ${whole(usage?.output_tokens)} out`;
  const unanswered = failed ? [`${counted(failed, "call")} without an answer`] : [];
  return [
    el("span.status", { "data-status": status }, status),
    flags.filter((flag) => flag !== status).map((flag) => el(`span.flag.${flag}`, { title: FLAGS[flag] }, flag)),
    el("span.quiet", {}, [asked, ...unanswered, tokens, dollars(usage?.cost_usd)].join(", ")),
    el("span.quiet", { title: RELIABILITY }, reliability(found)),
  ];
}

function reliability({ value, interval, basis }) {
  if (value === null) return "reliability unknown";
  const range = interval === null ? "" : ` [${two(interval[0])}, ${two(interval[1])}]`;
  return `reliability ${two(value)}${range}, noise ${NOISE_FROM[basis]}`;
}

function warnings(detail) {
  const all = detail.warnings;
  if (!all.length) return null;
  const left = all.length - WARNINGS_SHOWN;
  const items = all.slice(0, WARNINGS_SHOWN).map((text) => el("li", {}, name(text, 600)));
  const more = left > 0 ? el("li", {}, `${counted(left, "more warning")}, in the result file`) : null;
  return el("ul.warnings", { "aria-label": "warnings" }, items, more);
}

function lacking(detail) {
  const notes = [
    detail.shared === null ? "This report has scores but no texts. calipers report --groups GROUPS adds them, or the ledger." : null,
    detail.questions === null
      ? "What the judge was asked is in the run's ledger, which this report was written without."
      : null,
  ];
  return notes.filter(Boolean).map((text) => el("p.note", {}, text));
}

function panel(judges) {
  const heads = ["judge", "answers", "candidates scored", "cost"].map((label) => el("th", {}, label));
  const rows = judges.map(({ judge, answers, scored, usage }) =>
    el(
      "tr",
      {},
      el("td", {}, name(judge, 60)),
      [whole(answers), whole(scored), dollars(usage?.cost_usd)].map((text) => el("td.number", {}, text)),
    ),
  );
  return folded(`panel of ${counted(judges.length, "judge")}`, () =>
    el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows)),
  );
}

function prompt({ shared, tools, rubric, written }) {
  const quiet = (text) => el("span.quiet", {}, ` ${text}`);
  const isShort = shared?.length === 1 && JSON.stringify(shared).length < 1200;
  const parts = [
    shared?.length
      ? folded(["Prompt", quiet(`${counted(shared.length, "message")} that all candidates begin with`)], () => chat(shared), { name: "prompt", open: isShort })
      : null,
    tools.length ? folded(["Tools", quiet(whole(tools.length))], () => json(tools)) : null,
    rubric ? folded("Rubric of the group", () => (typeof rubric === "string" ? textBlock(rubric) : json(rubric))) : null,
    written ? writtenCriteria(written) : null,
  ].filter(Boolean);
  return parts.length ? el("section", { "aria-label": "prompt" }, parts) : null;
}

/** The criteria that a model wrote for the group's prompt. */
function writtenCriteria({ criteria, problem }) {
  if (!criteria.length)
    return el("p.note", {}, "No criteria were written for this prompt", problem ? [": ", name(problem, 300)] : null, ".");
  const items = criteria.map(({ id, text, points, veto }) => {
    const facts = `${points === null ? "points unknown" : counted(points, "point")}${veto ? ", veto" : ""}`;
    return el("li", {}, el("div.label", {}, name(id, 60), ` ${facts}`), text === null ? null : textBlock(text, { limit: 400 }));
  });
  const title = ["Criteria for this prompt", el("span.quiet", {}, ` ${criteria.length}, written by a model`)];
  return folded(title, () => el("ul.criteria", {}, items), { name: "written-criteria", open: criteria.length <= 8 });
}

function questions(detail) {
  if (detail.questions === null) return null;
  const count = detail.questions.length;
  return el(
    "section",
    {},
    el("h2", {}, `What was asked: ${counted(count, "question")}`),
    count ? questionList(detail) : el("p.quiet", {}, "No question was needed."),
  );
}

// Everything the report knows of one group.
import { button, el, fill, folded } from "./elements.js";
import { candidateColumns, comparison } from "./candidates.js";
import { chat, json } from "./messages.js";
import { counted, dollars, two, whole } from "./numbers.js";
import { JudgeNames } from "./judgenames.js";
import { cascadeRoute, promptCriteria } from "./origins.js";
import { questionList } from "./questions.js";
import { rankingTable } from "./ranking.js";
import { FLAGS } from "./search.js";
import { name, textBlock } from "./text.js";

const WARNINGS_SHOWN = 5;
const WARNINGS_MORE = 200;

/** The view of a group. `state.markdown` says whether text is shown formatted. */
export function groupView(detail, about, state) {
  const names = new JudgeNames([
    ...about.runs.flatMap(({ judges }) => judges),
    ...detail.judges.map(({ judge }) => judge),
    detail.route?.judge,
  ]);
  const columns = el("div");
  const showColumns = () => fill(columns, candidateColumns(detail, state));
  showColumns();
  const toggle = button(state.markdown ? "Show plain text" : "Show formatted text", () => {
    state.markdown = !state.markdown;
    toggle.textContent = state.markdown ? "Show plain text" : "Show formatted text";
    showColumns();
  });
  const show = (id) => {
    const found = [...columns.querySelectorAll(".candidate")].find((one) => one.dataset.candidate === id);
    found?.scrollIntoView({ behavior: "auto", block: "nearest", inline: "start" });
    found?.focus({ preventScroll: true });
  };
  return [
    warnings(detail),
    lacking(detail, about),
    cascadeRoute(names.within(detail.route)),
    el("section", { "aria-label": "ranking" }, rankingTable(detail.trajectories, show)),
    detail.judges.length ? panel(names.within(detail.judges)) : null,
    prompt(detail, state),
    promptCriteria(detail.written),
    el(
      "section",
      {},
      el(
        "div.section-head",
        {},
        el("h2", {}, counted(detail.trajectories.length, "candidate")),
        detail.shared === null || detail.redacted ? null : toggle,
      ),
      detail.shared === null ? null : comparison(detail),
      columns,
    ),
    questions(detail, names),
    furtherKeys(detail),
  ];
}

/** The line under a group's title: status, flags, cost. */
export function groupFacts(detail) {
  const usage = detail.usage ?? {};
  const failed =
    detail.attempts !== null && detail.judge_calls !== null && detail.attempts > detail.judge_calls
      ? `, ${counted(detail.attempts - detail.judge_calls, "call")} without an answer`
      : "";
  return [
    el("span.status", { "data-status": detail.status }, detail.status),
    detail.flags
      .filter((flag) => flag !== detail.status)
      .map((flag) => el(`span.flag.${flag}`, { title: FLAGS[flag] }, flag)),
    el(
      "span.quiet",
      {},
      `${detail.judge_calls === null ? "number of answers unknown" : counted(detail.judge_calls, "answer")}${failed}, ${whole(usage.input_tokens)} tokens in, `,
      `${whole(usage.output_tokens)} out, ${dollars(usage.cost_usd)}`,
    ),
    el("span.quiet", { title: RELIABILITY }, reliability(detail.reliability)),
  ];
}

const RELIABILITY =
  "The share of the variance of the group's scores that is not noise, with its 95 % interval, and what the noise is known from";

function reliability({ value, interval, basis }) {
  if (value === null) return "reliability unknown";
  const range = interval === null ? "" : ` [${two(interval[0])}, ${two(interval[1])}]`;
  return `reliability ${two(value)}${range}, noise ${basis === "assumed" ? "assumed" : `from ${SOURCES[basis]}`}`;
}

const SOURCES = { repeats: "repeats", learned: "earlier answers" };

function warnings(detail) {
  const all = detail.warnings;
  if (detail.redacted && detail.warning_count)
    return el("p.note", {}, `${counted(detail.warning_count, "warning")}, left out of this report`);
  if (!all.length) return null;
  const items = el("ul.warnings", { "aria-label": "warnings" });
  let shown = 0;
  const more = button("", () => show(WARNINGS_MORE), { class: "more" });
  const show = (count) => {
    for (const text of all.slice(shown, shown + count)) items.append(el("li", {}, name(text, 600)));
    shown += count;
    const left = Math.max(0, all.length - shown);
    more.textContent = `Show ${whole(Math.min(WARNINGS_MORE, left))} of ${counted(left, "more warning")}`;
    more.hidden = left === 0;
  };
  show(WARNINGS_SHOWN);
  return el("div", {}, items, more);
}

function lacking(detail, about) {
  const notes = [];
  if (detail.redacted)
    notes.push("This report was written with --redact: it holds no prompt, no answer and no words of the judge.");
  else if (detail.shared === null)
    notes.push("This report has scores but no texts. calipers report --groups GROUPS adds them, or the ledger.");
  if (detail.questions === null && !about.redacted)
    notes.push("What the judge was asked is in the run's ledger, which this report was written without.");
  return notes.map((text) => el("p.note", {}, text));
}

function panel(judges) {
  const rows = judges.map((one) =>
    el(
      "tr",
      {},
      el("td", {}, name(one.judge, 60)),
      el("td.number", {}, whole(one.answers)),
      el("td.number", {}, whole(one.scored)),
      el("td.number", {}, dollars(one.usage?.cost_usd)),
    ),
  );
  return folded(`panel of ${counted(judges.length, "judge")}`, () =>
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ["judge", "answers", "candidates scored", "cost"].map((label) => el("th", {}, label)),
        ),
      ),
      el("tbody", {}, rows),
    ),
  );
}

function prompt(detail, state) {
  if (detail.shared === null) return null;
  const shared = detail.shared;
  const parts = [];
  if (shared.length)
    parts.push(
      folded(
        ["Prompt", el("span.quiet", {}, ` ${counted(shared.length, "message")} that all candidates begin with`)],
        () => chat(shared, state),
        { name: "prompt", open: shared.length === 1 && JSON.stringify(shared).length < 1200 },
      ),
    );
  if (detail.tools.length)
    parts.push(folded(["Tools", el("span.quiet", {}, ` ${whole(detail.tools.length)}`)], () => json(detail.tools)));
  if (detail.rubric)
    parts.push(
      folded("Rubric of the group", () =>
        typeof detail.rubric === "string" ? textBlock(detail.rubric) : json(detail.rubric),
      ),
    );
  return parts.length ? el("section", { "aria-label": "prompt" }, parts) : null;
}

function questions(detail, names) {
  if (detail.questions === null) return null;
  const count = detail.questions.length;
  return el(
    "section",
    {},
    el("h2", {}, `What was asked: ${counted(count, "question")}`),
    count ? questionList(detail, names) : el("p.quiet", {}, "No question was needed."),
  );
}

function furtherKeys(detail) {
  return Object.keys(detail.more).length ? folded("further keys of the result", () => json(detail.more)) : null;
}

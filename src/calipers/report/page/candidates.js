// The candidates of a group side by side, best first, with the judge's words about each.
import { el, folded } from "./elements.js";
import { chat, json } from "./messages.js";
import { decimal, whole } from "./numbers.js";
import { goldNote, ranked } from "./ranking.js";
import { name, textBlock } from "./text.js";

/** The columns, each with the id of its trajectory in `data-candidate`. */
export function candidateColumns(detail) {
  const columns = ranked(detail.trajectories).map(({ one, rank }) => column(one, rank, detail));
  return el("div.columns", { tabindex: "0", role: "region", "aria-label": "candidates side by side" }, columns);
}

function column(one, rank, detail) {
  const marks = one.attacks.map((hit) => hit.excerpt).filter((mark) => typeof mark === "string");
  const number =
    one.reward === null
      ? el("span.status", { "data-status": one.status }, one.status)
      : el("span.reward", {}, decimal(one.reward));
  return el(
    "article.candidate",
    { "data-candidate": one.id, tabindex: "0" },
    el("header", {}, el("span.rank", {}, rank), el("h3", {}, name(one.id, 60)), goldNote(one), number),
    judgeWords(one, detail),
    one.attacks.length ? attacksOf(one.attacks) : null,
    one.criteria.length ? criteriaOf(one.criteria) : null,
    messagesOf(one, detail, { marks }),
    metadataOf(one),
  );
}

/** Whose words an explanation is: it is that of the first answer which has one. */
function sayer(one, detail) {
  if (one.explanation.startsWith("by the rule on_attack=")) return "note";
  const judge = detail.judges.length > 1 ? "a judge says" : "the judge says";
  return detail.judge_calls > 1 && !one.criteria.length ? `${judge}, in one of its answers` : judge;
}

function judgeWords(one, detail) {
  const words = (kind, title, text) =>
    text ? el(kind, {}, el("div.label", {}, title), textBlock(text, { limit: 1500 })) : null;
  return [
    one.explanation ? words("div.judge-words", sayer(one, detail), one.explanation) : null,
    words("div.judge-words.none", one.reward === null ? `${one.status}, because` : "note", one.reason),
  ];
}

function attacksOf(attacks) {
  const items = attacks
    .slice(0, 50)
    .map((hit) =>
      el(
        "li",
        {},
        el("strong", {}, name(hit.kind.replaceAll("_", " "), 40)),
        ` (${hit.certainty}) in message ${whole(hit.message)}, by `,
        name(hit.role, 30),
        hit.excerpt ? [": ", el("q", {}, name(hit.excerpt, 200))] : null,
      ),
    );
  const more = attacks.length > items.length ? el("li", {}, `${whole(attacks.length - items.length)} more`) : null;
  return el("div.attacks", {}, el("div.label", {}, "addresses the judge"), el("ul", {}, items, more));
}

const MET = { true: "met", false: "not met", null: "no verdict" };

function criteriaOf(criteria) {
  const rows = criteria.map((one) =>
    el(
      "li",
      { "data-met": String(one.met ?? null) },
      el("span.met", {}, MET[String(one.met ?? null)] ?? "no verdict"),
      " ",
      name(one.id, 60),
      one.by === "rule" ? el("span.quiet", {}, " by a rule") : null,
      one.reason ? el("div.quiet", {}, name(one.reason, 400)) : null,
    ),
  );
  return folded(
    `criteria: ${criteria.filter((one) => one.met === true).length} of ${criteria.length} met`,
    () => el("ul.criteria", {}, rows),
    { open: criteria.length <= 8 },
  );
}

function messagesOf(one, detail, options) {
  if (one.messages === null || one.messages === undefined)
    return el(
      "p.quiet.lacking",
      {},
      detail.shared === null
        ? "The texts are not in this report."
        : "The groups file has no trajectory with this id.",
    );
  if (!one.messages.length) return el("p.quiet.lacking", {}, "It has no messages.");
  return chat(one.messages, options);
}

function metadataOf(one) {
  const known = { ...(one.metadata ? { metadata: one.metadata } : {}), ...one.more };
  return Object.keys(known).length ? folded("metadata", () => json(known)) : null;
}

// What the judge was asked about a group: which candidates in which order, why, what came back, and both as raw text.
import { button, el, fill, folded } from "./elements.js";
import { counted, decimal, dollars, seconds, whole } from "./numbers.js";
import { name, textBlock } from "./text.js";

const CAUSES = {
  criteria: "the criteria for the prompt, asked before any answer is judged",
  first: "the first question",
  order: "a further order",
  sample: "the same order again",
  swap: "the pair the other way round",
  unresolved: "asked on, because the ranking was not certain enough",
  missing: "asked again: candidates were missing in the answer",
  doubt: "asked again: the answer could not be trusted",
  truncated: "asked again: the answer was cut off",
  window: "asked again: the question was too long",
  substitute: "another judge, because a call failed",
  canary: "asked again: a decoy answer won",
  tested: "asked after the judge saw through a decoy answer",
};
const OUTCOMES = {
  strict: "read as it should be",
  repaired: "read after repairing its JSON",
  text: "read from text",
  partial: "read in part",
  rejected: "not read",
};
const GOOD = ["strict", "repaired", "text"];
const LONGEST = 20_000;

/** All questions about a group. */
export function questionList(detail) {
  return el("ol.questions", {}, detail.questions.map((one) => question(one, detail)));
}

function question(one, detail) {
  const answer = one.answer ?? {};
  const cause = CAUSES[one.cause] ?? name(one.cause, 40);
  const again = /^(asked again|another judge)/.test(CAUSES[one.cause] ?? "");
  const outcome = one.failed ? ["failed: ", name(one.outcome, 40)] : (OUTCOMES[one.outcome] ?? name(one.outcome, 40));
  const facts = [
    one.judge ? name(one.judge, 60) : null,
    answer.input_tokens === undefined ? null : `${whole(answer.input_tokens)} tokens in, ${whole(answer.output_tokens)} out`,
    typeof answer.cost_usd === "number" ? dollars(answer.cost_usd) : null,
    seconds(answer.latency) || null,
    answer.attempts > 1 ? counted(answer.attempts, "call") : null,
  ];
  return el(
    "li.question",
    {},
    el(
      "div.asked",
      {},
      el(again ? "span.cause.again" : "span.cause", {}, cause),
      el("span.outcome", { "data-good": String(GOOD.includes(one.outcome)) }, outcome),
    ),
    el("div.facts", {}, facts.filter(Boolean).map((fact) => el("span", {}, fact))),
    shownOrder(one),
    one.reason ? el("p.quiet", {}, name(one.reason, 600)) : null,
    missing(one.missing, one.reason),
    one.canary ? el("p.quiet", {}, one.canary.won ? "A decoy answer won." : "The decoy answer did not win.") : null,
    raw(one, detail),
  );
}

function shownOrder(one) {
  const rated = one.judgments.filter((judgment) => judgment.item !== undefined && judgment.value !== undefined);
  if (rated.length) {
    const value = new Map(rated.map((judgment) => [judgment.item, judgment.value]));
    const order = one.order.length ? one.order : rated.map((judgment) => judgment.item);
    const items = order.map((id) => el("li", {}, id === null ? "?" : name(id, 30), " ", el("b", {}, decimal(value.get(id), 2))));
    return el(
      "div.shown",
      {},
      el("span.quiet", {}, one.order.length ? "shown in this order" : "rated"),
      el("ol.order", {}, items),
    );
  }
  const others = one.judgments.slice(0, 200).map((judgment) => el("li", {}, judgmentOf(judgment)));
  return others.length ? el("ol.order", {}, others) : null;
}

function judgmentOf({ first, second, margin, item, criterion, met }) {
  if (first === undefined) {
    const verdict = met === true ? "met" : met === false ? "not met" : "no verdict";
    return [name(item ?? "", 30), " ", name(criterion ?? "", 40), " ", el("b", {}, verdict)];
  }
  const says = margin > 0 ? " is better than " : margin < 0 ? " is worse than " : " equals ";
  return [name(first, 30), says, name(second, 30), " ", el("b", {}, decimal(Math.abs(margin), 2))];
}

/** Candidates without a score, those with one reason together; a reason that is the question's own is not repeated. */
function missing(reasons, own) {
  const byReason = new Map();
  for (const [id, why] of Object.entries(reasons)) byReason.set(why, [...(byReason.get(why) ?? []), id]);
  const items = [...byReason].slice(0, 50).map(([why, ids]) =>
    el(
      "li",
      {},
      "no score for ",
      ids.slice(0, 50).flatMap((id, at) => [at ? ", " : null, name(id, 40)]),
      ids.length > 50 ? ` and ${whole(ids.length - 50)} more` : null,
      why && why !== own ? [": ", name(why, 300)] : null,
    ),
  );
  return items.length ? el("ul.missing", {}, items) : null;
}

/** Buttons that show the question, the reply and the judge's reasoning as raw text. */
function raw(one, detail) {
  const { text, reasoning } = one.answer ?? {};
  const shown = el("div.raw");
  const choices = [
    one.request ? ["question", () => requestView(one, detail)] : null,
    typeof text === "string" ? ["reply", () => textBlock(text || "(empty)", { mono: true, limit: LONGEST })] : null,
    reasoning ? ["the judge's reasoning", () => textBlock(reasoning, { limit: LONGEST })] : null,
  ].filter(Boolean);
  if (!choices.length) return null;
  const buttons = choices.map(([label, build]) => {
    const made = button(
      label,
      () => {
        const opens = made.getAttribute("aria-expanded") === "false";
        for (const each of buttons) each.setAttribute("aria-expanded", String(opens && each === made));
        fill(shown, opens ? build() : null);
      },
      { "aria-expanded": "false" },
    );
    return made;
  });
  const names = Object.entries(one.names).flatMap(([key, id], at) => [
    at ? ", " : "the judge reads ",
    name(key, 20),
    " for ",
    name(id, 30),
  ]);
  return el("div", {}, el("div.choices", {}, buttons, el("span.quiet", {}, names)), shown);
}

/** The request of a question, with its shared lines put back. */
export function requestText(one, detail) {
  return one.request.map((line) => (typeof line === "number" ? detail.lines[line] : line)).join("\\n");
}

function requestView(one, detail) {
  const text = requestText(one, detail);
  const asSent = folded("as it was sent (JSON)", () => textBlock(text, { mono: true, limit: LONGEST }));
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    return el("div", {}, asSent);
  }
  // A judge that was sent nothing has no body: its ledger records endpoint, model and messages as a list.
  const messages = Array.isArray(body) ? body[2] : body.messages;
  return el("div", {}, (Array.isArray(messages) ? messages : []).map(sentMessage), asSent);
}

function sentMessage({ role, content }) {
  const parts = Array.isArray(content) ? content.map((part) => part?.text ?? "[image]").join("\n") : JSON.stringify(content);
  const text = typeof content === "string" ? content : parts;
  return [el("div.label", {}, name(role ?? "", 30)), textBlock(text, { mono: true, limit: LONGEST })];
}

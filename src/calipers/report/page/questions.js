// What the judge was asked about a group: which candidates in which order, why, what came back, and both as raw text.
import { button, el, fill, folded } from "./elements.js";
import { counted, decimal, dollars, seconds, whole } from "./numbers.js";
import { labelled, name, textBlock } from "./text.js";

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
/** The causes of questions that repeat an earlier one because something went wrong, as in flags.py. */
export const AGAIN = new Set(["missing", "doubt", "truncated", "window", "substitute", "canary"]);

/** All questions about a group. */
export function questionList(detail, names) {
  return el(
    "ol.questions",
    {},
    detail.questions.map((one) => question(one, detail, names)),
  );
}

function question(one, detail, names) {
  const answer = one.answer ?? {};
  const good = one.outcome === "strict" || one.outcome === "repaired" || one.outcome === "text";
  const facts = [
    one.judge ? el("span", { title: labelled(one.judge, 400) }, name(names.of(one.judge), 60)) : null,
    answer.input_tokens === undefined
      ? null
      : `${whole(answer.input_tokens)} tokens in, ${whole(answer.output_tokens)} out`,
    typeof answer.cost_usd === "number" ? dollars(answer.cost_usd) : null,
    seconds(answer.latency) || null,
    answer.attempts > 1 ? `${counted(answer.attempts, "call")}` : null,
  ].filter(Boolean);
  return el(
    "li.question",
    {},
    el(
      "div.asked",
      {},
      el(
        "span.cause",
        { class: AGAIN.has(one.cause) ? "cause again" : "cause" },
        CAUSES[one.cause] ?? name(one.cause, 40),
      ),
      el(
        "span.outcome",
        { "data-good": String(good) },
        one.failed ? ["failed: ", name(one.outcome, 40)] : (OUTCOMES[one.outcome] ?? name(one.outcome, 40)),
      ),
    ),
    el(
      "div.facts",
      {},
      facts.map((fact) => el("span", {}, fact)),
    ),
    shownOrder(one),
    one.reason ? el("p.why", {}, name(one.reason, 600)) : null,
    missing(one.missing, one.reason),
    one.canary ? el("p.why", {}, one.canary.won ? "A decoy answer won." : "The decoy answer did not win.") : null,
    raw(one, detail),
  );
}

function shownOrder(one) {
  const rated = one.judgments.filter((judgment) => judgment.item !== undefined && judgment.value !== undefined);
  if (rated.length) {
    const value = new Map(rated.map((judgment) => [judgment.item, judgment.value]));
    const order = one.order.length ? one.order : rated.map((judgment) => judgment.item);
    return el(
      "div.shown",
      {},
      el("span.quiet", {}, one.order.length ? "shown in this order" : "rated"),
      el(
        "ol.order",
        {},
        order.map((id) =>
          el("li", {}, id === null ? "?" : name(id, 30), " ", el("b", {}, decimal(value.get(id), 2))),
        ),
      ),
    );
  }
  const others = one.judgments.slice(0, 200).map((judgment) => {
    if (judgment.first !== undefined)
      return el(
        "li",
        {},
        name(judgment.first, 30),
        judgment.margin > 0 ? " is better than " : judgment.margin < 0 ? " is worse than " : " equals ",
        name(judgment.second, 30),
        " ",
        el("b", {}, decimal(Math.abs(judgment.margin), 2)),
      );
    return el(
      "li",
      {},
      name(judgment.item ?? "", 30),
      " ",
      name(judgment.criterion ?? "", 40),
      " ",
      el("b", {}, judgment.met === true ? "met" : judgment.met === false ? "not met" : "no verdict"),
    );
  });
  return others.length ? el("ol.order", {}, others) : null;
}

/** Candidates without a score, those with one reason together; a reason that is the question's own is not repeated. */
function missing(reasons, own) {
  const byReason = new Map();
  for (const [id, why] of Object.entries(reasons)) {
    if (!byReason.has(why)) byReason.set(why, []);
    byReason.get(why).push(id);
  }
  if (!byReason.size) return null;
  const ids = (names) => names.slice(0, 50).flatMap((id, at) => [at ? ", " : null, name(id, 40)]);
  return el(
    "ul.missing",
    {},
    [...byReason].slice(0, 50).map(([why, names]) =>
      el(
        "li",
        {},
        "no score for ",
        ids(names),
        names.length > 50 ? ` and ${whole(names.length - 50)} more` : null,
        why && why !== own ? [": ", name(why, 300)] : null,
      ),
    ),
  );
}

function raw(one, detail) {
  const answer = one.answer ?? {};
  const shown = el("div.raw");
  let open = "";
  const choices = [
    one.request ? ["question", () => requestView(one, detail)] : null,
    typeof answer.text === "string"
      ? ["reply", () => textBlock(answer.text || "(empty)", { mono: true, limit: 20_000 })]
      : null,
    answer.reasoning ? ["the judge's reasoning", () => textBlock(answer.reasoning, { limit: 20_000 })] : null,
  ].filter(Boolean);
  if (!choices.length) return null;
  const buttons = choices.map(([label, build]) =>
    button(
      label,
      () => {
        open = open === label ? "" : label;
        for (const each of buttons) each.setAttribute("aria-expanded", String(each.textContent === open));
        fill(shown, open ? build() : null);
      },
      { "aria-expanded": "false" },
    ),
  );
  const names = Object.entries(one.names);
  return el(
    "div",
    {},
    el(
      "div.choices",
      {},
      buttons,
      names.length
        ? el(
            "span.quiet",
            {},
            names.flatMap(([key, id], at) => [
              at ? ", " : "the judge reads ",
              name(key, 20),
              " for ",
              name(id, 30),
            ]),
          )
        : null,
    ),
    shown,
  );
}

/** The request of a question, with its shared lines put back: below 0, a number is a line of the group's messages. */
export function requestText(one, detail) {
  const own = ownLines(detail);
  const lineOf = (number) => (number < 0 ? inJson(own[-1 - number]) : detail.lines[number]);
  return one.request.map((line) => (typeof line === "number" ? lineOf(line) : line)).join("\\n");
}

/** The lines of a group's messages, numbered as in questions.py. */
function ownLines(detail) {
  return [...(detail.shared ?? []), ...detail.trajectories.flatMap((one) => one.messages ?? [])].flatMap(({ content }) =>
    (Array.isArray(content) ? content : [{ text: content }]).flatMap((part) =>
      typeof part?.text === "string" ? part.text.split("\n") : [],
    ),
  );
}

const inJson = (line) => line.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\t", "\\t");

function requestView(one, detail) {
  const text = requestText(one, detail);
  const asSent = folded("as it was sent (JSON)", () => textBlock(text, { mono: true, limit: 20_000 }));
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    return el("div", {}, asSent);
  }
  // A judge that was sent nothing has no body: its ledger records endpoint, model and messages as a list.
  const found = Array.isArray(body) ? body[2] : body.messages;
  const messages = Array.isArray(found) ? found : [];
  const content = (value) =>
    typeof value === "string"
      ? value
      : Array.isArray(value)
        ? value.map((part) => part?.text ?? "[image]").join("\n")
        : JSON.stringify(value);
  return el(
    "div",
    {},
    messages
      .map((message) => [
        el("div.label", {}, name(message.role ?? "", 30)),
        textBlock(content(message.content), { mono: true, limit: 20_000 }),
      ])
      .flat(),
    asSent,
  );
}

// What the views of runs and of studies have in common: which of several is shown, its title, facts, and what it lacks.
import { el } from "./elements.js";
import { name } from "./text.js";

/** Links to all runs (or studies) of a report; null if there is only one. @param {"run" | "study"} kind */
export function choiceOf(kind, items, chosen) {
  if (items.length < 2) return null;
  return el(
    "nav.items",
    { "aria-label": kind === "run" ? "runs" : "studies" },
    items.map((one, at) =>
      el(
        "a",
        { href: `#view=${kind}&${kind}=${at + 1}`, "aria-current": at === chosen ? "page" : null },
        name(one.name, 60),
      ),
    ),
  );
}

export function pageTitle({ name: own, title }) {
  return el("div.item-title", {}, el("h2", {}, name(title || own, 200)), title ? el("p.quiet", {}, name(own, 100)) : null);
}

/** @param {[string, string][]} facts labels and texts */
export function factList(facts) {
  return el(
    "dl.fact-list",
    {},
    facts.map(([label, text]) => el("div", {}, el("dt", {}, label), el("dd", {}, name(text, 300)))),
  );
}

/** @param {string[]} lacks sentences */
export function lackList(lacks) {
  return lacks.length
    ? el(
        "ul.note.lacking",
        {},
        lacks.map((one) => el("li", {}, name(one, 1000))),
      )
    : null;
}

/** Make the address name what is shown, without a new entry in the browser's history. */
export function replaceAddress(parts) {
  const kept = Object.entries(parts).filter(([, value]) => value !== null && value !== undefined && value !== "");
  history.replaceState(null, "", `#${new URLSearchParams(kept.map(([key, value]) => [key, String(value)]))}`);
}

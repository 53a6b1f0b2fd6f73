// The prompt and the candidates of a group. They are untrusted: the report's modules make text nodes of them.
import { button, el, folded } from "../../report/page/elements.js";
import { chat, json } from "../../report/page/messages.js";
import { textBlock } from "../../report/page/text.js";
import { letterOf } from "./ranking.js";

/** What all candidates share: the messages before them, the standards, and the tools. */
export function sharedParts(group) {
  return [
    group.rubric === null
      ? null
      : folded(
          "standards to rank by",
          () => (typeof group.rubric === "string" ? textBlock(group.rubric) : json(group.rubric)),
          { open: true },
        ),
    group.tools.length ? folded("tools", () => json(group.tools)) : null,
    group.shared.length ? el("div.shared", {}, chat(group.shared)) : null,
  ];
}

/**
 * The candidates side by side.
 * @param {{candidates: Record<string, unknown>[][]}} group
 * @param {(candidate: number) => void} put
 */
export function candidateCards(group, put) {
  return el(
    "div.columns",
    { role: "region", "aria-label": "candidates", tabindex: "0" },
    group.candidates.map((messages, at) => card(messages, at, put)),
  );
}

function card(messages, at, put) {
  const letter = letterOf(at);
  return el(
    "article.candidate",
    { "data-at": at, tabindex: "0", "aria-labelledby": `candidate-${at}` },
    el(
      "header",
      {},
      el("h3", { id: `candidate-${at}` }, `Candidate ${letter}`),
      el("span.place", {}),
      button("Rank next", () => put(at), { class: "put" }),
    ),
    chat(messages),
  );
}

/** Show each candidate's rank on its card. @param {Element} root @param {import("./ranking.js").Ranking} ranking */
export function showRanks(root, ranking) {
  for (const one of root.querySelectorAll(".candidate")) {
    const at = Number(one.dataset.at);
    const letter = letterOf(at);
    const rank = ranking.rankOf(at);
    const unknown = ranking.unknown.has(at);
    one.dataset.rank = unknown ? "unknown" : (rank ?? "");
    one.querySelector(".place").textContent = unknown ? "can\u2019t tell" : rank === null ? "" : `rank ${rank}`;
    const put = one.querySelector(".put");
    const takes = rank !== null || unknown;
    put.textContent = takes ? "Remove" : ranking.tying ? "Tie" : "Rank next";
    put.setAttribute("aria-label", `${put.textContent}: candidate ${letter}`);
  }
}

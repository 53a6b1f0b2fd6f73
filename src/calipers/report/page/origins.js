// By whom and by which standard a group was judged: a cascade's route, and criteria written for its prompt.
import { el, folded } from "./elements.js";
import { counted, decimal, percent } from "./numbers.js";
import { name, textBlock } from "./text.js";

const ROUTES = {
  sure: "It was sure.",
  unsure: "Escalated: the judge before it was not sure.",
  unusable: "Escalated: the judge before it failed, or omitted a candidate.",
  check: "A check: the judge before it was sure, and the group was drawn to be judged again.",
  breach: "Escalated: no judge before it is trusted any more, because checks found too many errors.",
  late: "No scores count: the deadline passed before a judge was sure.",
  unknown: "This version of the page does not know why.",
};

/** The sentences about a cascade: which judge scored the group, and why. */
export function cascadeRoute(route) {
  if (route === null) return null;
  const judge =
    route.judge === null ? (route.slot === null ? "an unknown judge" : `judge ${route.slot + 1}`) : name(route.judge, 80);
  return el(
    "p.note.route",
    { "data-why": route.why },
    "Cascade: ",
    route.why === "late" ? "the last judge asked was " : "scored by ",
    judge,
    ". ",
    ROUTES[route.why],
    routeNumbers(route),
  );
}

function routeNumbers({ confidence, error, thresholds, slot, why }) {
  const parts = [];
  const asked = why === "sure" || why === "late" ? slot : slot === null ? null : slot - 1;
  const threshold = asked === null ? undefined : thresholds[asked];
  if (confidence !== null)
    parts.push(
      ` Confidence ${decimal(confidence)}${typeof threshold === "number" ? `, threshold ${decimal(threshold)}` : ""}.`,
    );
  if (error !== null) parts.push(` Disagreement found by the check: ${decimal(error)} (0.5 is chance).`);
  return parts;
}

/** The criteria that a model wrote for the group's prompt, with points, vetoes and what is known of their use. */
export function promptCriteria(found) {
  if (found === null) return null;
  const { criteria, problem, version, retired, calls } = found;
  const about = [
    version === null ? "written once for the prompt, before any answer was judged" : `version ${version}`,
    retired ? `${retired} retired` : "",
    calls === null ? "" : counted(calls, "writer's call"),
  ];
  return el(
    "section.written",
    { "aria-label": "criteria written for the prompt" },
    criteria.length
      ? folded(
          ["Criteria for this prompt", el("span.quiet", {}, ` ${criteria.length}, ${about.filter(Boolean).join(", ")}`)],
          () => [
            el("p.quiet", {}, "A model wrote them; they are not a person's rubric."),
            el("ul.criteria", {}, criteria.map(criterionItem)),
          ],
          { name: "written-criteria", open: criteria.length <= 8 },
        )
      : el("p.note", {}, "No criteria were written for this prompt", problem ? [": ", name(problem, 300)] : null, "."),
  );
}

function criterionItem({ id, text, points, veto, guard, saturation }) {
  const facts = [
    points === null ? "points unknown" : `${points} ${points === 1 ? "point" : "points"}`,
    veto ? "veto" : "",
    guard ? "retired, drawn as a guard" : "",
    saturation === null ? "" : `met by ${percent(saturation)} of earlier answers`,
  ];
  return el(
    "li",
    {},
    el("div.label", {}, name(id, 60), el("span.quiet", {}, ` ${facts.filter(Boolean).join(", ")}`)),
    text === null ? null : textBlock(text, { limit: 400 }),
  );
}

// The label page: shows one group at a time, and saves its ranking before it goes on.
import { button, el, fill } from "../../report/page/elements.js";
import { counted, whole } from "../../report/page/numbers.js";
import { candidateCards, sharedParts, showRanks } from "./candidates.js";
import { Ranking, letterOf } from "./ranking.js";
import { fetchGroup, send } from "./wire.js";

const app = document.querySelector("#app");
const progress = el("div.facts.progress");
const said = el("p.said", { role: "status" });
const failure = el("div.failure", { role: "alert" });
const stage = el("main", { tabindex: "-1" });
const strip = el("ol.strip-of-ranks", { "aria-label": "your ranking, best first" });
const note = el("textarea", { rows: "1", placeholder: "Note (optional)", "aria-label": "note", maxlength: "4000" });
const saveButton = button("Save", () => save(), { class: "primary", title: "Enter" });
const tieButton = button("Tie", () => tie(), { title: "=" });
const restButton = button("Can\u2019t tell the rest", () => giveUpRest(), { title: "." });
const undoButton = button("Undo", () => undo(), { title: "Backspace" });
const bar = el(
  "footer.bar",
  {},
  strip,
  el("div.actions", {}, tieButton, restButton, undoButton, note, saveButton),
  failure,
  said,
);

/** The group on the page and its ranking; null when there is none. */
let group = null;
let ranking = null;
let savedNote = "";
let busy = false;

function frame() {
  fill(
    app,
    el(
      "header.top",
      {},
      el("h1", {}, "calipers label"),
      progress,
      el(
        "div.moves",
        {},
        button("Previous", () => go("previous"), { title: "Shift+\u2190" }),
        button("Skip", () => go("next"), { title: "Shift+\u2192" }),
      ),
    ),
    stage,
    bar,
  );
}

/** Draw what follows from the ranking. */
function draw() {
  showRanks(stage, ranking);
  const open = ranking.open();
  fill(
    strip,
    ranking.tiers.map((tier, at) => {
      const tying = ranking.tying && at === ranking.tiers.length - 1;
      const letters = ` ${tier.map(letterOf).join(" = ")}${tying ? " = \u2026" : ""}`;
      return el("li", {}, el("b", {}, `${at + 1}`), letters);
    }),
    ranking.unknown.size ? el("li.unknown", {}, `can\u2019t tell: ${lettersOf([...ranking.unknown])}`) : null,
    open.length ? el("li.open", {}, `no rank yet: ${lettersOf(open)}`) : null,
    open.length === ranking.count
      ? el("li.hint", {}, "Type the letters best first. = ties, . can\u2019t tell, Backspace undoes, Enter saves.")
      : null,
  );
  tieButton.setAttribute("aria-pressed", String(ranking.tying));
  tieButton.disabled = !ranking.tiers.length;
  restButton.disabled = !open.length;
}

function lettersOf(candidates) {
  return candidates
    .sort((a, b) => a - b)
    .map(letterOf)
    .join(", ");
}

/** @param {{group: Record<string, unknown> | null, labelled: number, total: number, annotator: string}} answer */
function show(answer) {
  showProgress(answer);
  fill(failure);
  group = answer.group;
  document.documentElement.dataset.group = group?.token ?? "";
  bar.hidden = group === null;
  if (group === null) {
    const done = answer.total ? "Every group has your label. You may close this page." : "There is no group to rank.";
    fill(stage, el("p.empty", {}, done));
    stage.focus();
    return;
  }
  ranking = new Ranking(group.candidates.length, group.ranks);
  savedNote = note.value = group.note;
  fill(
    stage,
    el("h2.visually-hidden", { tabindex: "-1" }, `A group with ${counted(group.candidates.length, "candidate")}`),
    group.changed ? el("p.note", {}, "The texts have changed since you labelled this group: rank it again.") : null,
    sharedParts(group),
    candidateCards(group, put),
  );
  stage.scrollTop = 0;
  draw();
  stage.querySelector("h2").focus({ preventScroll: true });
}

function showProgress({ labelled, total, annotator }) {
  fill(
    progress,
    el("span", {}, `${whole(labelled)} of ${counted(total, "group")} labelled`),
    el("span", {}, "as ", el("bdi", {}, annotator)),
  );
}

function say(text) {
  said.textContent = text;
}

function fail(text, again) {
  fill(failure, el("p", {}, text), again ? button("Try again", again) : null);
}

function changed() {
  return group !== null && (ranking.before.length > 0 || note.value !== savedNote);
}

function put(candidate) {
  if (group === null || busy || candidate >= ranking.count) return;
  ranking.put(candidate);
  draw();
  const rank = ranking.rankOf(candidate);
  say(rank === null ? `${letterOf(candidate)} has no rank` : `${letterOf(candidate)}: rank ${rank}`);
}

function tie() {
  if (group === null || busy) return;
  ranking.toggleTie();
  draw();
  if (ranking.tying) say("The next candidate ties with the last one");
}

function giveUpRest() {
  if (group === null || busy) return;
  ranking.giveUpRest();
  draw();
  say("Can\u2019t tell the rest");
}

async function undo() {
  if (busy) return;
  if (group !== null && ranking.undo()) {
    draw();
    say("Undone");
    return;
  }
  await work(async () => {
    const token = group?.token ?? null;
    const answer = group?.saved ? { group } : await fetchGroup("previous", token);
    if (answer.group === null) {
      say("There is nothing to undo");
      return;
    }
    const one = answer.group;
    const back = await send("undo", { token: one.token, based_on: one.revision });
    show({ ...answer, ...back, group: { ...one, revision: back.revision, saved: null } });
    say("The label is taken back. Rank the group again, or save it as it was.");
  }, undo);
}

async function save() {
  if (group === null || busy) return;
  const open = ranking.open();
  if (open.length) {
    const [have, them] = open.length === 1 ? ["has", "it"] : ["have", "them"];
    say(
      `${lettersOf(open)} ${have} no rank yet: rank ${them}, or choose \u201cCan\u2019t tell the rest\u201d (.)`,
    );
    return;
  }
  say("Saving \u2026");
  await work(async () => {
    const { token } = group;
    const body = { token, ranks: ranking.ranks(), note: note.value, based_on: group.revision };
    const answer = await send("label", body);
    group.revision = answer.revision;
    group.saved = answer.saved;
    savedNote = note.value;
    ranking.before = [];
    showProgress(answer);
    say(`Saved at ${new Date(answer.saved).toLocaleTimeString("en-GB")}`);
    show(await fetchGroup("next", token));
  }, save);
}

async function go(direction) {
  if (busy || (changed() && !confirm("Leave this group? Its ranking is not saved."))) return;
  await work(async () => {
    const answer = await fetchGroup(direction, group?.token ?? null);
    if (answer.group === null && direction === "previous") say("There is no group before this one");
    else {
      show(answer);
      say(direction === "previous" ? "Labelled before; saving replaces the label" : "");
    }
  }, () => go(direction));
}

/** Do one thing at a time; say what failed, and keep the ranking on the page. */
async function work(act, again) {
  busy = true;
  document.documentElement.dataset.busy = "true";
  saveButton.disabled = true;
  fill(failure);
  try {
    await act();
  } catch (error) {
    say("");
    explain(error, again);
  } finally {
    busy = false;
    saveButton.disabled = false;
    document.documentElement.dataset.busy = "false";
  }
}

function explain(error, again) {
  if (error.status === 409) {
    group.revision = error.body.revision;
    fail(
      "Not saved: you labelled this group in another tab or window meanwhile. Saving again replaces that label; " +
        "Skip keeps it.",
      again,
    );
  } else if (error.status === 0)
    fail(
      "The server does not answer, and nothing is saved that is not confirmed. Your ranking is still on this page. " +
        "If calipers label has ended, start it again, and open the address that it prints.",
      again,
    );
  else if (error.status === undefined) throw error;
  else fail(`Not done: ${error.message.replace(/\.$/, "")}. Your ranking is still on this page.`, again);
}

function onKey(event) {
  if (event.altKey || event.isComposing) return undefined;
  if (event.target === note) {
    if (event.key === "Escape") return stage.focus();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return act(event, save);
    return undefined;
  }
  if (event.ctrlKey || event.metaKey) return undefined;
  if ((event.key === "Enter" || event.key === " ") && event.target.closest("button, summary, a")) return undefined;
  if (/^[a-z]$/i.test(event.key)) return act(event, () => put(event.key.toLowerCase().charCodeAt(0) - 97));
  const byKey = {
    "=": tie,
    ".": giveUpRest,
    Enter: save,
    Backspace: undo,
  };
  if (event.shiftKey) Object.assign(byKey, { ArrowRight: () => go("next"), ArrowLeft: () => go("previous") });
  return byKey[event.key] ? act(event, byKey[event.key]) : undefined;
}

function act(event, what) {
  event.preventDefault();
  if (!event.repeat) what();
}

frame();
document.addEventListener("keydown", onKey);
addEventListener("beforeunload", (event) => {
  if (changed()) event.preventDefault();
});
await work(async () => show(await fetchGroup("next", null)), () => location.reload());
document.documentElement.dataset.ready = "true";

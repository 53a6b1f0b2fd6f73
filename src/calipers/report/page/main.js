// The page: its header, its two views, which of them the address names, and the keyboard.
import { canUnpack, hasBlocks, readAbout, readBlocks, readRows } from "./data.js";
import { el, fill } from "./elements.js";
import { GroupsView } from "./groups.js";
import { judgeView } from "./judge.js";
import { counted, whole } from "./numbers.js";
import { labelled, name, notShown } from "./text.js";

const TITLES = { groups: "Groups", judge: "Judge" };
class Report {
  constructor(about, rows) {
    this.about = about;
    this.rows = rows;
    this.kinds = [rows.length || !hasBlocks("judge") ? "groups" : null, hasBlocks("judge") ? "judge" : null].filter(Boolean);
    this.stage = el("div.stage");
    this.errors = el("div.lacks.errors", { role: "alert", hidden: true });
    this.tabs = el(
      "nav.views",
      { "aria-label": "views", hidden: this.kinds.length < 2 },
      this.kinds.map((kind) => el("a", { href: `#view=${kind}`, "data-view": kind }, TITLES[kind])),
    );
    this.groups = new GroupsView(about, rows);
  }

  async start() {
    document.title = `${labelled(this.about.title || "report", 80)} \u2013 calipers report`;
    fill(document.getElementById("app"), this.header(), this.stage);
    document.addEventListener("keydown", (event) => this.press(event));
    addEventListener("error", ({ error, message }) => {
      // A browser reports with this that the list is drawn in two steps.
      if (!message.startsWith("ResizeObserver loop")) this.showError(error ?? message);
    });
    addEventListener("unhandledrejection", ({ reason }) => this.showError(reason));
    addEventListener("hashchange", () => this.follow());
    await this.follow();
  }

  /** Say above all views that an error has left a part of the page undone. */
  showError(error) {
    fill(this.errors, notShown("A part of this page", error));
    this.errors.hidden = false;
  }

  /** Show the view that the address names: `#view=judge`, or a group; else that of the source that was named first. */
  async follow() {
    this.errors.hidden = true;
    const asked = new URLSearchParams(location.hash.slice(1));
    const wanted = asked.get("view") ?? (asked.has("group") ? "groups" : this.about.opens);
    const kind = this.kinds.includes(wanted) ? wanted : this.kinds[0];
    if (kind === "judge") this.judges ??= await readBlocks("judge").then(judgeView, (error) => el("main", {}, notShown("This view", error)));
    const shown = kind === "judge" ? this.judges : this.groups.element;
    if (!shown.isConnected) this.stage.append(shown);
    for (const one of this.stage.children) one.hidden = one !== shown;
    for (const tab of this.tabs.children) {
      if (tab.dataset.view === kind) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    document.documentElement.dataset.view = kind;
    if (kind === "groups") this.groups.follow(asked);
    else document.body.classList.remove("reading");
  }

  /** Do what a key stands for that is pressed outside of fields; none works in the view of judges. */
  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isInGroups = document.documentElement.dataset.view === "groups";
    if (event.key === "Escape" && isInGroups) this.groups.back();
    if (event.key === "Escape" || event.target.matches("input, select, textarea")) return;
    const act = isInGroups ? this.groups.actionOf(event.key, event.target.matches(".list")) : null;
    if (!act) return;
    event.preventDefault();
    act();
  }

  header() {
    return el(
      "header.top",
      {},
      el("h1", {}, name(this.about.title || "report", 80)),
      this.tabs,
      this.facts(),
      this.lacking(),
      this.errors,
    );
  }

  facts() {
    const { about, rows } = this;
    const counts = ["scored", "partial", "abstained", "failed"].map((status) => [status, rows.filter((row) => row.status === status).length]);
    const judges = [...new Set(about.runs.filter((run) => run.is_used).flatMap((run) => run.judges))];
    const several = about.runs.filter((run) => run.is_used && run.of > 1);
    return el(
      "div.facts",
      {},
      this.kinds.includes("groups") ? el("span", {}, counted(rows.length, "group")) : null,
      counts.filter(([, count]) => count).map(([status, count]) => el("span", {}, el("span.dot", { "data-status": status }), ` ${whole(count)} ${status}`)),
      judges.length ? el("span", {}, "judged by ", judges.slice(0, 4).flatMap((one, at) => [at ? ", " : null, name(one, 50)])) : null,
      several.slice(0, 4).map((run) => el("span", { title: "calipers report --run ID shows another run" }, `run ${run.run} (of ${run.of} in `, name(run.source, 60), ")")),
    );
  }

  lacking() {
    const { without_texts, bad_lines, unjudged, runs } = this.about;
    const notes = [
      without_texts ? `${counted(without_texts, "group")} without texts.` : null,
      bad_lines ? `${counted(bad_lines, "line")} could not be read.` : null,
      unjudged ? `${counted(unjudged, "group")} of the groups file ${unjudged === 1 ? "has" : "have"} no result.` : null,
      ...runs.filter((run) => !run.is_used).map((run) => `The run of ${labelled(run.source)} has none of these groups.`),
    ].filter(Boolean);
    return notes.length ? el("div.lacks", {}, notes.join(" ")) : null;
  }
}

async function open() {
  try {
    if (!canUnpack()) throw new Error("this browser cannot unpack the data; browsers from 2023 on can");
    const [about, rows] = await Promise.all([readAbout(), readRows()]);
    await new Report(about, rows).start();
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    fill(
      document.getElementById("app"),
      el("p.opening", {}, `This report cannot be shown: ${error.message ?? error}. If the file was cut off while it was copied, copy it again.`),
    );
    throw error;
  }
}

await open();

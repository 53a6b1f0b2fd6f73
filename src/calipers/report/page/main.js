// The page: its header, its views, and which of them the address names. A view is shown if the file has its data.
import { button, el, fill } from "./elements.js";
import { isInUse, keepFigures } from "./charts.js";
import { canUnpack, hasBlocks, readAbout, readBlocks, readRows } from "./data.js";
import { GroupsView } from "./groups.js";
import { JudgeView } from "./judge.js";
import { JudgeNames } from "./judgenames.js";
import { keysDialog, listenToKeys } from "./keys.js";
import { followRun } from "./live.js";
import { counted, whole } from "./numbers.js";
import { RunView } from "./run.js";
import { StudyView } from "./study.js";
import { labelled, name, notShown } from "./text.js";

/**
 * The views beside the groups, each of a kind of data block. `make` gets the parsed lines of these blocks, and returns
 * `element`, a `div.view` with a `main`, and if it wants `follow(asked)`, called with the address' parameters, `keys`,
 * its actions for keys, and `update(lines)`, called with newer lines.
 * @type {{kind: string, title: string, make: (lines: any[], about: any, rows: import("./data.js").Row[]) => any}[]}
 */
const VIEWS = [
  { kind: "judge", title: "Judge", make: (lines) => new JudgeView(lines) },
  { kind: "run", title: "Run", make: (lines, about, rows) => new RunView(lines, about, rows) },
  { kind: "study", title: "Study", make: (lines) => new StudyView(lines) },
];

class Report {
  constructor(about, rows) {
    this.about = about;
    this.rows = rows;
    this.others = VIEWS.filter(({ kind }) => hasBlocks(kind));
    /** @type {Map<string, any[]>} the lines of each kind that has been looked at, or that came later */
    this.lines = new Map();
    /** @type {Map<string, Promise<any>>} */
    this.made = new Map();
    this.tabs = el("nav.views", { "aria-label": "views" });
    this.stage = el("div.stage");
    this.keys = keysDialog();
    this.current = null;
    this.turn = 0;
    this.errors = el("div.lacks.errors", { role: "alert", hidden: true });
  }

  /** The views that this file has data for; of a file without any, the groups say that there are none. */
  views() {
    const groups = this.rows.length || this.about.live || !this.others.length ? [{ kind: "groups", title: "Groups" }] : [];
    return [...groups, ...this.others];
  }

  async start() {
    document.title = `${labelled(this.about.title || "report", 80)} \u2013 calipers report`;
    this.showTabs();
    this.top = this.header();
    fill(document.getElementById("app"), this.top, this.stage, this.keys);
    listenToKeys({
      move: (by) => this.current?.keys?.move?.(by),
      search: () => this.current?.keys?.search?.(),
      open: () => this.current?.keys?.open?.(),
      back: () => this.current?.keys?.back?.(),
      compare: () => this.current?.keys?.compare?.(),
      help: () => this.keys.showModal(),
    });
    addEventListener("error", ({ error, message }) => {
      // A browser reports with this that a figure is drawn in two steps.
      if (!message.startsWith("ResizeObserver loop")) this.showError(error ?? message);
    });
    addEventListener("unhandledrejection", ({ reason }) => this.showError(reason));
    addEventListener("hashchange", () => this.follow());
    await this.follow();
    if (!this.about.live) return;
    this.live = followRun(this.about.live, this.rows, {
      grow: () => this.grow(),
      wanted: () => this.wantsViews(),
      show: (views) => this.showNewer(views),
    });
    this.top.querySelector(".help").before(this.live.element);
  }

  showTabs() {
    const views = this.views();
    const count = views.length > 1 ? views.length : 0;
    if (this.tabs.childElementCount !== count)
      fill(this.tabs, views.slice(0, count).map(({ kind, title }) => el("a", { href: `#view=${kind}` }, title)));
    for (const tab of this.tabs.children) {
      if (tab.hash === `#view=${this.shownKind}`) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    this.tabs.hidden = !count;
  }

  /** Say above all views that an error has left a part of the page undone. */
  showError(error) {
    fill(this.errors, notShown("A part of this page", error));
    this.errors.hidden = false;
  }

  /** Whether the server should be asked for the views: one of them is looked at, or is not there yet. */
  wantsViews() {
    if (this.rows.length && !this.others.some(({ kind }) => kind === "judge")) return true;
    return Boolean(this.current?.update) && !isInUse(this.current.element);
  }

  /** Show newer lines of views, by their kinds. */
  async showNewer(views) {
    for (const [kind, lines] of Object.entries(views)) {
      if (!lines.length || JSON.stringify(lines) === JSON.stringify(this.lines.get(kind))) continue;
      this.lines.set(kind, lines);
      const view = await this.made.get(kind);
      if (view) keepFigures(view.element, () => view.update(lines));
    }
    const others = VIEWS.filter(({ kind }) => hasBlocks(kind) || this.lines.has(kind));
    if (others.length === this.others.length) return;
    this.others = others;
    this.showTabs();
  }

  /** Show that groups were added to the rows: their counts, and themselves in the view of groups. */
  async grow() {
    this.top.querySelector(".facts").replaceWith(this.facts());
    const view = await this.made.get("groups");
    await view?.grow();
  }

  /** Show the view that the address names: `#view=judge`, or a group; else that of the source that was named first. */
  async follow() {
    const turn = (this.turn += 1);
    this.errors.hidden = true;
    const asked = new URLSearchParams(location.hash.slice(1));
    const views = this.views();
    const wanted = asked.get("view") ?? (asked.has("group") ? "groups" : this.about.opens);
    const { kind } = views.find((one) => one.kind === wanted) ?? views[0];
    if (!this.made.has(kind)) this.made.set(kind, this.make(kind));
    const view = await this.made.get(kind).catch((error) => this.unshown(kind, error));
    if (turn !== this.turn) return;
    if (!view.element.isConnected) this.stage.append(view.element);
    for (const one of this.stage.children) one.hidden = one !== view.element;
    this.shownKind = kind;
    this.showTabs();
    if (kind !== "groups") document.body.classList.remove("reading");
    document.documentElement.dataset.view = kind;
    this.current = view;
    view.follow?.(asked);
    if (view.update) this.live?.soon();
  }

  /** A view that says why another one cannot be shown. */
  unshown(kind, error) {
    this.made.delete(kind);
    return { element: el("div.view", {}, el("main", { tabindex: "-1" }, notShown("This view", error))) };
  }

  async make(kind) {
    if (kind === "groups") return new GroupsView(this.about, this.rows);
    const view = VIEWS.find((one) => one.kind === kind);
    if (!this.lines.has(kind)) this.lines.set(kind, await readBlocks(kind));
    return view.make(this.lines.get(kind), this.about, this.rows);
  }

  header() {
    const { about } = this;
    return el(
      "header.top",
      {},
      el("h1", {}, name(about.title || "report", 80)),
      this.tabs,
      this.facts(),
      this.lacking(),
      this.errors,
      button("Keys", () => this.keys.showModal(), { class: "plain help" }),
    );
  }

  facts() {
    const { about, rows } = this;
    const count = (status) => rows.filter((row) => row.status === status).length;
    const statuses = ["scored", "partial", "abstained", "failed"]
      .map((status) => [status, count(status)])
      .filter(([, found]) => found);
    const runs = about.runs.filter((run) => run.completed !== 0);
    const judges = [...new Set(runs.flatMap((run) => run.judges))];
    const names = new JudgeNames(judges);
    const several = runs.filter((run) => run.of > 1);
    return el(
      "div.facts",
      {},
      rows.length || !this.others.length ? el("span", {}, counted(rows.length, "group")) : null,
      statuses.map(([status, found]) =>
        el("span", {}, el("span.dot", { "data-status": status }), ` ${whole(found)} ${status}`),
      ),
      judges.length
        ? el(
            "span",
            {},
            "judged by ",
            judges.slice(0, 4).flatMap((one, at) => [at ? ", " : null, el("span", { title: labelled(one, 400) }, name(names.of(one), 50))]),
            judges.length > 4 ? ` and ${judges.length - 4} more` : null,
          )
        : null,
      several.slice(0, 4).map((run) =>
        el("span", { title: "calipers report --run ID shows another run" }, `run ${run.run} (of ${run.of} in `, name(run.source, 60), ")"),
      ),
    );
  }

  lacking() {
    const { about } = this;
    const notes = [];
    if (about.redacted) notes.push("Texts are left out (--redact).");
    else if (about.without_texts) notes.push(`${counted(about.without_texts, "group")} without texts.`);
    if (about.bad_lines) notes.push(`${counted(about.bad_lines, "line")} could not be read.`);
    if (about.unjudged)
      notes.push(
        `${counted(about.unjudged, "group")} of the groups file ${about.unjudged === 1 ? "has" : "have"} no result.`,
      );
    for (const run of about.runs.filter((one) => one.completed === 0))
      notes.push(`The run of ${run.source} has none of these groups; only the other views show it.`);
    return notes.length ? el("div.lacks", {}, notes.join(" ")) : null;
  }
}

async function open() {
  const app = document.getElementById("app");
  try {
    if (!canUnpack()) throw new Error("this browser cannot unpack the data; browsers from 2023 on can");
    const [about, rows] = await Promise.all([readAbout(), readRows()]);
    await new Report(about, rows).start();
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    fill(
      app,
      el(
        "p.opening",
        {},
        `This report cannot be shown: ${error instanceof Error ? error.message : error}. `,
        "If the file was cut off while it was copied, copy it again.",
      ),
    );
    throw error;
  }
}

await open();

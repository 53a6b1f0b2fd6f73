// The view of runs: what happened over its steps, which alarms there were, and the groups of a step.
import { lineChart } from "./charts.js";
import { groupAddress } from "./data.js";
import { el, fill } from "./elements.js";
import { strip } from "./intervals.js";
import { JudgeNames } from "./judgenames.js";
import { choiceOf, factList, lackList, pageTitle, replaceAddress } from "./items.js";
import { counted, whole } from "./numbers.js";
import { name } from "./text.js";

const MOST_MARKS = 8;
const MOST_SHOWN = 12;
/** A series that was measured at fewer points than this share of them is drawn as one line through those. */
const SPARSE = 0.7;

/**
 * @typedef {Object} Line
 * @property {string} label
 * @property {(number | null)[]} mean
 * @property {(number | null)[] | null} half half the width of the 95 % interval
 *
 * @typedef {Object} Run
 * @property {string} name
 * @property {string} title
 * @property {"step" | "group"} x what curves are over
 * @property {number[]} at the last step (or group) of each point
 * @property {number[]} from the first
 * @property {{key: string, title: string, note: string, lines: Line[], within?: (number | null)[]}[]} panels
 * @property {{title: string, label: string, value: number}[]} steady
 * @property {{at: number, until: number | null, name: string, text: string}[]} alarms
 * @property {string} alarms_are
 * @property {{groups: number, rows?: [number, number], ids?: string[]}[]} examples for each point
 * @property {string[]} lacks
 * @property {[string, string][]} facts
 * @property {{title: string, rows: [string, number][]}[]} counts
 */

/** The view of all runs of a report; the address chooses one of them. */
export class RunView {
  /** @param {Run[]} runs @param {any} about @param {import("./data.js").Row[]} rows */
  constructor(runs, about, rows) {
    this.runs = runs;
    this.about = about;
    this.rows = rows;
    this.names = new JudgeNames(about.runs.flatMap(({ judges }) => judges));
    this.main = el("main", { tabindex: "-1" });
    this.element = el("div.view", {}, this.main);
    this.at = -1;
  }

  /** @param {Run[]} runs newer ones, of the same sources */
  update(runs) {
    this.runs = runs;
    this.at = -1;
    this.follow(new URLSearchParams(location.hash.slice(1)));
  }

  follow(asked) {
    const at = Math.min(this.runs.length - 1, Math.max(0, Number(asked.get("run") ?? 1) - 1 || 0));
    if (at === this.at) return;
    this.at = at;
    const run = this.runs[at];
    fill(
      this.main,
      choiceOf("run", this.runs, at),
      pageTitle(run),
      factList(run.facts.map(([label, text]) => [label, this.names.of(text)])),
      lackList(run.lacks),
      alarmsOf(run),
      el(
        "div.charts",
        {},
        run.panels.map((panel) => chartOf(panel, run)),
      ),
      steadyOf(run),
      countsOf(run),
      this.examples(run, Number(asked.get("point"))),
    );
    this.main.dataset.run = run.name;
  }

  /** The groups of a point of the curves, as links into the groups of this report. */
  examples(run, chosen) {
    const byId = new Map();
    if (run.examples.some(({ ids }) => ids)) for (const row of this.rows) if (!byId.has(row.id)) byId.set(row.id, row);
    const rowsOf = ({ rows, ids = [] }) =>
      rows ? this.rows.slice(rows[0], rows[1] + 1) : ids.map((id) => byId.get(id)).filter(Boolean);
    const points = run.examples.map((one, at) => ({ at, groups: one.groups, rows: rowsOf(one) }));
    const shown = points.filter(({ rows }) => rows.length);
    if (!shown.length) return null;
    const list = el("ul.examples");
    const said = el("output");
    const show = () => {
      const { at, rows, groups } = shown[Number(slider.value)];
      const label = `${spanOf(run, at)}: ${counted(groups, "group")}${rows.length > MOST_SHOWN ? `, the first ${MOST_SHOWN} of them here` : ""}`;
      fill(said, label);
      slider.setAttribute("aria-valuetext", label);
      fill(list, rows.slice(0, MOST_SHOWN).map((row) => this.example(row)));
    };
    const slider = /** @type {HTMLInputElement} */ (
      el("input", {
        type: "range",
        min: 0,
        max: shown.length - 1,
        value: Math.max(0, shown.findIndex(({ at }) => at + 1 === chosen)),
        "aria-label": `${run.x} whose groups are listed`,
        input: () => {
          show();
          replaceAddress({ view: "run", run: this.at + 1, point: shown[Number(slider.value)].at + 1 });
        },
      })
    );
    show();
    return el("section", {}, el("h3", {}, "Examples over time"), el("div.chooser", {}, slider, said), list);
  }

  example(row) {
    return el(
      "li",
      {},
      el("span.dot", { "data-status": row.status, title: row.status }),
      el("a", { href: groupAddress(row, this.about) }, name(row.id, 60)),
      strip(row.scores),
      el(
        "span.row-flags",
        {},
        row.flags.slice(0, 4).map((flag) => el(`span.flag.${flag}`, {}, flag)),
      ),
    );
  }
}

/** "step 12", or "groups 33 to 40", for a point of the curves. */
function spanOf({ x, at, from }, point) {
  const [first, last] = [from[point], at[point]];
  return first === last ? `${x} ${whole(last)}` : `${x}s ${whole(first)} to ${whole(last)}`;
}

function chartOf({ key, title, note, lines, within }, run) {
  const label = run.x === "step" ? "step" : "judged groups";
  return lineChart({
    title,
    note,
    x: { label, format: whole },
    y: { label: lines.length === 1 ? lines[0].label : "" },
    series: lines.map((line) => ({ name: line.label, points: pointsOf(line, run.at, within) })),
    marks: key === "reward" ? run.alarms.slice(0, MOST_MARKS).map((one) => ({ x: one.at, label: one.name.replaceAll("_", " ") })) : [],
    levels: key.endsWith("fidelity") ? [{ y: 0, label: "chance" }] : key === "gap" ? [{ y: 0, label: "no gap" }] : [],
  });
}

/** The points of a line; a t-interval goes no further than the bounds of what it is of, as 1 of a correlation. */
function pointsOf({ mean, half }, at, within = []) {
  const [least, most] = [within[0] ?? -Infinity, within[1] ?? Infinity];
  const points = at.map((x, place) => {
    const [y, around] = [mean[place], half?.[place]];
    const known = y !== null && around !== null && around !== undefined;
    return { x, y, low: known ? Math.max(least, y - around) : null, high: known ? Math.min(most, y + around) : null };
  });
  const measured = points.filter(({ y }) => y !== null);
  return measured.length < SPARSE * points.length ? measured : points;
}

function alarmsOf(run) {
  if (!run.alarms.length)
    return run.at.length ? el("p.good", {}, `None of the ${run.alarms_are}.`) : null;
  return el(
    "section.alarms",
    {},
    el("h3", {}, counted(run.alarms.length, "alarm"), el("span.quiet", {}, ` (${run.alarms_are})`)),
    el(
      "ul",
      {},
      run.alarms.map(({ at, until, text }) =>
        el(
          "li",
          {},
          el("b", {}, `${run.x} ${whole(at)}${until === null ? "" : ` to ${whole(until)}`}`),
          " ",
          name(text, 400),
        ),
      ),
    ),
  );
}

function steadyOf({ steady, at }) {
  if (!steady.length || at.length < 2) return null;
  const titles = [...new Set(steady.map(({ title }) => title))];
  return el(
    "section",
    {},
    el("h3", {}, "The same throughout"),
    el(
      "ul.steady",
      {},
      titles.map((title) =>
        el(
          "li",
          {},
          el("span.quiet", {}, `${title}: `),
          steady
            .filter((one) => one.title === title)
            .map(({ label, value }) => `${label} ${value}`)
            .join(", "),
        ),
      ),
    ),
  );
}

function countsOf({ counts }) {
  if (!counts.length) return null;
  return el(
    "section",
    {},
    el("h3", {}, "Counts"),
    el(
      "div.counts",
      {},
      counts.map(({ title, rows }) =>
        el(
          "table",
          {},
          el("caption", {}, title),
          el("tbody", {}, rows.map(([kind, count]) => el("tr", {}, el("th", { scope: "row" }, name(kind, 60)), el("td.number", {}, whole(count))))),
        ),
      ),
    ),
  );
}

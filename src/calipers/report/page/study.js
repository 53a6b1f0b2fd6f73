// The view of studies: whether a study counts, the curves of its arms, and their paired differences.
import { categoryChart } from "./categories.js";
import { lineChart, numbersTable } from "./charts.js";
import { el, fill, folded } from "./elements.js";
import { choiceOf, factList, lackList, pageTitle, replaceAddress } from "./items.js";
import { counted, decimal, extent, whole } from "./numbers.js";
import { name } from "./text.js";

const FIRST_CURVES = ["truth", "length", "reward"];
const FIRST_FIGURES = ["held_out_truth", "truth", "length"];
const FEW_ARMS = 8;
/** More bands than these cover one another. */
const MOST_BANDS = 5;
const VALID = { true: "valid", false: "not valid: its arms do not count", null: "not checked wholly" };

/** The view of all studies of a report; the address chooses one, and what of it is drawn. */
export class StudyView {
  constructor(studies) {
    this.studies = studies;
    this.main = el("main", { tabindex: "-1" });
    this.element = el("div.view", {}, this.main);
    this.at = -1;
  }

  follow(asked) {
    const at = Math.min(this.studies.length - 1, Math.max(0, Number(asked.get("study") ?? 1) - 1 || 0));
    if (at === this.at) return;
    this.at = at;
    const study = this.studies[at];
    this.chosen = chosenFrom(study, asked);
    this.curves = el("div");
    this.differences = el("div");
    fill(
      this.main,
      choiceOf("study", this.studies, at),
      pageTitle(study),
      factList([["kind", study.engine], ...study.facts]),
      lackList(study.lacks),
      validityOf(study),
      failuresOf(study),
      el("section", {}, el("h3", {}, "Curves"), this.controls(study), this.curves),
      el("section", {}, el("h3", {}, "Paired differences"), this.figureChoice(study), this.differences),
      el("section.all-figures", {}, folded("All figures of all arms", () => figuresTable(study))),
    );
    this.draw(study);
    this.main.dataset.study = study.name;
  }

  set(study, changed) {
    this.chosen = { ...this.chosen, ...changed };
    replaceAddress({ view: "study", study: this.at + 1, ...this.chosen });
    this.draw(study);
  }

  controls(study) {
    const kinds = [...new Map(study.charts.map((one) => [kindOf(one), one])).keys()];
    const curve = selectOf("curve", curvesOf(study, this.chosen.kind), this.chosen.curve, (value) =>
      this.set(study, { curve: value }),
    );
    const kind = selectOf(
      "over",
      kinds.map((one) => [one, kindLabel(study.charts.find((chart) => kindOf(chart) === one))]),
      this.chosen.kind,
      (value) => {
        const names = curvesOf(study, value);
        const kept = names.find(([key]) => key === this.chosen.curve) ?? names[0];
        fill(curve, names.map(([key, label]) => el("option", { value: key, selected: key === kept[0] }, label)));
        this.set(study, { kind: value, curve: kept[0] });
      },
    );
    const arms = selectOf("arms", armChoices(study), this.chosen.arms, (value) => this.set(study, { arms: value }));
    const less = /** @type {HTMLInputElement} */ (
      el("input", {
        type: "checkbox",
        checked: this.chosen.less === "1",
        change: () => this.set(study, { less: less.checked ? "1" : "" }),
      })
    );
    const isCompared = study.arms.some(({ against }) => against);
    return el(
      "div.chooser",
      {},
      labelledField("Curve", curve),
      labelledField("Over", kind),
      labelledField("Arms", arms),
      isCompared ? el("label", {}, less, " less the arm each is compared with") : null,
    );
  }

  figureChoice(study) {
    const compared = study.figures.filter(({ differences }) => differences.length);
    if (!compared.length) return el("p.note", {}, "No arm of this study has finished runs and is compared with another.");
    const select = selectOf("figure", compared.map(({ figure, label }) => [figure, label]), this.chosen.figure, (value) =>
      this.set(study, { figure: value }),
    );
    return el("div.chooser", {}, labelledField("Figure", select));
  }

  draw(study) {
    const { curve, kind, arms, less, figure } = this.chosen;
    const chart = study.charts.find((one) => one.curve === curve && kindOf(one) === kind);
    const wanted = armsIn(study, arms);
    fill(this.curves, chart ? curveChart(study, chart, wanted, less === "1") : el("p.note", {}, "There is no curve."));
    const found = study.figures.find((one) => one.figure === figure);
    fill(this.differences, found?.differences.length ? differencesChart(study, found) : null);
  }
}

const kindOf = ({ over, split }) => `${over}${split ? "/held-out" : ""}`;
const kindLabel = ({ over_label, split }) => `${over_label}${split ? `, ${split}` : ""}`;
const curvesOf = (study, kind) =>
  study.charts.filter((one) => kindOf(one) === kind).map(({ curve, label }) => [curve, label]);

function chosenFrom(study, asked) {
  const [first] = study.charts;
  const kinds = study.charts.map(kindOf);
  const kind = kinds.includes(asked.get("kind")) ? asked.get("kind") : first ? kindOf(first) : "";
  const names = curvesOf(study, kind).map(([key]) => key);
  const figures = study.figures.filter(({ differences }) => differences.length).map((one) => one.figure);
  const choices = armChoices(study).map(([key]) => key);
  return {
    kind,
    curve: pick(asked.get("curve"), names, FIRST_CURVES),
    arms: pick(asked.get("arms"), choices, []),
    less: asked.get("less") === "1" ? "1" : "",
    figure: pick(asked.get("figure"), figures, FIRST_FIGURES),
  };
}

const pick = (asked, known, preferred) =>
  known.includes(asked) ? asked : (preferred.find((one) => known.includes(one)) ?? known[0] ?? "");

/** What of the arms can be drawn: all, or an arm with those that are compared with it. The first is the default. */
function armChoices(study) {
  const controls = [...new Set(study.arms.map(({ against }) => against).filter(Boolean))];
  const compared = controls.map((control) => {
    const count = study.arms.filter(({ against }) => against === control).length;
    return { key: `with ${control}`, label: `${control}, and ${counted(count, "arm")} compared with it`, count };
  });
  compared.sort((one, other) => other.count - one.count);
  const all = ["all", `all ${whole(study.arms.length)}`];
  const pairs = compared.map(({ key, label }) => [key, label]);
  return study.arms.length <= FEW_ARMS ? [all, ...pairs] : [...pairs, all];
}

function armsIn(study, choice) {
  const control = choice.startsWith("with ") ? choice.slice(5) : null;
  const shown = study.arms.map((arm, at) => (control === null || arm.name === control || arm.against === control ? at : -1));
  return new Set(shown.filter((at) => at >= 0));
}

function curveChart(study, chart, wanted, less) {
  const lines = (less ? chart.differences : chart.lines).filter(({ arm }) => wanted.has(arm));
  const hasBands = lines.length <= MOST_BANDS;
  return lineChart({
    title: `${chart.label}${chart.split ? `, ${chart.split}` : ""}`,
    note: `Lines are means over runs, ${hasBands ? "bands 95 % t-intervals" : "with 95 % t-intervals in the table"}.`,
    bands: hasBands,
    x: { label: chart.over_label, integers: chart.over !== "kl" },
    y: { label: less ? `difference in ${chart.label}` : chart.label },
    levels: less ? [{ y: 0, label: "no difference" }] : [],
    empty: less ? "None of these arms is compared with another over these points." : "No run of these arms is finished.",
    series: lines.map(({ arm, at, mean, half }) => ({
      name: less ? `${study.arms[arm].name} \u2212 ${study.arms[arm].against}` : study.arms[arm].name,
      points: at.map((x, place) => withInterval(x, mean[place], half[place])),
    })),
  });
}

const signed = (value) => `${value > 0 ? "+" : ""}${decimal(value)}`;

function withInterval(x, y, half) {
  return half === null ? { x, y } : { x, y, low: y - half, high: y + half };
}

function differencesChart(study, { label, differences }) {
  const sees = differences.map(({ detectable }) => detectable).filter((one) => one !== null);
  const smallest = sees.length ? ` The smallest true difference that each of them would show four times in five: ${decimal(extent(sees)[1])}.` : "";
  return categoryChart({
    title: `Differences in ${label}`,
    note: `Means over pairs of runs with one seed, with 95 % t-intervals.${smallest}`,
    label: "arm, less",
    what: "difference",
    format: signed,
    level: { value: 0, label: "no difference" },
    rows: differences.map(({ arm, mean, half_width: half, n, clear }) => ({
      name: `${study.arms[arm].name} \u2212 ${study.arms[arm].against}`,
      value: mean,
      low: half === null ? null : mean - half,
      high: half === null ? null : mean + half,
      note: `${counted(n, "pair")}${clear ? "" : ", not clear"}`,
    })),
  });
}

function validityOf({ valid, checks, engine }) {
  if (!checks.length && engine === "simulation") return null;
  const sign = { true: "\u2713", false: "\u2717", null: "?" };
  const status = { true: "scored", false: "failed", null: "partial" };
  return el(
    "section.validity",
    {},
    el("h3", {}, "Does it count? ", el("span.status", { "data-status": status[valid] }, VALID[valid])),
    el(
      "ul",
      {},
      checks.map(({ passed, found }) =>
        el("li", { "data-status": status[passed] }, el("b", {}, sign[passed]), " ", name(found, 300)),
      ),
    ),
  );
}

function failuresOf({ failed, stopped }) {
  if (!failed.length && !stopped.length) return null;
  const listed = (rows) => el("ul", {}, rows.map((parts) => el("li", {}, parts)));
  return el(
    "section.alarms",
    {},
    failed.length ? el("h3", {}, `${counted(failed.length, "run")} failed`) : null,
    failed.length ? listed(failed.map(({ run, why }) => [el("b", {}, name(run, 100)), why ? [": ", name(why, 300)] : null])) : null,
    stopped.length ? el("h3", {}, `${counted(stopped.length, "run")} ended early by a stop rule`) : null,
    stopped.length
      ? listed(
          stopped.map(({ arm, seed, step, rule, found }) => [
            el("b", {}, name(`${arm}, seed ${seed}`, 100)),
            name(` after step ${step} by ${rule}: ${found}`, 400),
          ]),
        )
      : null,
  );
}

function figuresTable(study) {
  const heads = ["arm", "less", ...study.figures.flatMap(({ label }) => [label, "difference"])];
  const shown = (one) => (one ? decimal(one.mean) : "\u2013");
  const less = (one) =>
    one ? `${signed(one.mean)}${one.half_width === null ? "" : ` \u00b1 ${decimal(one.half_width)}`}` : "\u2013";
  const rows = study.arms.map((arm, at) => {
    const of = (list) => list.find((one) => one.arm === at);
    return [
      name(arm.name, 80),
      name(arm.against ?? "\u2013", 80),
      ...study.figures.flatMap(({ values, differences }) => [shown(of(values)), less(of(differences))]),
    ];
  });
  return numbersTable(heads, rows);
}

function selectOf(what, choices, chosen, act) {
  const made = /** @type {HTMLSelectElement} */ (
    el(
      "select",
      { "data-choice": what, change: () => act(made.value) },
      choices.map(([value, label]) => el("option", { value, selected: value === chosen }, label)),
    )
  );
  return made;
}

function labelledField(label, field) {
  return el("label", {}, el("span.quiet", {}, label), " ", field);
}

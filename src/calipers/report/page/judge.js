// The view of judges: how well they agree with gold, how they behave, what they cost, and how their calls ended.
import { el, fill, folded } from "./elements.js";
import { comparisonFigures, movedAnswers, profileFigures } from "./compared.js";
import { bestFirst, calibrationFigures } from "./judgecards.js";
import { JudgeNames } from "./judgenames.js";
import { judgedFigures } from "./judged.js";
import { counted, decimal, extent, two } from "./numbers.js";
import { name, textBlock } from "./text.js";

/** The view of the lines of `judge` blocks: what each source says of its judges. */
export class JudgeView {
  constructor(lines) {
    this.main = el("main.judges", { tabindex: "-1" });
    this.element = el("div.view", {}, this.main);
    this.keys = { open: () => this.main.focus() };
    this.update(lines);
  }

  update(told) {
    const names = new JudgeNames(told.flatMap(namesIn));
    const lines = names.within(told, ["recommendation"]);
    const of = (...kinds) => lines.filter((one) => kinds.includes(one.kind));
    const calibrations = of("calibration", "criteria");
    const profiles = of("profile");
    const comparisons = of("comparison");
    fill(
      this.main,
      names.legend(),
      calibrations.length ? calibrationSection(calibrations) : null,
      comparisons.map(comparisonSection),
      profiles.length ? profileSection(profiles) : null,
      of("judged").map(judgedSection),
      notInReport(calibrations, profiles, comparisons, of("judged")),
    );
  }
}

/** The full names of the judges that a line is about. */
function namesIn({ judges = [], panel, parts = [] }) {
  return [...judges.flatMap((one) => [one.judge, one.name]), ...(panel?.members ?? []), ...parts.map(([of]) => of)];
}

/** The judges of several files in one list, those that agree best with gold first; a file's name tells equal names apart. */
function together(files) {
  return bestFirst(
    files.flatMap((file) =>
      file.judges.map((judge) => ({
        ...judge,
        label: files.length > 1 && file.kind !== "profile" ? `${judge.name} \u00b7 ${file.source}` : judge.name,
      })),
    ),
  );
}

function calibrationSection(files) {
  const judges = together(files);
  const findings = files.flatMap((file) => file.findings ?? []);
  return el(
    "section",
    {},
    el("h2", {}, "Against gold"),
    el("p.answer", {}, answerOf(judges), ` (${files.length === 1 ? "" : "from "}`, sourcesOf(files), ")"),
    files
      .filter((file) => file.recommendation)
      .map((file) =>
        folded(
          ["Recommendation for calipers.toml", files.length > 1 ? [", ", name(file.source, 80)] : null],
          () => textBlock(file.recommendation, { mono: true }),
          { open: true },
        ),
      ),
    findings.length
      ? folded(
          counted(findings.length, "finding"),
          () =>
            el(
              "ul",
              {},
              findings.map(([judge, text]) =>
                el("li", {}, judge ? [name(judge, 80), ": "] : null, name(text ?? "", 600)),
              ),
            ),
          { open: findings.length < 4 },
        )
      : null,
    el("div.cards", {}, calibrationFigures(judges, files)),
  );
}

const sourcesOf = (files) => files.flatMap((file, at) => [at ? ", " : null, name(file.source, 80)]);

function answerOf(judges) {
  const known = judges.filter(({ figures }) => typeof figures.fidelity?.[0] === "number");
  if (!judges.length) return ["No judge was measured"];
  if (!known.length)
    return [`${counted(judges.length, "judge")} measured; agreement with gold is not known as a fidelity`];
  const best = known.reduce((one, other) => (other.figures.fidelity[0] > one.figures.fidelity[0] ? other : one));
  const [value, low, high] = best.figures.fidelity;
  const between = typeof low === "number" ? ` (95 % interval ${decimal(low, 2)} to ${decimal(high, 2)})` : "";
  const rest = known.filter((one) => one !== best);
  const apart = rest.every(({ figures }) => typeof figures.fidelity[2] === "number" && figures.fidelity[2] < low);
  const sure = rest.length && !apart ? "; some others are not clearly worse" : "";
  const said = [name(best.label, 80), ` agrees best with gold: fidelity ${decimal(value, 2)}${between}${sure}`];
  return rest.length ? said : [name(best.label, 80), ` has the fidelity ${decimal(value, 2)}${between}`];
}

function profileSection(files) {
  const judges = together(files);
  return el(
    "section",
    {},
    el("h2", {}, counted(judges.length, "profile")),
    el(
      "p.answer",
      {},
      "What each profile measured of one call of its judge, on its own groups (",
      sourcesOf(files),
      ")",
    ),
    el("div.cards", {}, profileFigures(judges)),
  );
}

function comparisonSection(file) {
  const judges = together([file]);
  const groups = extent(judges.map((one) => one.groups).filter((one) => typeof one === "number"))[1];
  const agree = typeof file.alpha === "number" ? `; Krippendorff's alpha of their scores is ${two(file.alpha)}` : "";
  const failed = judges
    .filter((one) => one.failed)
    .map((one) => el("li", {}, name(one.label, 80), " failed: ", name(one.failed, 600)));
  const notes = file.notes.map((one) => el("li", {}, name(one, 600)));
  return el(
    "section",
    {},
    el("h2", {}, name(file.title || "Comparison", 200)),
    el(
      "p.answer",
      {},
      `${counted(judges.length, "judge")} asked about the same ${groups < 0 ? "groups" : counted(groups, "group")}${agree} (`,
      name(file.source, 80),
      ")",
    ),
    failed.length || notes.length ? el("ul.note", {}, failed, notes) : null,
    el("div.cards", {}, comparisonFigures(file, judges)),
    movedAnswers(file),
  );
}

function judgedSection(tally) {
  return el("section", {}, el("h2", {}, "In ", name(tally.source, 80)), el("div.cards", {}, judgedFigures(tally)));
}

/** What this report cannot say, and which command would tell. */
function notInReport(calibrations, profiles, comparisons, tallies) {
  const command = (text) => el("code", {}, text);
  const notes = [];
  const hasGold = [...profiles, ...comparisons].some(({ judges }) =>
    judges.some(({ figures }) => typeof figures.fidelity?.[0] === "number"),
  );
  const hasOrder = tallies.some(({ gold }) => gold?.[3]);
  if (!calibrations.length && !hasGold)
    notes.push([
      hasOrder
        ? "Of agreement with gold, only that of rewards is known. For each judge's fidelity, add the output of "
        : "Agreement with gold is not known: add the output of ",
      command("calipers calibrate GROUPS --json"),
      ".",
    ]);
  if (![...profiles, ...calibrations, ...comparisons].length)
    notes.push([
      "Position bias, noise and preferences are not known either: that output has them, and so has a profile (",
      command("calipers profile LEDGER -o FILE"),
      ").",
    ]);
  return notes.length
    ? el(
        "section",
        {},
        el("h2", {}, "Not in this report"),
        el(
          "ul.note",
          {},
          notes.map((one) => el("li", {}, one)),
        ),
      )
    : null;
}

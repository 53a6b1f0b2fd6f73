// The candidates of a group, best first, with error bars and ties.
import { button, el } from "./elements.js";
import { interval, rangeOf } from "./intervals.js";
import { Z95, decimal } from "./numbers.js";
import { name } from "./text.js";

const valueOf = (one) => one.reward ?? one.score;

/**
 * The trajectories, best first, each with its `rank`: "1", "2=" where several have the same reward, "–" without one.
 * `unsure` says that its score is within the 95 % error of the next one's.
 */
export function ranked(trajectories) {
  const sorted = trajectories
    .map((one, position) => ({ one, position }))
    .sort((a, b) => {
      const [first, second] = [valueOf(a.one), valueOf(b.one)];
      if (first === null || second === null) return (first === null) - (second === null) || a.position - b.position;
      return second - first || (b.one.score ?? 0) - (a.one.score ?? 0) || a.position - b.position;
    })
    .map(({ one }) => one);
  const values = sorted.map(valueOf);
  return sorted.map((one, at) => {
    const value = values[at];
    const tied = value !== null && values.filter((other) => other === value).length > 1;
    return {
      one,
      rank: value === null ? "\u2013" : `${values.indexOf(value) + 1}${tied ? "=" : ""}`,
      unsure: isUnsure(one, sorted[at + 1]),
    };
  });
}

function isUnsure(one, next) {
  if (!next || [one, next].some((each) => each.score === null || each.stderr === null)) return false;
  if (valueOf(one) === valueOf(next)) return false;
  return Math.abs(one.score - next.score) < Z95 * Math.hypot(one.stderr, next.stderr);
}

/** The ranking as a table; `show` is called with the id of a trajectory that is chosen. */
export function rankingTable(trajectories, show) {
  const range = rangeOf(trajectories);
  const hasGold = trajectories.some((one) => typeof one.gold === "number");
  const hasErrors = trajectories.some((one) => one.stderr !== null);
  const rows = ranked(trajectories).map(({ one, rank, unsure }) => rankingRow(one, rank, unsure, { range, show, hasGold }));
  const ends = [range.low, range.high].map((end) => decimal(end, end % 1 ? 2 : 0));
  const head = ["rank", "candidate", hasErrors ? "score, 95 % interval" : "score", "", "reward", ...(hasGold ? ["gold"] : [])];
  return [
    el(
      "table.ranking",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((label) => el("th", { scope: "col" }, label)),
        ),
      ),
      el("tbody", {}, rows),
    ),
    trajectories.some((one) => one.score !== null)
      ? el(
          "p.legend",
          {},
          `Scores are drawn from ${ends[0]} to ${ends[1]}. `,
          hasErrors
            ? "\u2248: the next candidate is within the error. =: equal rewards."
            : "Their errors are not known: they take several answers of a judge.",
          trajectories.some((one) => one.wrong_sign)
            ? ` ${WRONG}: the reward less the group's mean has the other sign than gold less its mean, so training goes the wrong way.`
            : null,
        )
      : null,
  ];
}

const WRONG = "\u2260";

/** The gold of a candidate, with a mark where its advantage has the other sign; unknown stays unknown. */
function goldCell(one) {
  return el(
    "td.number.gold",
    {},
    typeof one.gold === "number" ? goldText(one.gold) : "\u2013",
    one.wrong_sign ? el("span.wrong-sign", { title: WRONG_SIGN }, ` ${WRONG}`) : null,
  );
}

const WRONG_SIGN = "the advantage has the other sign than gold's";

/** Gold as it is written in files: few digits. */
function goldText(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 4 }).replace("-", "\u2212");
}

/** The gold in the head of a candidate's column; null where it is not known. */
export function goldNote(one) {
  if (typeof one.gold !== "number") return null;
  const title = one.wrong_sign ? WRONG_SIGN : null;
  return el(`span.gold${one.wrong_sign ? ".wrong-sign" : ""}`, { title }, `gold ${goldText(one.gold)}${one.wrong_sign ? ` ${WRONG}` : ""}`);
}

function rankingRow(one, rank, unsure, { range, show, hasGold }) {
  const id = button(name(one.id, 40), () => show(one.id), { class: "plain" });
  const first = [
    el(
      "td.rank",
      {},
      rank,
      unsure ? el("span.unsure", { title: "the next candidate is within the error" }, " \u2248") : null,
    ),
    el("td", {}, id, one.attacks.length ? el("span.flag.injected", {}, "injected") : null),
  ];
  if (one.score === null && one.reward === null) {
    return el(
      "tr.unscored",
      {},
      first,
      el(
        "td.why",
        { colspan: 3 },
        el("span.status", { "data-status": one.status }, one.status),
        " ",
        one.reason ? name(one.reason, 300) : "the reason is not in this report",
      ),
      hasGold ? goldCell(one) : null,
    );
  }
  const score =
    one.score === null
      ? "\u2013"
      : one.stderr === null
        ? decimal(one.score)
        : `${decimal(one.score)} \u00b1 ${decimal(Z95 * one.stderr)}`;
  return el(
    "tr",
    {},
    first,
    el("td.plot", {}, interval(one, range)),
    el("td.number", {}, score),
    el("td.number.reward", {}, decimal(one.reward)),
    hasGold ? goldCell(one) : null,
  );
}

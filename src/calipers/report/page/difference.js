// What differs between two candidates: their messages as lines.
import { el } from "./elements.js";
import { whole } from "./numbers.js";
import { name, visible } from "./text.js";

const MOST_CHANGED = 3000;
const CONTEXT = 3;
const LONGEST_LINE = 4000;

/**
 * Messages as plain lines, to compare them.
 * @param {Record<string, unknown>[]} messages
 */
function linesOf(messages) {
  const found = [];
  for (const message of messages) {
    found.push(`[${message.role}]`);
    const parts = Array.isArray(message.content)
      ? message.content.map((part) => part?.text ?? JSON.stringify(part))
      : [message.content ?? ""];
    for (const part of parts) if (part !== "") for (const line of String(part).split("\n")) found.push(line);
    for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : [])
      found.push(`calls ${call?.function?.name}: ${call?.function?.arguments}`);
  }
  return found;
}

/**
 * The edits that turn `a` into `b`, as [kind, line] with the kinds "same", "out" and "in", by their longest common
 * subsequence; null if what differs is too long to compare.
 * @param {string[]} a
 * @param {string[]} b
 */
function edits(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  const shorter = Math.min(a.length, b.length) - start;
  while (end < shorter && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const middle = shortest(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const same = (lines) => lines.map((line) => ["same", line]);
  return middle && [...same(a.slice(0, start)), ...middle, ...same(a.slice(a.length - end))];
}

function shortest(a, b) {
  if (a.length + b.length > MOST_CHANGED) return null;
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width); // of the rest of both, from each place on
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      common[at] = a[i] === b[j] ? common[at + width + 1] + 1 : Math.max(common[at + width], common[at + 1]);
    }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const at = i * width + j;
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push(["same", a[i++]]);
      j += 1;
    } else if (j === b.length || (i < a.length && common[at + width] >= common[at + 1])) found.push(["out", a[i++]]);
    else found.push(["in", b[j++]]);
  }
  return found;
}

/** The difference of two candidates as a table: lines of the first at the left, of the second at the right. */
export function differenceTable(first, second) {
  const found = edits(linesOf(first.messages), linesOf(second.messages));
  if (found === null) return el("p.quiet", {}, "They have too many different lines to compare.");
  if (found.every(([kind]) => kind === "same")) return el("p.quiet", {}, "Their messages are the same.");
  const rows = [];
  for (let at = 0; at < found.length;) {
    let end = at;
    const isSame = found[at][0] === "same";
    while (end < found.length && (found[end][0] === "same") === isSame) end += 1;
    const lines = (kind) => found.slice(at, end).flatMap(([one, line]) => (one === kind ? [line] : []));
    rows.push(isSame ? sameRows(lines("same"), at === 0, end === found.length) : changedRows(lines("out"), lines("in")));
    at = end;
  }
  const heads = [first, second].map(({ id }) => el("th", { scope: "col" }, name(id, 60)));
  return el("table.difference", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows));
}

function sameRows(lines, isFirst, isLast) {
  const row = (line) => el("tr", {}, cell("same", line), cell("same", line));
  const [head, tail] = [isFirst ? 0 : CONTEXT, isLast ? 0 : CONTEXT];
  if (lines.length <= head + tail + 1) return lines.map(row);
  const gap = el("tr.gap", {}, el("td", { colspan: 2 }, `${whole(lines.length - head - tail)} equal lines`));
  return [...lines.slice(0, head).map(row), gap, ...lines.slice(lines.length - tail).map(row)];
}

function changedRows(out, coming) {
  return Array.from({ length: Math.max(out.length, coming.length) }, (_, at) =>
    el("tr", {}, cell("out", out[at]), cell("in", coming[at])),
  );
}

function cell(kind, line) {
  if (line === undefined) return el("td.none");
  const shown =
    line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}\u2026 (${whole(line.length)} characters)` : line;
  return el(`td.${kind}`, { dir: "auto" }, visible(shown));
}

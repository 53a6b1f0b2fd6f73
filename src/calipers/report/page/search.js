// Which groups the list shows, and in which order. Ids and prompts are searched at once, whole texts block by block.
import { linesOfChunk } from "./data.js";

/** The filters, with what they mean; docs/report.md explains them. */
export const FLAGS = {
  abstained: "a trajectory has no score: the judge's answers about it could not be used",
  failed: "a trajectory has no score: no answer came",
  injected: "text in a trajectory addresses the judge",
  disputed: "two judges prefer different candidates",
  flipped: "a judge preferred another candidate when the order changed",
  "against-gold": "a candidate's advantage has the other sign than its gold's",
  close: "the lead of the best candidate is smaller than its 95 % error",
  tied: "all rewards are equal, so the group teaches nothing",
  warned: "the result has warnings",
};

const spread = (row) => {
  const known = row.scores.map((one) => one[0]).filter((score) => score !== null).sort((a, b) => a - b);
  return known.length < 2 ? Infinity : known.at(-1) - known[0];
};
const scored = (row) => row.scores.filter((one) => one[2] !== null).length - row.scores.length;

/** The orders of the list: a label, and a number by which rows are sorted, the least first. */
export const ORDERS = {
  input: { label: "in input order", key: (row) => row.position },
  close: { label: "smallest spread first", key: spread },
  unscored: { label: "most unscored first", key: scored },
};

/**
 * The rows with all of `flags`, of `source` if it is not null, in the order named.
 * @param {import("./data.js").Row[]} rows
 */
export function chosenRows(rows, { flags, source, order }) {
  const kept = rows.filter(
    (row) => flags.every((flag) => row.flags.includes(flag)) && (source === null || row.source === source),
  );
  const { key } = ORDERS[order];
  const keyed = kept.map((row) => /** @type {const} */ ([key(row), row]));
  keyed.sort(([one, a], [other, b]) => (one === other ? a.position - b.position : one - other));
  return keyed.map(([, row]) => row);
}

/**
 * Yield which rows contain `words`, as positions, block by block: first by id and prompt, then by the whole text.
 * @param {import("./data.js").Row[]} rows
 * @param {string} words
 * @yields {{found: Set<number>, done: number, of: number}}
 */
export async function* matches(rows, words) {
  const wanted = words.toLowerCase();
  const found = new Set();
  for (const row of rows)
    if (row.id.toLowerCase().includes(wanted) || row.prompt.toLowerCase().includes(wanted)) found.add(row.position);
  const encoded = JSON.stringify(wanted).slice(1, -1);
  const chunks = new Map();
  for (const row of rows) chunks.set(row.chunk, [...(chunks.get(row.chunk) ?? []), row]);
  yield { found, done: 0, of: chunks.size };
  let done = 0;
  for (const [chunk, members] of chunks) {
    const lines = await linesOfChunk(chunk);
    for (const row of members)
      if (!found.has(row.position) && lines[row.line].toLowerCase().includes(encoded)) found.add(row.position);
    done += 1;
    yield { found, done, of: chunks.size };
  }
}

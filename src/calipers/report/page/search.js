// Which groups the list shows, and in which order. Ids and prompts are searched at once, whole texts block by block.
import { linesOfChunk } from "./data.js";
import { extent } from "./numbers.js";

/** The filters, with what they mean; docs/report.md explains them. */
export const FLAGS = {
  abstained: "a trajectory has no score: the judge's answers about it could not be used",
  failed: "a trajectory has no score: no answer came",
  injected: "text in a trajectory addresses the judge",
  disputed: "two judges prefer different candidates",
  flipped: "a judge preferred another candidate when the order changed, by more than the error where that is known",
  "against-gold": "a candidate's advantage has the other sign than its gold's",
  close: "the lead of the best candidate is smaller than its 95 % error",
  tied: "all rewards are equal, so the group teaches nothing",
  reasked: "a question was asked again because its answer could not be used",
  shortened: "something was left out to fit the judge's context window",
  warned: "the result has warnings",
};

const range = (row) => {
  const known = row.scores.map((one) => one[0]).filter((score) => score !== null);
  if (known.length < 2) return null;
  const [low, high] = extent(known);
  return high - low;
};
const meanError = (row) => {
  const known = row.scores.map((one) => one[1]).filter((error) => error !== null);
  return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : null;
};
const unscored = (row) => row.scores.filter((one) => one[2] === null).length;

/** The orders of the list: a label, and a key; rows without a key come last. */
export const ORDERS = {
  input: { label: "in input order", key: (row) => row.position, down: false },
  spread: { label: "largest spread first", key: range, down: true },
  close: { label: "smallest spread first", key: range, down: false },
  error: { label: "largest error first", key: meanError, down: true },
  unscored: { label: "most unscored first", key: unscored, down: true },
  flags: { label: "most flags first", key: (row) => row.flags.length, down: true },
  calls: { label: "most answers first", key: (row) => row.calls, down: true },
  cost: { label: "highest cost first", key: (row) => row.cost, down: true },
};

/**
 * The rows with all of `flags`, of `source` if it is not null, in the order named.
 * @param {import("./data.js").Row[]} rows
 */
export function chosenRows(rows, { flags, source, order }) {
  const kept = rows.filter(
    (row) => flags.every((flag) => row.flags.includes(flag)) && (source === null || row.source === source),
  );
  const { key, down } = ORDERS[order];
  if (order === "input") return kept;
  const keyed = kept.map((row) => /** @type {const} */ ([key(row), row]));
  const sign = down ? -1 : 1;
  keyed.sort(([one, a], [other, b]) => {
    if (one === null || other === null) return (one === null) - (other === null) || a.position - b.position;
    return sign * (one - other) || a.position - b.position;
  });
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
  const chunks = Map.groupBy ? Map.groupBy(rows, (row) => row.chunk) : grouped(rows);
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

function grouped(rows) {
  const found = new Map();
  for (const row of rows) {
    if (!found.has(row.chunk)) found.set(row.chunk, []);
    found.get(row.chunk).push(row);
  }
  return found;
}

// The data blocks of the page: compressed JSON lines in base64, unpacked when they are needed.

/**
 * @typedef {Object} Row a line of the index
 * @property {string} id
 * @property {number} source
 * @property {string} status
 * @property {string[]} flags
 * @property {[number | null, number | null, number | null][]} scores score, standard error, reward
 * @property {string} prompt
 * @property {number | null} calls
 * @property {number | null} cost
 * @property {number} chunk
 * @property {number} line
 * @property {number} position its number in the report, from 0
 */

const KEPT_CHUNKS = 6;
/** @type {Map<number, Promise<string[]>>} */
const unpacked = new Map();
let detailBlocks = null;

function blocksOf(kind) {
  return [...document.querySelectorAll(`script[type="application/x-calipers-${kind}"]`)];
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

async function unpack(block) {
  const stream = new Blob([bytesOf(block.textContent)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return (await new Response(stream).text()).split("\n");
}

/** Whether this browser can unpack the page's data. */
export function canUnpack() {
  return typeof DecompressionStream === "function";
}

/** What the page says about itself. */
export async function readAbout() {
  const [block] = blocksOf("about");
  return JSON.parse((await unpack(block))[0]);
}

/** The rows of the index, in the order of the report. @returns {Promise<Row[]>} */
export async function readRows() {
  const parts = await Promise.all(blocksOf("rows").map(unpack));
  const rows = parts.flatMap((lines) => JSON.parse(`[${lines.join(",")}]`));
  rows.forEach((row, position) => {
    row.position = position;
  });
  return rows;
}

/** Whether the page has data of a kind, such as "judge". @param {string} kind */
export function hasBlocks(kind) {
  return document.querySelector(`script[type="application/x-calipers-${kind}"]`) !== null;
}

/** All lines of a kind's blocks, parsed, in their order. @param {string} kind */
export async function readBlocks(kind) {
  const parts = await Promise.all(blocksOf(kind).map(unpack));
  return parts.flat().map((line) => JSON.parse(line));
}

/** The lines of a block of details, each the JSON of a group. @param {number} chunk */
export function linesOfChunk(chunk) {
  detailBlocks ??= blocksOf("details");
  const kept = unpacked.get(chunk) ?? unpack(detailBlocks[chunk]);
  unpacked.delete(chunk);
  unpacked.set(chunk, kept);
  if (unpacked.size > KEPT_CHUNKS) unpacked.delete(unpacked.keys().next().value);
  return kept;
}

/** Everything the report knows of a group. @param {Row} row */
export async function readDetail(row) {
  return JSON.parse((await linesOfChunk(row.chunk))[row.line]);
}

/** The address of a group in this report. @param {Row} row @param {{sources: string[]}} about */
export function groupAddress(row, about) {
  const several = about.sources.length > 1 ? `&source=${row.source}` : "";
  return `#group=${encodeURIComponent(row.id)}${several}`;
}

// What judges are called: "vllm/qwen3" without the address of its server, where this means only one judge.
import { el } from "./elements.js";
import { name } from "./text.js";

const AT_ADDRESS = /^([^@\s]{1,200})@(https?:\/\/\S{1,500})$/;
const MOST_SAID = 12;

export class JudgeNames {
  /** @param {unknown[]} names the full names of all judges, also several times; others than text are ignored */
  constructor(names) {
    const all = new Set(names.filter((one) => typeof one === "string"));
    const found = [...all].map((full) => AT_ADDRESS.exec(full)).filter(Boolean);
    const counts = new Map();
    for (const short of [...found.map(([, of]) => of), ...all]) counts.set(short, (counts.get(short) ?? 0) + 1);
    // The longest first: a name may be the beginning of another one.
    this.known = found.filter(([, short]) => counts.get(short) === 1).sort(([a], [b]) => b.length - a.length);
  }

  /** A text with the full names in it shortened; anything else as it is. */
  of(text) {
    if (typeof text !== "string" || !text.includes("@http")) return text;
    return this.known.reduce((said, [full, short]) => replaced(said, full, short), text);
  }

  /** The same in all texts of parsed JSON, except below the keys `kept`. */
  within(value, kept = []) {
    if (Array.isArray(value)) return value.map((one) => this.within(one, kept));
    if (value === null || typeof value !== "object") return this.of(value);
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, kept.includes(key) ? one : this.within(one, kept)]),
    );
  }

  /** A line that says once at which address each shortened judge is; null if none was shortened. */
  legend() {
    if (!this.known.length) return null;
    const byAddress = new Map();
    for (const [, short, address] of this.known) byAddress.set(address, [...(byAddress.get(address) ?? []), short]);
    const said = [...byAddress].slice(0, MOST_SAID).flatMap(([address, shorts], at) => [
      at ? "; " : null,
      shorts
        .sort()
        .slice(0, MOST_SAID)
        .flatMap((one, place) => [place ? ", " : null, name(one, 60)]),
      shorts.length > MOST_SAID ? ` and ${shorts.length - MOST_SAID} more` : null,
      " at ",
      name(address, 120),
    ]);
    const more = byAddress.size > MOST_SAID ? `; and ${byAddress.size - MOST_SAID} more addresses` : null;
    return el("p.legend.addresses", {}, said, more, ".");
  }
}

/** `full` replaced, but not where it is the beginning of a longer address. */
function replaced(text, full, short) {
  const parts = text.split(full);
  return parts.reduce((said, part) => said + (/^[\w/.-]*\w/.test(part) ? full : short) + part);
}

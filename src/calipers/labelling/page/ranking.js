// A ranking while it is made: tiers of tied candidates, best first, and candidates that the annotator cannot tell.
// Candidates are numbers from 0, in the order shown. Nothing here knows the page.

export class Ranking {
  /** @param {number} count @param {(number | null)[] | null} [ranks] ranks that were saved before */
  constructor(count, ranks = null) {
    this.count = count;
    /** @type {number[][]} */
    this.tiers = [];
    /** @type {Set<number>} */
    this.unknown = new Set();
    this.tying = false;
    /** @type {{tiers: number[][], unknown: number[], tying: boolean}[]} */
    this.before = [];
    if (ranks) this.take(ranks);
  }

  take(ranks) {
    const known = [...new Set(ranks.filter((rank) => rank !== null))].sort((a, b) => a - b);
    this.tiers = known.map((rank) => ranks.flatMap((one, at) => (one === rank ? [at] : [])));
    this.unknown = new Set(ranks.flatMap((one, at) => (one === null ? [at] : [])));
  }

  /** Put a candidate next, beside the last one if a tie was asked for; one that has a place loses it. */
  put(candidate) {
    this.remember();
    if (this.rankOf(candidate) !== null || this.unknown.has(candidate)) {
      this.tiers = this.tiers.map((tier) => tier.filter((one) => one !== candidate)).filter((tier) => tier.length);
      this.unknown.delete(candidate);
    } else if (this.tying && this.tiers.length) {
      this.tiers.at(-1).push(candidate);
    } else {
      this.tiers.push([candidate]);
    }
    this.tying = false;
  }

  /** The next candidate ties with the last one, or no longer does. */
  toggleTie() {
    if (!this.tiers.length) return;
    this.remember();
    this.tying = !this.tying;
  }

  /** All candidates without a place cannot be told. */
  giveUpRest() {
    const rest = this.open();
    if (!rest.length) return;
    this.remember();
    for (const one of rest) this.unknown.add(one);
    this.tying = false;
  }

  /** Take the last step back; whether there was one. */
  undo() {
    const last = this.before.pop();
    if (!last) return false;
    this.tiers = last.tiers;
    this.unknown = new Set(last.unknown);
    this.tying = last.tying;
    return true;
  }

  /** Candidates that have no place yet. */
  open() {
    return Array.from({ length: this.count }, (_, at) => at).filter(
      (at) => this.rankOf(at) === null && !this.unknown.has(at),
    );
  }

  /** A candidate's rank from 1, or null. */
  rankOf(candidate) {
    const at = this.tiers.findIndex((tier) => tier.includes(candidate));
    return at < 0 ? null : at + 1;
  }

  /** Ranks in the order shown, null for "can't tell". */
  ranks() {
    return Array.from({ length: this.count }, (_, at) => this.rankOf(at));
  }

  remember() {
    this.before.push({
      tiers: this.tiers.map((tier) => [...tier]),
      unknown: [...this.unknown],
      tying: this.tying,
    });
  }
}

/** The letter that stands for a candidate: A to Z, then AA, AB and so on. @param {number} at */
export function letterOf(at) {
  const last = String.fromCharCode(65 + (at % 26));
  return at < 26 ? last : letterOf(Math.floor(at / 26) - 1) + last;
}

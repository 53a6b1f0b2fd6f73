// The list of groups. Only the rows in sight are elements, so that its length does not matter.
import { el, fill } from "./elements.js";
import { strip } from "./ranking.js";
import { whole } from "./numbers.js";
import { name } from "./text.js";

export const ROW_HEIGHT = 68;
const BEYOND = 6;

/** A list of rows, one of them chosen; `choose` is called with the position in the list of a row that is clicked. */
export class GroupList {
  /** @param {(at: number) => void} choose */
  constructor(choose) {
    this.choose = choose;
    /** @type {import("./data.js").Row[]} */
    this.rows = [];
    this.chosen = -1;
    this.inner = el("div.rows");
    this.element = el(
      "div.list",
      { role: "listbox", tabindex: "0", "aria-label": "groups", scroll: () => this.soon() },
      this.inner,
    );
    /** @type {Map<number, HTMLElement>} */
    this.made = new Map();
    this.waiting = false;
    new ResizeObserver(() => this.soon()).observe(this.element);
  }

  /** Show other rows. `chosen` is the position of the chosen row among them, or -1. The row at the top stays there. */
  show(rows, chosen) {
    const from = Math.floor(this.element.scrollTop / ROW_HEIGHT);
    const at = from > 0 ? rows.indexOf(this.rows[from]) : -1;
    const offset = this.element.scrollTop - from * ROW_HEIGHT;
    this.rows = rows;
    this.chosen = chosen;
    this.made.clear();
    fill(this.inner);
    this.inner.style.height = `${rows.length * ROW_HEIGHT}px`;
    if (at >= 0) this.element.scrollTop = at * ROW_HEIGHT + offset;
    this.draw();
  }

  /** Choose a row, and scroll to it. */
  select(at) {
    const before = this.made.get(this.chosen);
    before?.setAttribute("aria-selected", "false");
    this.chosen = at;
    if (at >= 0) {
      const top = at * ROW_HEIGHT;
      const { scrollTop, clientHeight } = this.element;
      if (top < scrollTop) this.element.scrollTop = top;
      else if (top + ROW_HEIGHT > scrollTop + clientHeight)
        this.element.scrollTop = top + ROW_HEIGHT - clientHeight;
    }
    this.draw();
    this.made.get(at)?.setAttribute("aria-selected", "true");
    if (at >= 0) this.element.setAttribute("aria-activedescendant", `row-${at}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  draw() {
    const { scrollTop, clientHeight } = this.element;
    const from = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT) - BEYOND);
    const to = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT) + BEYOND);
    for (const [at, element] of this.made) {
      if (at >= from && at < to) continue;
      element.remove();
      this.made.delete(at);
    }
    for (let at = from; at < to; at += 1) {
      if (this.made.has(at)) continue;
      const made = this.rowAt(at);
      this.made.set(at, made);
      this.inner.append(made);
    }
  }

  rowAt(at) {
    const row = this.rows[at];
    const unscored = row.scores.filter((one) => one[2] === null).length;
    const shown = row.flags.filter((flag) => !["warned", "abstained", "failed"].includes(flag)).slice(0, 4);
    const made = el(
      "div.row",
      {
        role: "option",
        id: `row-${at}`,
        "aria-selected": String(at === this.chosen),
        "aria-setsize": this.rows.length,
        "aria-posinset": at + 1,
        click: () => this.choose(at),
      },
      el(
        "div.row-head",
        {},
        el("span.dot", { "data-status": row.status, title: row.status }),
        name(row.id, 60),
        el(
          "span.row-flags",
          {},
          unscored ? el("span.flag.abstained", {}, `${whole(unscored)} unscored`) : null,
          shown.map((flag) => el(`span.flag.${flag}`, {}, flag)),
        ),
      ),
      el("div.row-prompt", { dir: "auto" }, row.prompt ? name(row.prompt, 160) : el("span.quiet", {}, row.status)),
      strip(row.scores),
    );
    made.style.top = `${at * ROW_HEIGHT}px`;
    return made;
  }
}

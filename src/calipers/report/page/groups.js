// The view of groups: the list and what it is filtered by, and the group that the address names.
import { groupAddress, readDetail } from "./data.js";
import { button, el, fill } from "./elements.js";
import { groupFacts, groupView } from "./group.js";
import { GroupList } from "./list.js";
import { counted, whole } from "./numbers.js";
import { FLAGS, ORDERS, chosenRows, matches } from "./search.js";
import { labelled, name, notShown } from "./text.js";

const TYPING_MS = 150;
const ARROWS = { ArrowDown: 1, ArrowUp: -1 };

export class GroupsView {
  constructor(about, rows) {
    this.about = about;
    this.rows = rows;
    this.shown = rows;
    this.filter = { flags: [], source: null, order: "input", words: "" };
    this.turns = { search: 0, open: 0 };
    this.list = new GroupList((at) => this.go(this.shown[at]));
    this.main = el("main", { tabindex: "-1" });
    this.said = el("div.said", { role: "status" });
    this.row = null;
    const nav = el("nav.groups", { "aria-label": "groups" }, this.controls(), this.said, this.list.element);
    this.element = el("div.frame", {}, nav, this.main);
    this.choose();
  }

  controls() {
    let timer = 0;
    const look = () => {
      clearTimeout(timer);
      this.filter.words = this.words.value.trim();
      this.choose();
    };
    const typed = () => {
      clearTimeout(timer);
      timer = setTimeout(look, TYPING_MS);
    };
    const field = { type: "search", placeholder: "Search ids, prompts and texts", "aria-label": "search" };
    // A browser that empties the field tells only `search`.
    this.words = /** @type {HTMLInputElement} */ (el("input", { ...field, input: typed, search: look }));
    const orders = Object.entries(ORDERS).map(([key, { label }]) => [key, label]);
    const sources = this.about.sources.map((one, at) => [String(at), labelled(one)]);
    const order = choice("order of the list", orders, (value) => this.choose({ order: value }));
    const source =
      sources.length > 1
        ? choice("source", [["", "all sources"], ...sources], (value) => this.choose({ source: value === "" ? null : Number(value) }))
        : null;
    const flags = el("div.flags", { role: "group", "aria-label": "show only groups that are" }, this.flagButtons());
    return el("div.controls", {}, this.words, el("div.selects", {}, order, source), flags);
  }

  /** A button for each flag that a group has, with the number of these groups. */
  flagButtons() {
    return Object.entries(FLAGS).map(([flag, title]) => {
      const count = this.rows.filter((row) => row.flags.includes(flag)).length;
      if (!count) return null;
      const press = () => {
        const pressed = made.getAttribute("aria-pressed") === "false";
        made.setAttribute("aria-pressed", String(pressed));
        const others = this.filter.flags.filter((one) => one !== flag);
        this.choose({ flags: pressed ? [...others, flag] : others });
      };
      const made = button(`${flag} ${whole(count)}`, press, { class: `flag ${flag}`, title, "aria-pressed": "false" });
      return made;
    });
  }

  /** Show the rows that the filters choose; a search goes on in the background, and stops when another one begins. */
  async choose(change = {}) {
    Object.assign(this.filter, change);
    const turn = (this.turns.search += 1);
    const candidates = chosenRows(this.rows, this.filter);
    if (!this.filter.words) return this.showRows(candidates, "");
    for await (const { found, done, of } of matches(candidates, this.filter.words)) {
      if (turn !== this.turns.search) return undefined;
      if (done !== of && done % 8) continue;
      const searching = done === of ? "" : `, searching ${whole((100 * done) / of)} %`;
      this.showRows(candidates.filter((row) => found.has(row.position)), searching);
    }
    return undefined;
  }

  showRows(rows, more) {
    this.shown = rows;
    this.list.show(rows, rows.indexOf(this.row));
    const all = counted(this.rows.length, "group");
    const text = !this.rows.length
      ? "This report has no groups: the results were empty."
      : !rows.length
        ? "No group matches."
        : rows.length < this.rows.length
          ? `${whole(rows.length)} of ${all}`
          : "";
    const isEmpty = !rows.length && this.rows.length && !more;
    fill(this.said, text + more, isEmpty ? button("Show all", () => this.reset()) : null);
  }

  reset() {
    this.words.value = "";
    for (const one of document.querySelectorAll(".controls .flag")) one.setAttribute("aria-pressed", "false");
    for (const one of document.querySelectorAll(".selects select[aria-label=source]")) one.value = "";
    this.choose({ flags: [], source: null, words: "" });
  }

  go(row) {
    this.row = row; // at once, so that keys pressed in quick succession all count
    location.hash = groupAddress(row, this.about);
  }

  move(by) {
    if (!this.shown.length) return;
    const at = this.shown.indexOf(this.row);
    this.go(this.shown[Math.min(this.shown.length - 1, Math.max(0, at < 0 ? 0 : at + by))]);
  }

  back() {
    this.words.blur();
    if (matchMedia("(max-width: 860px)").matches) history.pushState(null, "", "#view=groups");
    document.body.classList.remove("reading");
    this.list.element.focus();
  }

  /** What a key does, undefined for any other; arrows move in the list if it has the focus. */
  actionOf(key, isInList) {
    if (isInList && key in ARROWS) return () => this.move(ARROWS[key]);
    return { j: () => this.move(1), k: () => this.move(-1), "/": () => this.words.focus() }[key];
  }

  /** Show the group that the address names; without one, the first on a wide screen. @param {URLSearchParams} asked */
  follow(asked) {
    const [id, source] = [asked.get("group"), asked.get("source")];
    const isAsked = (one) => one.id === id && (source === null || String(one.source) === source);
    const row = id === null ? null : this.rows.find(isAsked);
    document.body.classList.toggle("reading", id !== null);
    if (id !== null && !row) {
      fill(this.main, el("p.empty", {}, "This report has no group ", name(id, 100), "."));
      return;
    }
    const wanted = row ?? this.shown[0];
    if (wanted) this.open(wanted);
    else fill(this.main, el("p.empty", {}, "There is nothing to show."));
  }

  async open(row) {
    const turn = (this.turns.open += 1);
    this.row = row;
    this.list.select(this.shown.indexOf(row));
    try {
      const detail = await readDetail(row);
      if (turn === this.turns.open) this.showGroup(row, detail);
    } catch (error) {
      // Not the group that was open before: its texts would stay under this one's address.
      if (turn === this.turns.open) fill(this.main, notShown(["The group ", name(row.id, 100)], error));
    }
  }

  showGroup(row, detail) {
    const at = this.shown.indexOf(row);
    const isLast = at < 0 || at >= this.shown.length - 1;
    const title = el(
      "div.title",
      {},
      button("\u2190 Groups", () => this.back(), { class: "back" }),
      el("h2", {}, name(detail.id, 100)),
      el("a.permalink", { href: groupAddress(row, this.about) }, "link"),
      el(
        "span.moves",
        {},
        button("\u2191", () => this.move(-1), { "aria-label": "previous group", disabled: at <= 0 }),
        button("\u2193", () => this.move(1), { "aria-label": "next group", disabled: isLast }),
      ),
    );
    const head = el("div.group-head", {}, title, el("div.facts", {}, groupFacts(detail)));
    fill(this.main, head, groupView(detail));
    this.main.scrollTop = 0;
    scrollTo(0, 0);
    this.main.dataset.group = detail.id;
  }
}

function choice(label, options, act) {
  const made = el(
    "select",
    { "aria-label": label, change: () => act(made.value) },
    options.map(([value, text]) => el("option", { value }, text)),
  );
  return made;
}

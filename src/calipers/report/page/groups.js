// The view of groups: the list and what it is filtered by, and the group that the address names.
import { button, el, fill, unfoldInPrint } from "./elements.js";
import { groupAddress, readDetail } from "./data.js";
import { groupFacts, groupView } from "./group.js";
import { GroupList } from "./list.js";
import { counted, whole } from "./numbers.js";
import { FLAGS, ORDERS, chosenRows, matches } from "./search.js";
import { labelled, name, notShown } from "./text.js";

const TYPING_MS = 150;

export class GroupsView {
  constructor(about, rows) {
    this.about = about;
    this.rows = rows;
    this.shown = rows;
    this.filter = { flags: [], source: null, order: "input", words: "" };
    this.view = { markdown: true };
    this.opened = 0;
    this.list = new GroupList((at) => this.go(this.shown[at]));
    this.main = el("main", { tabindex: "-1" });
    this.said = el("div.said", { role: "status" });
    this.row = null;
    this.keys = {
      move: (by) => this.move(by),
      search: () => this.words.focus(),
      open: () => this.main.focus(),
      back: () => this.back(),
      compare: () => this.main.querySelector(".comparison select")?.focus(),
    };
    this.element = el(
      "div.frame",
      {},
      el("nav.groups", { "aria-label": "groups" }, this.controls(), this.said, this.list.element),
      this.main,
    );
    this.choose();
    unfoldInPrint("main details.prompt");
  }

  controls() {
    let timer = 0;
    const look = () => {
      clearTimeout(timer);
      this.filter.words = this.words.value.trim();
      this.choose();
    };
    this.words = /** @type {HTMLInputElement} */ (
      el("input", {
        type: "search",
        placeholder: "Search ids, prompts and texts",
        "aria-label": "search",
        input: () => {
          clearTimeout(timer);
          timer = setTimeout(look, TYPING_MS);
        },
        search: look, // a browser that empties the field tells only this
      })
    );
    const order = el(
      "select",
      {
        "aria-label": "order of the list",
        change: () => {
          this.filter.order = order.value;
          this.choose();
        },
      },
      Object.entries(ORDERS).map(([key, { label }]) => el("option", { value: key }, label)),
    );
    const sources =
      this.about.sources.length > 1
        ? el(
            "select",
            {
              "aria-label": "source",
              change: () => {
                this.filter.source = sources.value === "" ? null : Number(sources.value);
                this.choose();
              },
            },
            el("option", { value: "" }, "all sources"),
            this.about.sources.map((one, at) => el("option", { value: at }, labelled(one))),
          )
        : null;
    this.flags = el("div.flags", { role: "group", "aria-label": "show only groups that are" });
    this.showFlags();
    return el("div.controls", {}, this.words, el("div.selects", {}, order, sources), this.flags);
  }

  /** Show a button for each flag that a group has, with the number of these groups. */
  showFlags() {
    for (const flag of Object.keys(FLAGS)) {
      const count = this.rows.filter((row) => row.flags.includes(flag)).length;
      if (!count) continue;
      const label = `${flag} ${whole(count)}`;
      const made = [...this.flags.children].find((one) => one.dataset.flag === flag);
      if (made) made.textContent = label;
      else this.flags.append(this.flagButton(flag, label));
    }
    this.flags.hidden = !this.flags.children.length;
  }

  flagButton(flag, label) {
    const made = button(
      label,
      () => {
        const { flags } = this.filter;
        this.filter.flags = flags.includes(flag) ? flags.filter((one) => one !== flag) : [...flags, flag];
        made.setAttribute("aria-pressed", String(this.filter.flags.includes(flag)));
        this.choose();
      },
      { class: `flag ${flag}`, title: FLAGS[flag], "aria-pressed": "false", "data-flag": flag },
    );
    return made;
  }

  /** Show that rows were added to `rows`: the filters apply to them, and what is open or in sight stays. */
  async grow() {
    this.showFlags();
    await this.choose();
    if (!this.row && this.shown.length) this.follow(new URLSearchParams(location.hash.slice(1)));
    const at = this.shown.indexOf(this.row);
    const [up, down] = this.main.querySelectorAll(".moves button");
    if (up) up.disabled = at <= 0;
    if (down) down.disabled = at < 0 || at >= this.shown.length - 1;
  }

  /** Show the rows that the filters choose; a search goes on in the background, and stops when another one begins. */
  async choose() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const candidates = chosenRows(this.rows, this.filter);
    if (!this.filter.words) {
      this.showRows(candidates, "");
      return;
    }
    for await (const { found, done, of } of matches(candidates, this.filter.words)) {
      if (turn !== this.turn) return;
      const finished = done === of;
      if (!finished && done % 8) continue;
      this.showRows(
        candidates.filter((row) => found.has(row.position)),
        finished ? "" : `, searching ${whole((100 * done) / of)} %`,
      );
    }
  }

  showRows(rows, more) {
    const same =
      rows.length === this.shown.length && rows.every((row, at) => row === this.shown[at]) && this.list.rows.length;
    this.shown = rows;
    if (!same) this.list.show(rows, rows.indexOf(this.row));
    const isAll = rows.length === this.rows.length;
    const text = !this.rows.length
      ? this.about.live
        ? "No group is finished yet."
        : "This report has no groups: the results were empty."
      : !rows.length
        ? "No group matches."
        : isAll
          ? ""
          : `${whole(rows.length)} of ${counted(this.rows.length, "group")}`;
    fill(
      this.said,
      text + more,
      !rows.length && this.rows.length && !more ? button("Show all", () => this.reset()) : null,
    );
  }

  reset() {
    this.filter = { ...this.filter, flags: [], source: null, words: "" };
    this.words.value = "";
    for (const one of document.querySelectorAll(".controls .flag")) one.setAttribute("aria-pressed", "false");
    this.choose();
  }

  go(row) {
    this.row = row; // at once, so that keys pressed in quick succession all count
    location.hash = groupAddress(row, this.about);
  }

  move(by) {
    if (!this.shown.length) return;
    const at = this.shown.indexOf(this.row);
    const next = Math.min(this.shown.length - 1, Math.max(0, at < 0 ? 0 : at + by));
    this.go(this.shown[next]);
  }

  back() {
    this.words.blur();
    if (matchMedia("(max-width: 860px)").matches) history.pushState(null, "", "#view=groups");
    document.body.classList.remove("reading");
    this.list.element.focus();
  }

  /** Show the group that the address names; without one, the first on a wide screen. @param {URLSearchParams} asked */
  follow(asked) {
    const id = asked.get("group");
    const source = asked.get("source");
    const row =
      id === null
        ? null
        : this.rows.find((one) => one.id === id && (source === null || String(one.source) === source));
    if (id !== null && !row) {
      document.body.classList.add("reading");
      fill(this.main, el("p.empty", {}, "This report has no group ", name(id, 100), "."));
      return;
    }
    document.body.classList.toggle("reading", Boolean(row));
    const wanted = row ?? this.shown[0];
    if (wanted) this.open(wanted);
    else fill(this.main, el("p.empty", {}, "There is nothing to show."));
  }

  async open(row) {
    const turn = (this.opened += 1);
    this.row = row;
    this.list.select(this.shown.indexOf(row));
    try {
      const detail = await readDetail(row);
      if (turn === this.opened) this.showGroup(row, detail);
    } catch (error) {
      // Not the group that was open before: its texts would stay under this one's address.
      if (turn === this.opened) fill(this.main, notShown(["The group ", name(row.id, 100)], error));
    }
  }

  showGroup(row, detail) {
    const at = this.shown.indexOf(row);
    const link = el("a.permalink", { href: groupAddress(row, this.about) }, "link");
    fill(
      this.main,
      el(
        "div.group-head",
        {},
        el(
          "div.title",
          {},
          button("\u2190 Groups", () => this.back(), { class: "back" }),
          el("h2", {}, name(detail.id, 100)),
          link,
          el(
            "span.moves",
            {},
            button("\u2191", () => this.move(-1), { "aria-label": "previous group", disabled: at <= 0 }),
            button("\u2193", () => this.move(1), {
              "aria-label": "next group",
              disabled: at < 0 || at >= this.shown.length - 1,
            }),
          ),
        ),
        el("div.facts", {}, groupFacts(detail)),
      ),
      groupView(detail, this.about, this.view),
    );
    this.main.scrollTop = 0;
    scrollTo(0, 0);
    this.main.dataset.group = detail.id;
  }
}

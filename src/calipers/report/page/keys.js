// The keyboard: everything the mouse can do, and a list of the keys.
import { button, el } from "./elements.js";

const KEYS = [
  ["j, k", "next, previous group"],
  ["/", "search"],
  ["Enter", "from the list into the group"],
  ["Escape", "back to the list"],
  ["d", "compare two candidates"],
  ["?", "these keys"],
];

/** The dialog that lists the keys. */
export function keysDialog() {
  const dialog = /** @type {HTMLDialogElement} */ (
    el(
      "dialog.keys",
      { "aria-label": "keys" },
      el("h2", {}, "Keys"),
      el(
        "dl",
        {},
        KEYS.flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)]),
      ),
      button("Close", () => dialog.close()),
    )
  );
  return dialog;
}

/**
 * Call the actions for the keys that are pressed outside of fields.
 * @param {Record<"search" | "open" | "back" | "compare" | "help", () => void> & {move: (by: number) => void}} actions
 */
export function listenToKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target.matches("input, select, textarea");
    if (event.key === "Escape") return actions.back();
    if (typing) return undefined;
    const inList = target.matches(".list");
    const act = {
      j: () => actions.move(1),
      k: () => actions.move(-1),
      "/": actions.search,
      d: actions.compare,
      "?": actions.help,
      ...(inList
        ? {
            ArrowDown: () => actions.move(1),
            ArrowUp: () => actions.move(-1),
            PageDown: () => actions.move(8),
            PageUp: () => actions.move(-8),
            Home: () => actions.move(-Infinity),
            End: () => actions.move(Infinity),
            Enter: actions.open,
          }
        : {}),
    }[event.key];
    if (!act) return undefined;
    event.preventDefault();
    return act();
  });
}

// The list of keys.
import { button, el } from "../../report/page/elements.js";

const HELP = [
  ["A, B, C \u2026", "rank this candidate next, best first; again: remove it"],
  ["=", "the next candidate ties with the last one"],
  [".", "can\u2019t tell: all candidates without a rank"],
  ["Enter", "save, and go on"],
  ["Backspace", "undo: the last step, or else the label saved before"],
  ["\u2190 \u2192", "go to the candidate at the left, at the right"],
  ["Space", "rank the candidate that has the focus"],
  ["/", "write a note; Escape leaves it, Ctrl+Enter saves"],
  ["Shift+\u2192", "skip this group for now"],
  ["Shift+\u2190", "back to the group labelled before"],
  ["?", "these keys"],
];

/** The dialog that lists the keys. */
export function helpDialog() {
  const dialog = /** @type {HTMLDialogElement} */ (
    el(
      "dialog.keys",
      { "aria-label": "keys" },
      el("h2", {}, "Keys"),
      el(
        "dl",
        {},
        HELP.flatMap(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)]),
      ),
      button("Close", () => dialog.close()),
    )
  );
  return dialog;
}

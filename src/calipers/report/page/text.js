// Untrusted text: every invisible character is made visible, direction is isolated, and long text is shown in pieces.
import { button, el } from "./elements.js";
import { whole } from "./numbers.js";

const HIDDEN = new RegExp(
  [
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5",
    "\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb",
    "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]+",
  ].join(""),
  "gu",
);
// Emoji sequences and several scripts are written with joiners, which are then no disguise.
const JOINED_BY = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{M}\p{Script=Arabic}\p{Script=Syriac}\ufe0f]$/u;
const CODES_SHOWN = 6;
const PIECE = 100_000;
// A text that is hardly longer than the limit is shown whole: a button would save nothing.
const SLACK = 1.3;

/**
 * `text` as nodes, in which each run of invisible or direction-changing characters is a label such as "U+202E".
 * @param {unknown} value
 * @returns {DocumentFragment}
 */
export function visible(value) {
  const text = String(value).replaceAll("\r\n", "\n");
  const found = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (/^[\u200c\u200d]$/.test(match[0]) && JOINED_BY.test(text.slice(Math.max(0, match.index - 2), match.index)))
      continue;
    found.append(text.slice(end, match.index), hiddenLabel(match[0]));
    end = match.index + match[0].length;
  }
  found.append(text.slice(end));
  return found;
}

function hiddenLabel(run) {
  const all = [...run].map((one) => `U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
  const more = all.length > CODES_SHOWN ? ` \u2026 ${whole(all.length - CODES_SHOWN)} more` : "";
  const title = "characters that are invisible or change the direction of writing";
  return el("span.hidden-character", { title }, all.slice(0, CODES_SHOWN).join(" ") + more);
}

/** Untrusted text for places that hold no elements, such as options; invisible characters are labelled. */
export function labelled(value, limit = 60) {
  return visible(String(value).slice(0, limit).replace(/\s+/g, " ")).textContent ?? "";
}

/** A short untrusted name, such as an id, on one line. @param {unknown} value */
export function name(value, limit = 120) {
  const text = String(value);
  const shown = text.length > limit ? `${text.slice(0, limit)}\u2026` : text;
  return el(
    "bdi.name",
    { title: text.length > limit ? text.slice(0, 2000).replace(HIDDEN, "\ufffd") : null },
    visible(shown.replace(/\s+/g, " ")),
  );
}

/**
 * Untrusted text as it is, line breaks kept. Beyond `limit` characters it is shown piece by piece.
 * @param {string} text
 * @param {{limit?: number, mono?: boolean, marks?: string[]}} [options]
 */
export function textBlock(text, { limit = 6000, mono = false, marks = [] } = {}) {
  const made = el(mono ? "div.text.mono" : "div.text", { dir: "auto" });
  let shown = 0;
  const more = button("", () => show(PIECE), { class: "more" });
  const show = (count) => {
    const end = wholeCharacter(text, Math.min(text.length, shown + count));
    const piece = el("span", {}, visible(text.slice(shown, end)));
    highlight(piece, marks);
    more.before(piece);
    shown = end;
    const left = text.length - shown;
    if (left <= 0) more.remove();
    else more.textContent = `Show ${left > PIECE ? `${whole(PIECE)} of ` : "the other "}${whole(left)} characters`;
  };
  const atOnce = text.length <= limit * SLACK ? text.length : limit;
  made.append(more);
  show(atOnce);
  return made;
}

function wholeCharacter(text, end) {
  const code = text.charCodeAt(end - 1);
  return end < text.length && code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}

/** Mark the first place of each passage in the text under `root`. @param {Node} root @param {string[]} marks */
export function highlight(root, marks) {
  for (const passage of new Set(marks.filter((one) => one.length >= 4))) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const at = node.data.indexOf(passage);
      if (at < 0) continue;
      const found = node.splitText(at);
      found.splitText(passage.length);
      const marked = el("mark");
      found.replaceWith(marked);
      marked.append(found);
      break;
    }
  }
}

/** Says that something cannot be shown, and why. @param {import("./elements.js").Child | any[]} what @param {unknown} error */
export function notShown(what, error) {
  const why = error instanceof Error ? error.message : error;
  return el("p.empty", {}, what, " cannot be shown: ", name(String(why), 300), ".");
}

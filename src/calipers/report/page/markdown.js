// A small Markdown reader that builds elements. It knows no HTML: tags in the text stay text. Links and images are not
// followed: their addresses are shown, because whoever wrote them is not trusted.
import { el } from "./elements.js";
import { visible } from "./text.js";

const DEEPEST = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/;
const LANGUAGE = /^[\w+#.-]{1,20}(?=\s|$)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const ITEM = /^(\s{0,8})([-*+]|\d{1,9}[.)])(\s+)(?=\S)/;
const RULE = /^ {0,3}([-*_])\s*(?:\1\s*){2,}$/;
const TABLE_RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$/;
const INLINE = new RegExp(
  [
    /(`{1,3})((?:(?!\1)[^\n])+)\1/,
    /\*\*([^*\n]{1,2000})\*\*/,
    /__([^_\n]{1,2000})__/,
    /\*([^*\s][^*\n]{0,2000})\*/,
    /~~([^~\n]{1,2000})~~/,
    /(!?)\[([^\]\n]{0,300})\]\(([^()\s]{1,500})(?:\s[^()\n]{0,100})?\)/,
  ]
    .map((one) => one.source)
    .join("|"),
  "g",
);

/**
 * Untrusted Markdown as elements.
 * @param {string} text
 * @returns {DocumentFragment}
 */
export function markdown(text) {
  const found = document.createDocumentFragment();
  for (const block of blocks(text.replaceAll("\r\n", "\n").split("\n"), 0)) found.append(block);
  return found;
}

function blocks(lines, depth) {
  const found = [];
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const [block, end] = nextBlock(lines, at, depth);
    found.push(block);
    at = end;
  }
  return found;
}

function nextBlock(lines, at, depth) {
  const line = lines[at];
  const fence = FENCE.exec(line);
  if (fence) return fencedCode(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) return [el(`p.heading.h${heading[1].length}`, {}, inline(heading[2])), at + 1];
  if (RULE.test(line)) return [el("hr"), at + 1];
  if (depth < DEEPEST && /^ {0,3}>/.test(line)) return quotation(lines, at, depth);
  if (depth < DEEPEST && ITEM.test(line)) return list(lines, at, depth);
  if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "")) return table(lines, at);
  return paragraph(lines, at, depth);
}

function fencedCode(lines, at, fence) {
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(fence[1]) && /^[`~\s]*$/.test(lines[end]))) end += 1;
  const code = el("code", {}, visible(lines.slice(at + 1, end).join("\n")));
  const language = LANGUAGE.exec(fence[2])?.[0] ?? null;
  return [el("pre", { tabindex: "0", "aria-label": "code", "data-language": language }, code), end + 1];
}

function quotation(lines, at, depth) {
  let end = at;
  while (end < lines.length && /^ {0,3}>/.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ""));
  return [el("blockquote", {}, blocks(inner, depth + 1)), end];
}

function list(lines, at, depth) {
  const first = ITEM.exec(lines[at]);
  const ordered = /\d/.test(first[2]);
  const made = el(ordered ? "ol" : "ul", ordered ? { start: Number.parseInt(first[2], 10) } : {});
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]);
    if (!item || item[1].length > first[1].length + 1 || /\d/.test(item[2]) !== ordered) break;
    const inner = [lines[end].slice(item[0].length)];
    end += 1;
    while (
      end < lines.length &&
      (indented(lines[end], item[1].length + 2) ||
        (!lines[end].trim() && indented(lines[end + 1] ?? "", item[1].length + 2)))
    ) {
      inner.push(lines[end].slice(Math.min(item[0].length, lines[end].search(/\S|$/))));
      end += 1;
    }
    made.append(el("li", {}, tight(blocks(inner, depth + 1))));
    if (!(lines[end] ?? "").trim() && ITEM.test(lines[end + 1] ?? "")) end += 1;
  }
  return [made, end];
}

function indented(line, least) {
  return line.trim() !== "" && line.search(/\S/) >= least;
}

/** An item that begins with a paragraph shows it without a paragraph's margins. */
function tight(found) {
  if (found[0]?.localName === "p" && !found[0].className) found[0].className = "tight";
  return found;
}

function cells(line) {
  return line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .slice(0, 40)
    .map((cell) => cell.trim());
}

function table(lines, at) {
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim()) end += 1;
  const head = el(
    "tr",
    {},
    cells(lines[at]).map((cell) => el("th", {}, inline(cell))),
  );
  const rows = lines.slice(at + 2, end).map((line) =>
    el(
      "tr",
      {},
      cells(line).map((cell) => el("td", {}, inline(cell))),
    ),
  );
  return [
    el(
      "div.scrolled",
      { tabindex: "0", role: "region", "aria-label": "table" },
      el("table", {}, el("thead", {}, head), el("tbody", {}, rows)),
    ),
    end,
  ];
}

function paragraph(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines[end], depth)) end += 1;
  return [el("p", {}, inline(lines.slice(at, end).join("\n"))), end];
}

function startsBlock(line, depth) {
  return (
    FENCE.test(line) ||
    HEADING.test(line) ||
    RULE.test(line) ||
    (depth < DEEPEST && (/^ {0,3}>/.test(line) || ITEM.test(line)))
  );
}

function inline(text, depth = 0) {
  const found = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    found.append(visible(text.slice(end, match.index)), span(match, depth));
    end = match.index + match[0].length;
  }
  found.append(visible(text.slice(end)));
  return found;
}

function span(match, depth) {
  const [whole, , code, strong, strong2, emphasis, struck, image, label, address] = match;
  if (code !== undefined) return el("code", {}, visible(code));
  if (depth >= 3) return visible(whole);
  if (strong ?? strong2) return el("strong", {}, inline(strong ?? strong2, depth + 1));
  if (emphasis) return el("em", {}, inline(emphasis, depth + 1));
  if (struck) return el("del", {}, inline(struck, depth + 1));
  return el(
    "span.link",
    {},
    image ? "image: " : "",
    inline(label, depth + 1),
    el("span.address", {}, " (", visible(address), ")"),
  );
}

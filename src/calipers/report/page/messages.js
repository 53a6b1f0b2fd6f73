// Chat messages: text, reasoning, tool calls and their results, images. Everything in them is untrusted.
import { button, el, folded } from "./elements.js";
import { whole } from "./numbers.js";
import { name, textBlock } from "./text.js";

const RASTER = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/;
const LONGEST_RESULT = 1200;

/**
 * A list of messages as a chat.
 * @param {Record<string, unknown>[]} messages
 * @param {{marks?: string[]}} options
 */
export function chat(messages, options = {}) {
  return el(
    "div.chat",
    {},
    messages.map((message) => messageOf(message, options)),
  );
}

function messageOf(message, options) {
  const role = typeof message.role === "string" ? message.role : "unknown";
  const title = el("div.role", {}, name(role, 30), message.name ? [" ", name(message.name, 60)] : null);
  const made = el(role === "assistant" ? "section.message.assistant" : "section.message", {}, title);
  for (const text of [message.reasoning, message.reasoning_content])
    if (typeof text === "string" && text)
      made.append(folded(`reasoning, ${whole(text.length)} characters`, () => textBlock(text)));
  for (const part of contentOf(message.content, role, options)) made.append(part);
  if (typeof message.refusal === "string" && message.refusal)
    made.append(el("p.quiet", {}, "refusal:"), textBlock(message.refusal));
  for (const call of Array.isArray(message.tool_calls) ? message.tool_calls : [])
    made.append(callOf(call, options));
  if (made.childElementCount === 1) made.append(el("p.quiet", {}, "empty"));
  return made;
}

function contentOf(content, role, options) {
  if (typeof content === "string") return content ? [written(content, role, options)] : [];
  if (!Array.isArray(content)) return content === null || content === undefined ? [] : [json(content)];
  return content.map((part) => {
    if (typeof part?.text === "string") return written(part.text, role, options);
    if (part?.type === "image_url") return image(part.image_url?.url ?? part.image_url);
    return json(part);
  });
}

function written(text, role, { marks = [] }) {
  if (role === "tool" || role === "function")
    return textBlock(indentedJson(text), { limit: LONGEST_RESULT, mono: true, marks });
  return textBlock(text, { marks });
}

/** JSON on one line, indented so that people can read it; other text as it is. */
function indentedJson(text) {
  if (text.length > 200_000 || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Any other value, as JSON. @param {unknown} value */
export function json(value) {
  return textBlock(JSON.stringify(value, null, 2) ?? "", { limit: LONGEST_RESULT, mono: true });
}

function callOf(call, { marks = [] }) {
  const wanted = call?.function ?? call ?? {};
  const given = typeof wanted.arguments === "string" ? wanted.arguments : JSON.stringify(wanted.arguments ?? null);
  return el(
    "div.call",
    {},
    el("div.call-name", {}, "calls ", name(wanted.name ?? "?", 80)),
    textBlock(indentedJson(given), { limit: LONGEST_RESULT, mono: true, marks }),
  );
}

/** An image is shown when somebody asks for it, and only if it is in the file and of a kind that runs nothing. */
function image(address) {
  const url = typeof address === "string" ? address : "";
  if (!RASTER.test(url)) {
    const kind = url.startsWith("data:") ? "of a kind that is not shown" : "that is not in the file";
    return el("p.image", {}, `an image ${kind}: `, name(url, 60));
  }
  const made = el("div.image");
  made.append(
    button(`Show the image (${whole((url.length * 3) / 4 / 1024)} kB)`, () =>
      made.replaceChildren(el("img", { src: url, alt: "an image of the trajectory" })),
    ),
  );
  return made;
}

// Builds the page's elements. Text from data only ever becomes text nodes; nothing here parses HTML.

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Build an element. `spec` is a tag with classes ("div.note.small"); `attributes` are attributes, except that functions
 * become event listeners ({click: ...}) and null, false and undefined are ignored.
 * @param {string} spec
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function el(spec, attributes = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  return /** @type {HTMLElement} */ (filled(made, attributes, children));
}

/**
 * Build an SVG element, with attributes and listeners as in `el`.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  return /** @type {SVGElement} */ (
    filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children)
  );
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== false && value !== undefined)
      made.setAttribute(name, value === true ? "" : String(value));
  }
  appendAll(made, children);
  return made;
}

/** Append children one by one: a call takes a limited number of arguments, and data may have more. */
function appendAll(parent, children) {
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false) parent.append(child);
}

/**
 * A `details` element whose content is built when it is first opened.
 * @param {Child | Child[]} summary
 * @param {() => (Child | Child[])} build
 * @param {{open?: boolean, name?: string}} [options]
 */
export function folded(summary, build, { open = false, name = "" } = {}) {
  const made = el(`details.fold${name ? `.${name}` : ""}`, {}, el("summary", {}, summary));
  let built = false;
  const fill = () => {
    if (built) return;
    built = true;
    made.append(el("div.folded", {}, build()));
  };
  made.addEventListener("toggle", () => {
    if (made.open) fill();
  });
  if (open) {
    fill();
    made.open = true;
  }
  return made;
}

/** @param {Child} label @param {() => void} act @param {Record<string, unknown>} [attributes] */
export function button(label, act, attributes = {}) {
  return el("button", { type: "button", click: act, ...attributes }, label);
}

/** Replace the children of `parent`. @param {Element} parent @param {...(Child | Child[])} children */
export function fill(parent, ...children) {
  parent.replaceChildren();
  appendAll(parent, children);
}

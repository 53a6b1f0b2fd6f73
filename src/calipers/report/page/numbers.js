// Numbers as people read them. A missing number is a dash, never zero.

/** @param {number | null | undefined} value */
export function decimal(value, digits = 3) {
  return typeof value === "number" ? value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace(/^-/, "\u2212") : "\u2013";
}

/** @param {number | null | undefined} value */
export function whole(value) {
  return typeof value === "number" ? Math.round(value).toLocaleString("en") : "\u2013";
}

/** "1 group", "3 groups". @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** @param {number | null | undefined} value */
export function dollars(value) {
  if (typeof value !== "number") return "cost unknown";
  return value === 0 ? "$0" : `$${value.toFixed(value < 0.01 ? 5 : value < 1 ? 4 : 2)}`;
}

/** Seconds, or "" for less than can be shown. @param {number | null | undefined} value */
export function seconds(value) {
  return typeof value === "number" && value >= 0.05 ? `${value.toFixed(value < 10 ? 1 : 0)} s` : "";
}

/** A share as a percentage. @param {number} value */
export function percent(value) {
  return `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
}

/** With two decimals. @param {number | null} value */
export function two(value) {
  return decimal(value, 2);
}

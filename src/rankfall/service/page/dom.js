// Elements and numbers as text. Everything that comes from the server goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined).map(
    (child) => (child instanceof Node ? child : document.createTextNode(String(child))),
  ));
  return element;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Set text only when it differs, so that screen readers hear changes and nothing else. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const whole = (n) => (n == null ? "–" : n.toLocaleString("en-US"));
export const percent = (p, digits = 1) => (p == null ? "–" : `${(100 * p).toFixed(digits)} %`);
export const decimal = (x, digits = 3) => (x == null ? "–" : x.toFixed(digits).replace("-", "−"));
export const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");
/** A time of day, with the day in front when it is not today. */
export function moment(ms) {
  const date = new Date(ms);
  if (date.toDateString() === new Date().toDateString()) return clock(ms);
  return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${clock(ms).slice(0, 5)}`;
}
export const plural = (n, one, many) => `${whole(n)} ${n === 1 ? one : many}`;

export function duration(seconds) {
  for (const [size, name] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
    if (seconds >= size && seconds % size === 0) return plural(seconds / size, name, `${name}s`);
  }
  return plural(seconds, "second", "seconds");
}

export function table(head, rows) {
  const cell = (tag, value, i) => h(tag, { class: i ? "num" : null, scope: tag === "th" ? "col" : null }, value);
  return h("table", {},
    h("thead", {}, h("tr", {}, head.map((value, i) => cell("th", value, i)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, i) => cell("td", value, i))))));
}

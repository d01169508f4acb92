// Charts drawn as SVG by hand: lines over time, weights with whiskers, and the parts of a score.

import { clock, decimal, h, moment, s } from "./dom.js";

const STEPS = [10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800]; // seconds

/** Round values from 0 to at least `high`, about `count` of them. */
function ticks(high, count) {
  const rough = high / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= rough * 0.999);
  return Array.from({ length: Math.ceil(high / step - 1e-9) + 1 }, (_, i) => i * step);
}

function timeTicks(from, to, count) {
  const step = 1000 * (STEPS.find((size) => (to - from) / 1000 / size <= count) ?? 604800);
  const zone = new Date(from).getTimezoneOffset() * 60_000;
  const found = [];
  for (let t = Math.ceil((from - zone) / step) * step + zone; t <= to; t += step) found.push(t);
  return { found, step };
}

function timeText(ms, step) {
  const date = new Date(ms);
  if (step >= 86_400_000) return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return step < 60_000 ? clock(ms) : clock(ms).slice(0, 5);
}

/**
 * Lines over time, in a box that keeps its place, focus and cursor while the data changes.
 * A series is {name, kind, points: [{x, y, low?, high?, text}]}; points further apart than `gap` are not joined.
 */
export class LineChart {
  constructor(box, { yLabel, format, height = 260, limit = Infinity }) {
    Object.assign(this, { box, yLabel, format, height, limit, series: [], gap: 0, at: null });
    this.plot = h("div", { class: "plot" });
    this.tip = h("div", { class: "tip", role: "status", hidden: true });
    box.append(this.plot, this.tip);
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.addEventListener("pointermove", (event) => this.point(event.clientX - this.plot.getBoundingClientRect().left));
    box.addEventListener("pointerleave", () => this.show(null));
    box.addEventListener("blur", () => this.show(null));
    box.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  set(series, gap, label) {
    this.series = series;
    this.gap = gap;
    this.times = [...new Set(series.flatMap((one) => one.points.map((point) => point.x)))].sort((a, b) => a - b);
    this.box.setAttribute("aria-label", `${label}. Arrow keys read the values.`);
    this.draw();
  }

  draw() {
    const width = this.box.clientWidth;
    if (!width || !this.times?.length) return this.plot.replaceChildren();
    const { height } = this;
    const margin = { left: 54, right: 12, top: 10, bottom: 40 };
    const right = width - margin.right;
    const bottom = height - margin.bottom;
    const all = this.series.flatMap((one) => one.points);
    // The bands of points with few lists may leave the picture; the lines may not.
    const top = Math.max(...all.map((point) => point.y)) * 1.25;
    const yTicks = ticks(Math.min(top || 1, this.limit), 4);
    const highest = Math.min(yTicks.at(-1), this.limit);
    const pad = this.gap / 2; // so that a single point stands between two times
    const [from, to] = [this.times[0] - pad, this.times.at(-1) + pad];
    this.x = (t) => margin.left + ((t - from) / (to - from)) * (right - margin.left);
    this.y = (v) => bottom - (Math.min(v, highest) / highest) * (bottom - margin.top);
    const { found, step } = timeTicks(from, to, Math.max(2, Math.floor(width / 90)));
    this.cursor = s("line", { class: "cursor", y1: margin.top, y2: bottom, visibility: "hidden" });
    this.plot.replaceChildren(s("svg", { width, height, "aria-hidden": "true" },
      yTicks.filter((v) => v <= highest).map((v) => [
        s("line", { class: v ? "grid" : "axis", x1: margin.left, x2: right, y1: this.y(v), y2: this.y(v) }),
        s("text", { x: margin.left - 6, y: this.y(v) + 4, "text-anchor": "end" }, this.format(v, yTicks[1])),
      ]).flat(),
      found.map((t) => [
        s("line", { class: "axis", x1: this.x(t), x2: this.x(t), y1: bottom, y2: bottom + 4 }),
        s("text", { x: this.x(t), y: bottom + 17, "text-anchor": this.x(t) > right - 20 ? "end" : "middle" },
          timeText(t, step)),
      ]).flat(),
      s("text", { class: "label", x: (margin.left + right) / 2, y: height - 4, "text-anchor": "middle" }, "time"),
      s("text", {
        class: "label", transform: `translate(12 ${(margin.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle",
      }, this.yLabel),
      this.series.map((one) => this.line(one)),
      this.cursor));
    this.show(this.at);
    return undefined;
  }

  line({ kind, points }) {
    const runs = [];
    for (const point of points) {
      const last = runs.at(-1)?.at(-1);
      if (last && point.x - last.x <= this.gap * 1.5) runs.at(-1).push(point);
      else runs.push([point]);
    }
    const path = (run, value) => run.map((point) => `${this.x(point.x).toFixed(1)},${this.y(value(point)).toFixed(1)}`);
    return s("g", { class: `series ${kind}` },
      runs.filter((run) => run.length > 1 && run[0].low !== undefined).map((run) => s("polygon", {
        class: "band", points: [...path(run, (p) => p.low), ...path([...run].reverse(), (p) => p.high)].join(" "),
      })),
      runs.map((run) => s("polyline", { points: path(run, (p) => p.y).join(" ") })),
      points.map((p) => s("circle", { cx: this.x(p.x), cy: this.y(p.y), r: points.length > 25 ? 2 : 3 })));
  }

  point(px) {
    if (!this.times?.length || !this.x) return;
    const near = this.times.reduce((a, b) => (Math.abs(this.x(a) - px) <= Math.abs(this.x(b) - px) ? a : b));
    this.show(near);
  }

  step(event) {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") this.show(null);
    if (!move || !this.times?.length) return;
    event.preventDefault();
    const now = this.times.indexOf(this.at);
    const next = now < 0 ? this.times.length - 1 : now + move;
    this.show(this.times[Math.max(0, Math.min(this.times.length - 1, next))]);
  }

  show(at) {
    this.at = this.times?.includes(at) ? at : null;
    this.tip.hidden = this.at === null;
    this.cursor?.setAttribute("visibility", this.at === null ? "hidden" : "visible");
    if (this.at === null) return;
    const x = this.x(this.at);
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    const rows = this.series.map((one) => [one, one.points.find((point) => point.x === this.at)]).filter(([, p]) => p);
    this.tip.replaceChildren(
      h("div", { class: "muted" }, moment(this.at - this.gap / 2), " to ", moment(this.at + this.gap / 2)),
      ...rows.map(([one, p]) => h("div", { class: one.kind }, h("span", { class: "key" }), `${one.name}: ${p.text}`)));
    const wide = this.tip.offsetWidth;
    const left = x + 12 + wide > this.box.clientWidth ? x - 12 - wide : x + 12;
    this.tip.style.left = `${Math.max(0, left)}px`;
  }
}

/** A table of weights, each a bar from zero with a whisker of one standard deviation each way. */
export function weightTable(title, weights, reach) {
  const at = (value) => `${(50 + 50 * Math.max(-1, Math.min(1, value / reach))).toFixed(2)}%`;
  const size = (value) => `${(50 * Math.min(1, Math.abs(value) / reach)).toFixed(2)}%`;
  return h("table", { class: "bars" },
    h("caption", {}, title),
    h("thead", { class: "sr" }, h("tr", {},
      ["Name", "Bar", "Weight ± sd"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, weights.map(({ name, weight, sd }) => h("tr", {},
      h("th", { scope: "row" }, name),
      h("td", { class: "bar" }, s("svg", { "aria-hidden": "true", height: 16 },
        s("line", { class: "zero", x1: "50%", x2: "50%", y1: 0, y2: 16 }),
        s("rect", {
          class: `${weight < 0 ? "negative" : "positive"}${Math.abs(weight) < sd ? " unsure" : ""}`,
          x: weight < 0 ? at(weight) : "50%", width: size(weight), y: 3, height: 10,
        }),
        s("line", { class: "whisker", x1: at(weight - sd), x2: at(weight + sd), y1: 8, y2: 8 }),
        [weight - sd, weight + sd].map((end) =>
          s("line", { class: "whisker", x1: at(end), x2: at(end), y1: 5, y2: 11 })))),
      h("td", { class: "num" }, decimal(weight), h("span", { class: "muted" }, ` ± ${decimal(sd)}`))))));
}

/** One bar of signed parts [{kind, name, value}], negative ones to the left of zero; `low` and `high` are its ends. */
export function stackedBar(parts, low, high) {
  const span = high - low || 1;
  const at = (value) => `${((100 * (value - low)) / span).toFixed(2)}%`;
  let up = 0;
  let down = 0;
  const boxes = parts.map(({ kind, name, value }) => {
    const start = value < 0 ? (down += value) : (up += value) - value;
    const width = `${((100 * Math.abs(value)) / span).toFixed(2)}%`;
    return s("rect", { class: kind, x: at(start), width, y: 1, height: 14 },
      s("title", {}, `${name} ${decimal(value)}`));
  });
  return s("svg", { class: "stack-bar", height: 16, "aria-hidden": "true" }, boxes,
    s("line", { class: "zero", x1: at(0), x2: at(0), y1: 0, y2: 16 }));
}

// "Try it": one ranking, why each item is where it is, and the feedback on it.

import * as api from "./api.js";
import { stackedBar } from "./charts.js";
import { byId, decimal, h, setText } from "./dom.js";

const COLOURS = 8; // topics with a colour of their own; the others share one

const ARMS = {
  policy: "the learned list",
  baseline: "the catalog's order, because the mode does not show learned lists",
  control: "a list drawn at random, because this user is in the control group and no baseline was sent",
  fallback: "the catalog's order, because something failed inside",
};

/** Topic -> colour class: the topics that matter most in this list come first. */
function topicKinds(items) {
  const total = new Map();
  for (const item of items) {
    for (const [topic, gain] of Object.entries(item.coverage ?? {})) {
      if (gain) total.set(topic, (total.get(topic) ?? 0) + Math.abs(gain));
    }
  }
  const order = [...total.keys()].sort((a, b) => total.get(b) - total.get(a));
  return new Map(order.map((topic, i) => [topic, i < COLOURS ? `topic-${i}` : "topic-other"]));
}

function partsOf(item, kinds) {
  const parts = [{ kind: "relevance", name: "relevance", value: item.relevance ?? 0 }];
  for (const [topic, kind] of kinds) {
    if (item.coverage?.[topic]) parts.push({ kind, name: topic, value: item.coverage[topic] });
  }
  parts.push({ kind: "bonus", name: "exploration", value: item.bonus ?? 0 });
  return parts;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

export class TryIt {
  /** `model()` gives the name of the model chosen; `changed(whose)` is called when its numbers may have moved. */
  constructor({ model, changed, refused }) {
    Object.assign(this, { model, changed, refused, response: null, whose: {} });
    byId("try-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.rank();
    });
    byId("try-none").addEventListener("click", () => this.send(null));
  }

  /** Another model was chosen: its lists are not this one's. */
  clear() {
    this.response = null;
    byId("try-result").hidden = true;
    this.say("");
  }

  say(text, bad = false) {
    const status = byId("try-status");
    status.classList.toggle("bad", bad);
    setText(status, text);
  }

  fail(problem) {
    this.say(problem.where ? `${problem.message} (${problem.where})` : problem.message, true);
    this.refused(problem);
  }

  async rank() {
    const request = { explain: true, defer_activation: true };
    const user = byId("try-user").value.trim();
    const segment = byId("try-segment").value.trim();
    const k = byId("try-k").value;
    if (user) request.user = user;
    if (segment) request.segment = segment;
    if (k) request.k = Number(k);
    byId("try-button").disabled = true;
    const model = this.model();
    try {
      const response = await api.rank(model, request);
      if (model !== this.model()) return;
      this.response = response;
      this.whose = { user, segment };
      this.draw(response);
      this.say("Ranked. Nothing is learned from it until you click, or say that nothing was clicked.");
      this.changed(this.whose);
    } catch (problem) {
      this.fail(problem);
    } finally {
      byId("try-button").disabled = false;
    }
  }

  draw(response) {
    const kinds = topicKinds(response.items);
    const scored = (item) => item.score !== null && item.relevance !== undefined;
    const explained = response.items.some(scored);
    const rows = response.items.map((item) => ({ item, parts: scored(item) ? partsOf(item, kinds) : [] }));
    const ends = (sign) => rows.map(({ parts }) => sum(parts.map((part) => part.value).filter((v) => v * sign > 0)));
    const [low, high] = [Math.min(0, ...ends(-1)), Math.max(0, ...ends(1))];
    const missing = ({ item, parts }) => Math.abs(item.score - sum(parts.map((part) => part.value)));
    const rest = rows.some((row) => row.parts.length && missing(row) > 1e-3 * Math.max(1, Math.abs(row.item.score)));

    byId("try-facts").replaceChildren(
      `Shown: ${ARMS[response.arm] ?? response.arm}. Mode ${response.mode}, version ${response.model_version}, event `,
      h("code", {}, response.event_id ?? "none"), ".",
      explained ? " Score = relevance + what each topic still adds to the items above + "
        + "exploration (more for items the model is unsure of)." : " This list has no scores to explain.",
      rest ? " The parts of some items do not add up to their score." : "");
    byId("try-legend").replaceChildren(...(explained ? this.legend(kinds) : []));
    byId("try-items").replaceChildren(...rows.map(({ item, parts }) => this.row(item, parts, low, high)));
    byId("try-none").hidden = response.event_id === null;
    byId("try-none").disabled = false;
    byId("try-result").hidden = false;
  }

  legend(kinds) {
    const named = [...kinds].filter(([, kind]) => kind !== "topic-other");
    const entry = (kind, name) => h("li", { class: kind }, h("span", { class: "key" }), name);
    return [
      entry("relevance", "relevance"),
      ...named.map(([topic, kind]) => entry(kind, topic)),
      ...(kinds.size > named.length ? [entry("topic-other", "other topics")] : []),
      entry("bonus", "exploration"),
    ];
  }

  row(item, parts, low, high) {
    const name = item.title ?? String(item.id);
    const button = h("button", { type: "button", class: "click" }, "Click", h("span", { class: "sr" }, ` ${name}`));
    button.addEventListener("click", () => this.send(item.position));
    const why = parts.length
      ? [stackedBar(parts, low, high), h("div", { class: "parts" }, parts.filter((part) => Math.abs(part.value) >= 5e-4)
        .map((part) => h("span", {}, `${part.name} ${decimal(part.value)}`)))]
      : [h("span", { class: "muted" }, item.relevance === undefined ? "not placed by score" : "not seen yet")];
    return h("tr", {},
      h("td", { class: "position" }, item.position),
      h("th", { scope: "row", class: "item" }, name,
        item.title ? h("div", { class: "muted small" }, String(item.id)) : null),
      h("td", { class: "why" }, why),
      h("td", { class: "num score" }, decimal(item.score)),
      h("td", { class: "act" }, this.response.event_id === null ? null : button));
  }

  async send(position) {
    const { event_id: event } = this.response;
    this.enable(false);
    try {
      const result = await api.feedback(event, position);
      if (this.response?.event_id !== event) return;
      if (result.accepted) {
        this.say(`Sent and counted: ${position === null ? "no click" : `click on ${position}`}.`
          + (this.response.mode === "logging_only" ? " Nothing is learned in mode logging_only." : ""));
        byId("try-items").children[(position ?? 0) - 1]?.classList.add("clicked");
      } else {
        const problem = result.problems?.[0];
        this.say(`Not taken: ${problem?.reason ?? problem?.result ?? "no reason given"}`, true);
      }
      this.changed(this.whose);
    } catch (problem) {
      this.enable(true);
      this.fail(problem);
    }
  }

  enable(on) {
    for (const button of document.querySelectorAll("#try-items button, #try-none")) button.disabled = !on;
  }
}

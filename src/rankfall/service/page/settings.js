// The settings of a model, and the change of two of them.

import * as api from "./api.js";
import { byId, clock, duration, h, percent, setText } from "./dom.js";

const MODES = {
  online: "online: learned lists are shown, and it learns from their clicks.",
  apprentice: "apprentice: the caller's lists are shown, and it learns from their clicks.",
  logging_only: "logging_only: the caller's lists are shown, and nothing is learned.",
};

function settingText(name, value) {
  if (name === "feedback_wait") return duration(value);
  if (name === "control" || name === "randomize") return percent(value);
  if (name === "forgetting") return value ? Object.entries(value).map((pair) => pair.join(" ")).join(", ") : "none";
  if (name === "pinned") return value.map(({ id, position }) => `${id} at ${position}`).join(", ") || "none";
  if (name === "blocked") return value.join(", ") || "none";
  if (name === "rewards") return value ? Object.entries(value).map((pair) => pair.join(" ")).join(", ") : "clicks only";
  if (name === "across_users") return value ? "yes" : "no";
  if (name === "rules") return value.map((rule) => Object.values(rule).join(" ").replaceAll("_", " ")).join("; ") || "none";
  if (name === "context" || name === "request_features") return value ? Object.keys(value).join(", ") : "none";
  if (name === "feedback") return value ?? "as the policy has it";
  return String(value);
}

export class Settings {
  /** `changed()` is called after a change was made, `refused(problem)` when the service said no. */
  constructor({ changed, refused }) {
    Object.assign(this, { changed, refused, model: null, settings: null });
    byId("change").addEventListener("input", () => this.edited());
    byId("change").addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
  }

  /** Another model was chosen: what was typed is not for it. */
  clear() {
    this.settings = null;
    setText(byId("change-status"), "");
  }

  show({ name, settings, created_at: created }) {
    const known = this.settings;
    Object.assign(this, { model: name, settings });
    const pairs = Object.entries(settings).filter(([key]) => key !== "name").map(([key, value]) =>
      [key.replaceAll("_", " "), settingText(key, value)]);
    pairs.push(["created", created ? new Date(created).toLocaleString("en-GB") : "–"]);
    byId("settings").replaceChildren(...pairs.flatMap(([key, text]) => [h("dt", {}, key), h("dd", {}, text)]));
    // Leave alone what is being typed; follow what others change.
    if (!known || Number(byId("gamma").value) === known.gamma) byId("gamma").value = settings.gamma;
    if (!known || byId("mode").value === known.mode) byId("mode").value = settings.mode;
    byId("try-k").placeholder = settings.k;
    this.edited();
  }

  /** What the form asks for that is not so already. */
  wanted() {
    const wanted = {};
    const gamma = byId("gamma").value;
    if (gamma !== "" && Number(gamma) !== this.settings.gamma) wanted.gamma = Number(gamma);
    if (byId("mode").value !== this.settings.mode) wanted.mode = byId("mode").value;
    return wanted;
  }

  edited() {
    byId("change-button").disabled = !this.settings || !Object.keys(this.wanted()).length;
    setText(byId("mode-help"), MODES[byId("mode").value] ?? "");
  }

  ask() {
    const { model } = this;
    const wanted = this.wanted();
    const dialog = byId("confirm-dialog");
    setText(byId("confirm-text"), `Model ${model}:`);
    byId("confirm-list").replaceChildren(...Object.entries(wanted).map(([name, value]) =>
      h("li", {}, `${name}: ${this.settings[name]} → ${value}`)));
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "yes") this.change(model, wanted);
    }, { once: true });
    dialog.showModal();
  }

  async change(model, wanted) {
    const status = byId("change-status");
    try {
      await api.change(model, wanted);
      status.classList.remove("bad");
      setText(status, `Changed at ${clock(Date.now())}.`);
      this.changed();
    } catch (problem) {
      status.classList.add("bad");
      setText(status, `Not changed: ${problem.message}`);
      this.refused(problem);
    }
  }
}

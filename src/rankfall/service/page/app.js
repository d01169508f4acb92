// The page: asks the service every two seconds and shows what it says.

import * as api from "./api.js";
import { byId, clock, h, setText } from "./dom.js";
import { Settings } from "./settings.js";
import { TryIt } from "./tryit.js";
import { showArms, showCatalog, showNumbers, showPrior, showRate, showWeights } from "./views.js";

const EVERY = 2000; // milliseconds

const state = {
  model: new URLSearchParams(location.hash.slice(1)).get("model"),
  whose: {}, // {user: name} or {segment: name}, where each learns apart
  scope: "global",
  paused: false,
  busy: false, // a round of questions is under way
  again: false, // and another was wished for meanwhile
  timer: null,
  asked: false, // the key was asked for
  downSince: null,
  all: false, // show all weights
};

const tryIt = new TryIt({ model: () => state.model, changed: tried, refused: askForKey });
const settings = new Settings({ changed: refresh, refused: askForKey });

// ---- asking ---------------------------------------------------------------------------------------------------------

async function refresh() {
  clearTimeout(state.timer);
  if (state.busy) {
    state.again = true;
    return;
  }
  state.busy = true;
  try {
    await load();
    reached();
  } catch (problem) {
    if (problem instanceof api.Refused) refused(problem);
    else if (problem instanceof api.Unreachable) unreachable(problem);
    else {
      banner(`This page could not show what the server answered: ${problem.message}`);
      throw problem;
    }
  } finally {
    state.busy = false;
    schedule();
  }
}

function schedule() {
  clearTimeout(state.timer);
  if (state.again) {
    state.again = false;
    refresh();
  } else if (!state.paused && !document.hidden) {
    state.timer = setTimeout(refresh, EVERY);
  }
}

async function load() {
  const health = await api.ready();
  showReady(health);
  const [catalog, models] = await Promise.all([api.catalog(), api.models()]);
  showCatalog(catalog);
  showModels(models);
  if (!state.model) return;
  const { model: name, whose } = state;
  const [model, history] = await Promise.all([api.model(name, whose), api.history(name, byId("hours").value)]);
  if (name !== state.model || whose !== state.whose) {
    state.again = true;
    return;
  }
  state.scope = model.settings.scope;
  once("numbers", [model.counts, model.learned, model.version], () => showNumbers(model));
  once("rate", [name, history, model.counts, model.settings.scope, api.key.get()], () => showRate(model, history));
  once("arms", [model.arms, model.settings.control, model.settings.rewards, model.settings.mode], () => showArms(model));
  once("weights", [name, model.weights, model.learned, state.all, whose],
    () => showWeights(model, Object.values(whose)[0], state.all, showAll));
  once("prior", [name, model.prior?.learned_at, model.prior?.weights, model.settings.across_users, state.all],
    () => showPrior(model, state.all, showAll));
  once("settings", [name, model.settings], () => settings.show(model));
}

/** Draw a part of the page only when what it shows has changed. */
const drawn = new Map();
function once(part, data, draw) {
  const text = JSON.stringify(data);
  if (drawn.get(part) === text) return;
  draw();
  drawn.set(part, text);
}

// ---- is it there? ---------------------------------------------------------------------------------------------------

function banner(text) {
  byId("banner").hidden = !text;
  setText(byId("banner"), text ?? "");
}

function pill(kind, text) {
  byId("ready").className = `pill ${kind}`;
  setText(byId("ready"), text);
}

function showReady({ ready, reason }) {
  pill(ready ? "good" : "warn", ready ? "ready" : `not ready: ${reason}`);
}

function reached() {
  state.downSince = null;
  document.body.classList.remove("stale");
  banner(state.model ? null : "There is no model yet. Make one with PUT /v1/models/NAME.");
  setText(byId("updated"), `updated ${clock(Date.now())}`);
}

function unreachable(problem) {
  state.downSince ??= Date.now();
  pill("bad", "not reachable");
  document.body.classList.add("stale");
  const next = state.paused ? "Paused: press Resume to try again." : "Trying again every 2 seconds.";
  banner(`The server at ${location.host} cannot be reached since ${clock(state.downSince)} (${problem.message}). `
    + `What you see below is old. ${next}`);
}

function refused(problem) {
  if (problem.status === 401) {
    banner("This service asks for an API key, and shows nothing without it.");
    askForKey(problem);
  } else {
    banner(`The server says: ${problem.message} (${problem.status}).`);
  }
  document.body.classList.add("stale");
}

// ---- key ------------------------------------------------------------------------------------------------------------

function askForKey(problem) {
  if (problem.status !== 401) return;
  byId("key-button").hidden = false;
  setText(byId("key-why"), api.key.get() ? "The service does not know this key." : "This service asks for a key.");
  if (!state.asked) openKey();
}

function openKey() {
  state.asked = true; // once; after that the button asks
  byId("key").value = "";
  byId("key-dialog").returnValue = "";
  if (!byId("key-dialog").open) byId("key-dialog").showModal();
  byId("key").focus();
}

function keyGiven() {
  const { returnValue } = byId("key-dialog");
  const value = byId("key").value.trim();
  byId("key").value = "";
  if (returnValue === "forget") api.key.forget();
  else if (returnValue === "use" && value) {
    api.key.set(value);
    state.asked = false; // a wrong key is asked for again
  } else return;
  refresh();
}

// ---- which model ----------------------------------------------------------------------------------------------------

function showModels(models) {
  const names = models.map((model) => model.name);
  if (!names.includes(state.model)) choose(names.includes("default") ? "default" : names[0] ?? null);
  const options = () => names.map((name) => h("option", { value: name }, name));
  once("models", names, () => byId("model").replaceChildren(...options()));
  byId("model").value = state.model;
  byId("model").disabled = names.length === 0;
}

function choose(name) {
  state.model = name;
  state.whose = {};
  drawn.delete("settings");
  settings.clear();
  byId("whose-name").value = "";
  tryIt.clear();
}

// ---- hands ----------------------------------------------------------------------------------------------------------

function showAll() {
  state.all = true;
  refresh();
}

function showWhose(name) {
  state.whose = name && state.scope !== "global" ? { [state.scope]: name } : {};
  refresh();
}

/** A list was tried: where each user learns apart, show what was learned for this one. */
function tried(whose) {
  const name = whose[state.scope];
  if (name) byId("whose-name").value = name;
  showWhose(byId("whose-name").value.trim());
}

byId("model").addEventListener("change", () => {
  choose(byId("model").value);
  history.replaceState(null, "", `#${new URLSearchParams({ model: state.model })}`);
  refresh();
});
byId("hours").addEventListener("change", refresh);
byId("pause").addEventListener("click", () => {
  state.paused = !state.paused;
  setText(byId("pause"), state.paused ? "Resume" : "Pause");
  byId("pause").setAttribute("aria-pressed", state.paused);
  if (state.paused) clearTimeout(state.timer);
  else refresh();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(state.timer);
  else if (!state.paused) refresh();
});
byId("whose").addEventListener("submit", (event) => {
  event.preventDefault();
  showWhose(byId("whose-name").value.trim());
});
byId("key-button").addEventListener("click", openKey);
byId("key-dialog").addEventListener("close", keyGiven);
byId("key").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault(); // Enter would press the first button, which is Cancel
  byId("key-dialog").close("use");
});
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = byId(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      setText(button, "Copied");
      setTimeout(() => setText(button, "Copy"), 1500);
    } catch {
      getSelection().selectAllChildren(source); // no clipboard on plain http: leave it selected
    }
  });
}

refresh();

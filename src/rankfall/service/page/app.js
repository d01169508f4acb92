// The page: asks the service every two seconds and shows what it says.

import * as api from "./api.js";
import { LineChart, weightTable } from "./charts.js";
import { byId, clock, decimal, duration, h, moment, percent, plural, setText, table, whole } from "./dom.js";
import { ENOUGH, condense, difference, wilson } from "./stats.js";
import { TryIt } from "./tryit.js";

const EVERY = 2000; // milliseconds
const MOST_POINTS = 30;
const MOST_WEIGHTS = 24; // per table, until all are asked for

const ARMS = [
  ["policy", "learned"],
  ["control", "control"],
  ["baseline", "baseline"],
  ["fallback", "fallback"],
];

const MODES = {
  online: "online: learned lists are shown, and it learns from their clicks.",
  apprentice: "apprentice: the caller's lists are shown, and it learns from their clicks.",
  logging_only: "logging_only: the caller's lists are shown, and nothing is learned.",
};

const state = {
  model: new URLSearchParams(location.hash.slice(1)).get("model"),
  whose: {}, settings: null, paused: false, asked: false, busy: false, again: false, timer: null, downSince: null, all: false,
};

const rateChart = new LineChart(byId("rate-chart"), {
  yLabel: "click rate", limit: 1, format: (v, step) => percent(v, Number.isInteger(Math.round(1e6 * step) / 1e4) ? 0 : 1).replace(" ", ""),
});
const coveredChart = new LineChart(byId("covered-chart"), {
  yLabel: "topics", height: 190, format: (v, step) => decimal(v, Number.isInteger(step) ? 0 : 1),
});
const tryIt = new TryIt({ model: () => state.model, changed: refresh, refused: (problem) => askForKey(problem) });

// ---- asking ----------------------------------------------------------------------------------------------------------

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
    else throw problem;
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
  once("numbers", [model.counts, model.learned, model.version], () => showNumbers(model));
  once("rate", [name, history, model.counts, model.settings.scope, api.key.get()], () => showRate(model, history));
  once("arms", [model.arms, model.settings.control], () => showArms(model));
  once("weights", [name, model.weights, model.learned, state.all, whose], () => showWeights(model));
  once("settings", [name, model.settings], () => showSettings(model));
}

/** Draw a part of the page only when what it shows has changed. */
const drawn = new Map();
function once(part, data, draw) {
  const text = JSON.stringify(data);
  if (drawn.get(part) === text) return;
  draw();
  drawn.set(part, text);
}

// ---- is it there? ----------------------------------------------------------------------------------------------------

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

// ---- key -------------------------------------------------------------------------------------------------------------

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

// ---- what it says ----------------------------------------------------------------------------------------------------

function showCatalog({ items, topics, features }) {
  setText(byId("catalog"), `${plural(items, "item", "items")}, ${plural(topics.length, "topic", "topics")}, `
    + plural(features, "feature", "features"));
}

function showModels(models) {
  const names = models.map((model) => model.name);
  if (!names.includes(state.model)) choose(names.includes("default") ? "default" : names[0] ?? null);
  once("models", names, () => byId("model").replaceChildren(...names.map((name) => h("option", { value: name }, name))));
  byId("model").value = state.model;
  byId("model").disabled = names.length === 0;
}

function choose(name) {
  state.model = name;
  state.whose = {};
  state.settings = null;
  drawn.delete("settings");
  byId("whose-name").value = "";
  tryIt.clear();
  setText(byId("change-status"), "");
}

function showNumbers({ counts, learned, version }) {
  const entries = [
    ["ranked", "Lists ranked", counts.ranked], ["answered", "Answered", counts.answered],
    ["clicked", "With a click", counts.clicked], ["no_click", "No click", counts.no_click],
    ["expired", "Expired", counts.expired], ["learned", "Lists learned from", learned], ["version", "Version", version],
  ];
  byId("numbers").replaceChildren(...entries.map(([key, name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", { "data-number": key }, whole(value)))));
}

function showRate(model, history) {
  const { seconds, points } = condense(history, MOST_POINTS);
  const series = ARMS.map(([arm, name]) => ({
    name, kind: `arm-${arm}`,
    points: points.filter((point) => point.arms[arm]?.answered).map((point) => {
      const { answered, clicked } = point.arms[arm];
      const { rate, low, high } = wilson(clicked, answered);
      return { x: point.middle, y: rate, low, high, text: `${percent(rate)} (${whole(clicked)} of ${whole(answered)})` };
    }),
  })).filter((one) => one.points.length);
  const never = !model.counts.answered && !series.length;
  byId("rate-empty").hidden = !never;
  byId("rate-quiet").hidden = never || series.length > 0;
  byId("rate-filled").hidden = !series.length;
  if (never) showCurl(model);
  setText(byId("rate-quiet"), "No answered lists in this time. Choose a longer one above.");
  byId("rate-legend").replaceChildren(...series.map(({ kind, name }) =>
    h("li", { class: kind }, h("span", { class: "key" }), name)));
  setText(byId("rate-note"), `Each point is ${duration(seconds)}; no point where no list was answered.`);
  rateChart.set(series, seconds * 1000, `Click rate over time of ${series.map((one) => one.name).join(", ")}`);
  const cell = (arm) => (arm?.answered ? `${percent(arm.clicked / arm.answered)} (${arm.clicked}/${arm.answered})` : "–");
  const shown = ARMS.filter(([arm]) => series.some((one) => one.kind === `arm-${arm}`));
  byId("rate-table").replaceChildren(table(["From", ...shown.map(([, name]) => name)],
    points.map((point) => [moment(point.start), ...shown.map(([arm]) => cell(point.arms[arm]))])));

  const covered = points.filter((point) => point.covered !== null)
    .map((point) => ({ x: point.middle, y: point.covered, text: decimal(point.covered, 2) }));
  byId("covered-empty").hidden = covered.length > 0;
  byId("covered-chart").hidden = covered.length === 0;
  coveredChart.set(covered.length ? [{ name: "topics covered", kind: "arm-policy", points: covered }] : [],
    seconds * 1000, "Mean number of topics covered by a list, over time");
}

function showCurl({ name, settings }) {
  const header = `-H 'Content-Type: application/json'${api.key.get() ? " -H \"X-API-Key: $RANKFALL_KEY\"" : ""}`;
  const request = { user: "anna", ...(settings.scope === "segment" ? { segment: "home" } : {}), k: settings.k };
  setText(byId("curl-rank"), `EVENT=$(curl -s '${api.address(`${api.modelPath(name)}/rank`)}' \\\n  ${header} \\\n`
    + `  -d '${JSON.stringify(request)}' | tee /dev/stderr \\\n  | sed -n 's/.*"event_id": *"\\([^"]*\\)".*/\\1/p')`);
  setText(byId("curl-feedback"), `curl -s '${api.address("v1/feedback")}' \\\n  ${header} \\\n`
    + `  -d "{\\"event_id\\": \\"$EVENT\\", \\"clicked\\": {\\"position\\": 1}}"`);
}

function showArms({ arms, settings }) {
  const none = { answered: 0, clicked: 0 };
  const rows = ARMS.filter(([arm]) => arm === "policy" || arm === "control" || arms[arm]?.answered).map(([arm, name]) => {
    const { answered, clicked } = arms[arm] ?? none;
    const sure = wilson(clicked, answered);
    return [h("span", { class: `name arm-${arm}` }, h("span", { class: "key" }), name), whole(answered), whole(clicked),
      sure ? [percent(sure.rate), h("div", { class: "muted" }, `${(100 * sure.low).toFixed(1)} to ${percent(sure.high)}`)] : "–"];
  });
  byId("arms").replaceChildren(table(["List", "Answered", "Clicked", "Rate, 95 % interval"], rows));
  byId("lift").replaceChildren(...lift(arms.policy ?? none, arms.control ?? none, settings.control));
}

function lift(policy, control, share) {
  const big = (text, kind = "") => h("p", { class: `big ${kind}` }, text);
  const note = (...text) => h("p", { class: "muted small" }, ...text);
  if (!control.answered && !share) {
    return [big("No control group"), note("Set ", h("code", {}, "control"), " above 0, and that share of users keeps the caller's "
      + "list. Only then can the gain be measured.")];
  }
  if (policy.answered < ENOUGH || control.answered < ENOUGH) {
    return [big("Not enough yet"), note(`A comparison needs ${ENOUGH} answered lists on each side; there are `
      + `${whole(policy.answered)} learned and ${whole(control.answered)} control.`)];
  }
  const { difference: d, low, high, relative } = difference(policy, control);
  const points = (value) => `${value < 0 ? "−" : "+"}${Math.abs(100 * value).toFixed(1)}`;
  const verdict = low > 0 ? "Learned lists are clicked more often."
    : high < 0 ? "Learned lists are clicked less often." : "No clear difference yet.";
  return [
    big(`${points(d)} points`, low > 0 ? "good" : high < 0 ? "bad" : ""),
    h("p", {}, verdict),
    note(`Click rate, learned minus control. 95 % interval ${points(low)} to ${points(high)} points`,
      relative === null ? "" : `; ${points(relative)} % relative`, " (Newcombe). It holds for one look at a time chosen "
      + "beforehand, not for waiting until it turns."),
  ];
}

function showWeights({ weights, learned, settings }) {
  const personal = settings.scope !== "global";
  byId("whose").hidden = !personal;
  setText(byId("whose-label"), settings.scope === "segment" ? "Segment" : "User");
  const name = Object.values(state.whose)[0];
  const blank = !weights?.length || weights.every(({ weight }) => weight === 0);
  byId("weights-empty").hidden = !blank;
  byId("weights").hidden = blank;
  if (blank) {
    setText(byId("weights-empty"), personal && !name
      ? `This model learns for each ${settings.scope} apart. Name one above to see what it has learned there.`
      : `Nothing learned yet${name ? ` for ${name}` : ""}: every weight is 0. ${learned ? "" : "It has learned from no list so far."}`);
    return;
  }
  const sorted = [...weights].sort((a, b) => b.weight - a.weight);
  const reach = Math.max(...weights.map(({ weight, sd }) => Math.abs(weight) + sd));
  const blocks = [["topic", "Topics"], ["feature", "Features"]].map(([block, title]) => {
    const all = sorted.filter((weight) => weight.block === block);
    const large = [...all].sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)).slice(0, MOST_WEIGHTS);
    const few = state.all ? all : all.filter((weight) => large.includes(weight));
    const title2 = few.length < all.length ? `${title}: the ${few.length} largest of ${all.length}` : title;
    return all.length ? weightTable(title2, few, reach) : null;
  }).filter(Boolean);
  byId("weights").replaceChildren(...blocks);
  if (!state.all && weights.length > MOST_WEIGHTS && blocks.some((block) => block.caption.textContent.includes("largest"))) {
    const more = h("button", { type: "button" }, "Show all");
    more.addEventListener("click", () => {
      state.all = true;
      refresh();
    });
    byId("weights").append(more);
  }
}

// ---- settings --------------------------------------------------------------------------------------------------------

function settingText(name, value) {
  if (name === "feedback_wait") return duration(value);
  if (name === "control" || name === "randomize") return percent(value);
  if (name === "forgetting") return value ? Object.entries(value).map((pair) => pair.join(" ")).join(", ") : "none";
  if (name === "pinned") return value.length ? value.map(({ id, position }) => `${id} at ${position}`).join(", ") : "none";
  if (name === "blocked") return value.length ? value.join(", ") : "none";
  return String(value);
}

function showSettings({ settings, created_at: created }) {
  const known = state.settings;
  state.settings = settings;
  byId("settings").replaceChildren(...Object.entries(settings).filter(([key]) => key !== "name").map(([key, value]) =>
    [h("dt", {}, key.replaceAll("_", " ")), h("dd", {}, settingText(key, value))]).flat(),
  h("dt", {}, "created"), h("dd", {}, created ? new Date(created).toLocaleString("en-GB") : "–"));
  // Leave alone what is being typed; follow what others change.
  if (!known || Number(byId("gamma").value) === known.gamma) byId("gamma").value = settings.gamma;
  if (!known || byId("mode").value === known.mode) byId("mode").value = settings.mode;
  byId("try-k").placeholder = settings.k;
  editing();
}

function changes() {
  const wanted = {};
  const gamma = byId("gamma").value;
  if (gamma !== "" && Number(gamma) !== state.settings.gamma) wanted.gamma = Number(gamma);
  if (byId("mode").value !== state.settings.mode) wanted.mode = byId("mode").value;
  return wanted;
}

function editing() {
  byId("change-button").disabled = !state.settings || !Object.keys(changes()).length;
  setText(byId("mode-help"), MODES[byId("mode").value] ?? "");
}

function confirmChange(event) {
  event.preventDefault();
  const wanted = changes();
  setText(byId("confirm-text"), `Model ${state.model}:`);
  byId("confirm-list").replaceChildren(...Object.entries(wanted).map(([name, value]) =>
    h("li", {}, `${name}: ${state.settings[name]} → ${value}`)));
  byId("confirm-dialog").returnValue = "";
  byId("confirm-dialog").addEventListener("close", () => {
    if (byId("confirm-dialog").returnValue === "yes") change(state.model, wanted);
  }, { once: true });
  byId("confirm-dialog").showModal();
}

async function change(model, wanted) {
  const status = byId("change-status");
  try {
    await api.change(model, wanted);
    status.classList.remove("bad");
    setText(status, `Changed at ${clock(Date.now())}.`);
    refresh();
  } catch (problem) {
    status.classList.add("bad");
    setText(status, `Not changed: ${problem.message}`);
    askForKey(problem);
  }
}

// ---- hands -----------------------------------------------------------------------------------------------------------

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
  const name = byId("whose-name").value.trim();
  state.whose = name ? { [state.settings?.scope ?? "user"]: name } : {};
  refresh();
});
byId("key-button").addEventListener("click", openKey);
byId("key-dialog").addEventListener("close", keyGiven);
byId("key").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault(); // Enter would press the first button, which is Cancel
  byId("key-dialog").close("use");
});
byId("change").addEventListener("submit", confirmChange);
byId("change").addEventListener("input", editing);
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

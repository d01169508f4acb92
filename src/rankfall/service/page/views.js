// What the service says about a model, put on the page.

import * as api from "./api.js";
import { LineChart, weightTable } from "./charts.js";
import { byId, decimal, duration, h, moment, percent, plural, setText, table, whole } from "./dom.js";
import { ENOUGH, condense, difference, meanReward, rewardDifference, wilson } from "./stats.js";

const MOST_POINTS = 30;
const MOST_WEIGHTS = 24; // per table, until all are asked for

const ARMS = [
  ["policy", "learned"],
  ["control", "control"],
  ["baseline", "baseline"],
  ["fallback", "fallback"],
  ["imported", "imported"],
];

const rateChart = new LineChart(byId("rate-chart"), {
  yLabel: "click rate", limit: 1,
  format: (v, step) => percent(v, Number.isInteger(Math.round(1e6 * step) / 1e4) ? 0 : 1).replace(" ", ""),
});
const coveredChart = new LineChart(byId("covered-chart"), {
  yLabel: "topics", height: 190, format: (v, step) => decimal(v, Number.isInteger(step) ? 0 : 1),
});

export function showCatalog({ items, topics, features }) {
  byId("covered-title").parentElement.hidden = !topics.length;
  setText(byId("catalog"), `${plural(items, "item", "items")}, ${plural(topics.length, "topic", "topics")}, `
    + plural(features, "feature", "features"));
}

export function showNumbers({ counts, learned, version }) {
  const entries = [
    ["ranked", "Lists ranked", counts.ranked], ["with_feedback", "With feedback", counts.with_feedback],
    ["clicked", "With a click", counts.clicked], ["no_click", "No click", counts.no_click],
    ["expired", "Expired", counts.expired], ["learned", "Lists learned from", learned], ["version", "Version", version],
  ];
  byId("numbers").replaceChildren(...entries.map(([key, name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", { "data-number": key }, whole(value)))));
}

export function showRate(model, history) {
  const { seconds, points } = condense(history, MOST_POINTS);
  const series = ARMS.map(([arm, name]) => ({
    name, kind: `arm-${arm}`,
    points: points.filter((point) => point.arms[arm]?.with_feedback).map((point) => {
      const { with_feedback, clicked } = point.arms[arm];
      const { rate, low, high } = wilson(clicked, with_feedback);
      const text = `${percent(rate)} (${whole(clicked)} of ${whole(with_feedback)})`;
      return { x: point.middle, y: rate, low, high, text };
    }),
  })).filter((one) => one.points.length);
  const never = !model.counts.with_feedback && !series.length;
  byId("rate-empty").hidden = !never;
  byId("rate-quiet").hidden = never || series.length > 0;
  byId("rate-filled").hidden = !series.length;
  if (never) showCurl(model);
  setText(byId("rate-quiet"), "No lists with feedback in this time. Choose a longer one above.");
  byId("rate-legend").replaceChildren(...series.map(({ kind, name }) =>
    h("li", { class: kind }, h("span", { class: "key" }), name)));
  setText(byId("rate-note"), `Each point is ${duration(seconds)}; no point where no list had feedback.`);
  rateChart.set(series, seconds * 1000, `Click rate over time of ${series.map((one) => one.name).join(", ")}`);
  const cell = (arm) =>
    (arm?.with_feedback ? `${percent(arm.clicked / arm.with_feedback)} (${arm.clicked}/${arm.with_feedback})` : "–");
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

export function showArms({ arms, settings }) {
  const none = { with_feedback: 0, clicked: 0 };
  const shown = ARMS.filter(([arm]) => arm === "policy" || arm === "control" || arms[arm]?.with_feedback);
  const rows = shown.map(([arm, name]) => {
    const { with_feedback, clicked } = arms[arm] ?? none;
    const sure = wilson(clicked, with_feedback);
    const interval = sure && `${(100 * sure.low).toFixed(1)} to ${percent(sure.high)}`;
    return [h("span", { class: `name arm-${arm}` }, h("span", { class: "key" }), name), whole(with_feedback), whole(clicked),
      sure ? [percent(sure.rate), h("div", { class: "muted" }, interval)] : "–",
      ...(settings.rewards ? [rewardCell(arms[arm])] : [])];
  });
  const head = ["List", "With feedback", "Clicked", "Rate, 95 % interval"];
  byId("arms").replaceChildren(table(settings.rewards ? [...head, "Reward of a list"] : head, rows));
  byId("lift").replaceChildren(...lift(arms.policy ?? none, arms.control ?? none, settings));
}

function rewardCell(arm) {
  const sure = meanReward(arm);
  if (!sure) return arm?.reward?.mean == null ? "–" : decimal(arm.reward.mean);
  return [decimal(sure.mean), h("div", { class: "muted" }, `${decimal(sure.low)} to ${decimal(sure.high)}`)];
}

function lift(policy, control, { control: share, rewards, mode }) {
  const note = (...text) => h("p", { class: "muted small" }, ...text);
  if (mode !== "online" && !policy.with_feedback) {
    return [big("No learned lists"), note("Mode ", h("code", {}, mode), " shows the caller's lists, so there is nothing to "
      + "compare them with. In mode ", h("code", {}, "online"), " learned lists are shown, and the gain is measured where ",
      h("code", {}, "control"), " is above 0.")];
  }
  if (!control.with_feedback && !share) {
    return [big("No control group"), note("Set ", h("code", {}, "control"), " above 0, and that share of users keeps "
      + "the caller's list. Only then can the gain be measured. ", ...noBaseline())];
  }
  if (policy.with_feedback < ENOUGH || control.with_feedback < ENOUGH) {
    return [big("Not enough yet"), note(`A comparison needs ${ENOUGH} lists with feedback on each side; there are `
      + `${whole(policy.with_feedback)} learned and ${whole(control.with_feedback)} control.`)];
  }
  const points = (value) => signed(100 * value, 1);
  const clicks = difference(policy, control);
  const earned = rewards && rewardDifference(policy, control);
  return [
    ...gain(clicks, `${points(clicks.difference)} points`, "clicked more often", "clicked less often"),
    note(`Click rate, learned minus control. 95 % interval ${points(clicks.low)} to ${points(clicks.high)} points`,
      relativeText(clicks), " (Newcombe)."),
    ...(earned ? [
      ...gain(earned, `${signed(earned.difference, 3)} reward a list`, "worth more", "worth less"),
      note(`Reward of a list, learned minus control. 95 % interval ${signed(earned.low, 3)} to ${signed(earned.high, 3)}`,
        relativeText(earned), ". Outcomes that are still to come are missing on both sides."),
    ] : []),
    note("Intervals hold for one look at a time chosen beforehand, not for waiting until they turn."),
    note(...noBaseline()),
  ];
}

const big = (text, kind = "") => h("p", { class: `big ${kind}` }, text);
const signed = (value, digits) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;
const relativeText = ({ relative }) => (relative === null ? "" : `; ${signed(100 * relative, 1)} % relative`);

/** A difference in large letters, and in words. */
function gain({ low, high }, text, more, less) {
  const verdict = low > 0 ? `Learned lists are ${more}.` : high < 0 ? `Learned lists are ${less}.` : "No clear difference yet.";
  return [big(text, low > 0 ? "good" : high < 0 ? "bad" : ""), h("p", {}, verdict)];
}

function noBaseline() {
  return ["Send your own order as ", h("code", {}, "baseline"), " with each request: without it control lists are the "
    + "candidates in their order or, without candidates, drawn at random, and the gain is one over chance only."];
}

/** `name` is whose weights these are, where each user or segment learns apart; `showAll` asks for all of them. */
export function showWeights({ weights, learned, settings }, name, all, showAll) {
  const personal = settings.scope !== "global";
  byId("whose").hidden = !personal;
  setText(byId("whose-label"), settings.scope === "segment" ? "Segment" : "User");
  const blank = !weights?.length || weights.every(({ weight }) => weight === 0);
  byId("weights-empty").hidden = !blank;
  byId("weights").hidden = blank;
  if (blank) {
    setText(byId("weights-empty"), personal && !name
      ? `This model learns for each ${settings.scope} apart. Name one above to see what it has learned there.`
      : `Nothing learned yet${name ? ` for ${name}` : ""}${weights?.length ? ": every weight is 0." : "."}`
        + (learned ? "" : " It has learned from no list so far."));
    return;
  }
  byId("weights").replaceChildren(...weightTables(weights, all, showAll));
}

/** What a new user starts from, where that is learned from all users. */
export function showPrior({ prior, settings }, all, showAll) {
  byId("prior").hidden = !settings.across_users;
  setText(byId("prior-facts"), prior
    ? `Learned at ${moment(Date.parse(prior.learned_at))} from ${plural(prior.lists, "list", "lists")} of `
      + `${plural(prior.users, "user", "users")}. It is learned again as lists come in.`
    : "Nothing yet: it is learned once some ten users have given feedback on a hundred lists.");
  byId("prior-weights").replaceChildren(...(prior ? weightTables(prior.weights, all, showAll) : []));
}

/** Tables of weights, the largest of each kind or all of them. */
function weightTables(weights, all, showAll) {
  const sorted = [...weights].sort((a, b) => b.weight - a.weight);
  const reach = Math.max(...weights.map(({ weight, sd }) => Math.abs(weight) + sd));
  let hidden = 0;
  const tables = [["topic", "Topics"], ["feature", "Features"], ["item", "Items"]].map(([block, title]) => {
    const these = sorted.filter((weight) => weight.block === block);
    const large = [...these].sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)).slice(0, MOST_WEIGHTS);
    const few = all ? these : these.filter((weight) => large.includes(weight));
    hidden += these.length - few.length;
    const caption = few.length < these.length ? `${title}: the ${few.length} largest of ${these.length}` : title;
    return these.length ? weightTable(caption, few, reach) : null;
  });
  const more = hidden ? h("button", { type: "button" }, "Show all") : null;
  more?.addEventListener("click", showAll);
  return [...tables, more].filter(Boolean);
}

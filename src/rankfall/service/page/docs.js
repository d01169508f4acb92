// The interface, as openapi.json describes it. That is all this page loads.

import { byId, h, setText } from "./dom.js";

const nameOf = (schema) => schema.$ref.split("/").at(-1);
const plain = (text) => text.replaceAll("``", "");
const link = (name) => h("a", { href: `#${name}` }, name);

/** What values look like, with links to the shapes in it: a list of text and elements. */
function type(schema) {
  if (schema.$ref) return [link(nameOf(schema))];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.flatMap((one, i) => (i ? [" or ", ...type(one)] : type(one)));
  if (schema.enum) return [schema.enum.map((value) => JSON.stringify(value)).join(", ")];
  if (schema.type === "array") return ["list of ", ...type(schema.items ?? {})];
  if (schema.additionalProperties?.constructor === Object) return ["mapping to ", ...type(schema.additionalProperties)];
  return [schema.type ?? "anything", limits(schema)];
}

function limits(schema) {
  const words = [
    ["minimum", "at least"], ["exclusiveMinimum", "above"], ["maximum", "at most"], ["exclusiveMaximum", "below"],
  ];
  const told = words.filter(([name]) => name in schema && Math.abs(schema[name]) < 2 ** 60)
    .map(([name, word]) => `${word} ${schema[name]}`);
  if ("maxLength" in schema) told.push(`at most ${schema.maxLength} characters`);
  return told.length ? ` (${told.join(", ")})` : "";
}

function rows(head, cells) {
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, cells.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))));
}

function bodies(title, content) {
  return Object.entries(content ?? {}).map(([media, { schema }]) => (
    h("p", {}, `${title}: `, schema?.$ref || schema?.anyOf ? type(schema) : "", ` ${media}`)));
}

function operation(method, path, one) {
  const done = Object.entries(one.responses).filter(([status, { description }]) => description !== "error" || status < 300);
  return h("details", { id: one.operationId },
    h("summary", {}, h("code", {}, `${method.toUpperCase()} ${path}`), ` ${one.summary}`),
    h("p", {}, plain(one.description)),
    one.parameters
      ? rows(["parameter", "in", "type"], one.parameters.map((each) => [each.name, each.in, type(each.schema)])) : null,
    bodies("Takes", one.requestBody?.content),
    done.flatMap(([status, each]) => bodies(`Gives ${status} (${each.description})`, each.content)));
}

function subject({ name, description }, paths) {
  const found = Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods)
    .filter(([, one]) => one.tags.includes(name)).map(([method, one]) => operation(method, path, one)));
  return h("section", { class: "card" }, h("h2", {}, name), h("p", { class: "muted" }, description), found);
}

function shape(name, schema) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([field, one]) => [
    h("code", {}, field), type(one), required.has(field) ? "required" : "", one.description ?? "",
  ]);
  return h("section", { class: "card", id: name }, h("h2", {}, name), h("p", { class: "muted" }, plain(schema.description ?? "")),
    fields.length ? rows(["field", "type", "", "meaning"], fields) : null);
}

async function show() {
  const response = await fetch(new URL("openapi.json", document.baseURI), { cache: "no-store" });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  const described = await response.json();
  setText(byId("version"), `version ${described.info.version}`);
  byId("operations").replaceChildren(...described.tags.map((tag) => subject(tag, described.paths)));
  byId("shapes").replaceChildren(
    ...Object.entries(described.components.schemas).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => shape(name, one)));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

show().catch((problem) => {
  byId("banner").hidden = false;
  setText(byId("banner"), `The description of the interface could not be loaded: ${problem.message}`);
});

// Talks to the service. Paths are relative to the page, so it also works behind a path prefix.

const KEY = "rankfall-key";
const TIMEOUT = 10_000; // milliseconds
const BASE = new URL(".", document.baseURI);

/** The server refused the request, or failed. */
export class Refused extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? `the server answered ${status}`);
    this.status = status;
    this.where = body?.error?.where ?? null;
  }
}

/** No response at all, or not one of this service. */
export class Unreachable extends Error {}

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

/** Absolute address of a path of the interface, safe between single quotes of a shell. */
export function address(path) {
  return new URL(path, BASE).href.replaceAll("'", "%27");
}

async function send(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["Content-Type"] = "application/json";
  if (key.get()) headers["X-API-Key"] = key.get();
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), TIMEOUT);
  try {
    const response = await fetch(new URL(path, BASE), {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
      signal: stop.signal, cache: "no-store",
    });
    let json = null;
    try {
      json = await response.json();
    } catch (problem) {
      if (response.ok) throw problem;
    }
    return { status: response.status, ok: response.ok, json };
  } catch (problem) {
    throw new Unreachable(stop.signal.aborted ? "no response within 10 seconds" : problem.message);
  } finally {
    clearTimeout(timer);
  }
}

async function call(method, path, body) {
  const { status, ok, json } = await send(method, path, body);
  if (!ok) throw new Refused(status, json);
  return json;
}

function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value != null);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

export const modelPath = (model) => `v1/models/${encodeURIComponent(model)}`;

/** {ready, reason}: "not ready" is a response here, not a failure. */
export async function ready() {
  const { ok, status, json } = await send("GET", "health/ready");
  return { ready: ok, reason: ok ? null : json?.reason ?? json?.error?.message ?? `status ${status}` };
}
export const catalog = () => call("GET", "v1/catalog");
export const models = async () => (await call("GET", "v1/models")).models;
export const model = (name, whose) => call("GET", modelPath(name) + query(whose));
export const history = (name, hours) => call("GET", `${modelPath(name)}/history${query({ hours })}`);
export const change = (name, settings) => call("PATCH", modelPath(name), settings);
export const rank = (name, request) => call("POST", `${modelPath(name)}/rank`, request);

/** Say what happened to a list that was held back: it was shown, and this was clicked (a position, or null). */
export async function feedback(event, position) {
  await call("POST", `v1/events/${encodeURIComponent(event)}/activate`);
  return call("POST", "v1/feedback", { event_id: event, clicked: position === null ? null : { position } });
}

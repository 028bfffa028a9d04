// Calls of the API. The key is kept in this tab's session storage; it is sent in a header, and appears in
// no address. Answers are cached only in memory, until the page is closed or the visitor signs out.

import { waiting as showWait } from "./banner.js";
import { dated, dayText, isoDay } from "./charts.js";

const BASE = new URL("../v1/", import.meta.url);
const STORED = "alpha-results-key";
const AT_ONCE = 4;
const TRIES = 4;
const LONGEST_WAIT = 65;
/** A service that has just started may still be reading the data that alphas are compared by. */
const NOT_READY = "neighbours_not_ready";
const MOST_REMEMBERED = 200;
const PAGE = 5000;

const PROSE = new Set(["message", "reason", "withheld_reason", "withheld"]);
const FORBIDDEN = 403;
const NO_RUN = "run_not_allowed";

/** An error answer of the API, in its own words. */
export class Refusal extends Error {
  constructor(status, error, wait = 0) {
    super(explained(error, wait));
    this.status = status;
    this.code = error.code;
    this.requestId = error.request_id ?? null;
    this.available = error.details?.available ?? [];
  }
}

/** A message, with the missing right, the rules that parameters break, the names there are, or the time when a long limit ends. */
function explained({ message, details }, wait) {
  if (details?.endpoint) return `${message.replace(/\.$/, "")} (${details.endpoint}).`;
  if (details?.parameters) return `${message.split(":")[0]}: ${details.parameters.map(({ name, constraint }) => `${name} (${constraint})`).join("; ")}.`;
  if (details?.available?.length) return `${message.replace(/\.$/, "")} (${details.available.join(", ")}).`;
  return wait > LONGEST_WAIT ? `${message} Calls work again from ${clock(wait)}.` : message;
}

/** The time some seconds from now, by the visitor's clock. */
function clock(seconds) {
  const end = new Date(Date.now() + seconds * 1000);
  return `${dayText(isoDay(end.getTime()))}, ${end.toTimeString().slice(0, 5)}`;
}

const remembered = new Map();
/** Refusals for alphas whose data the key may not read, so that no second call is made. */
const forbidden = new Map();
const queue = [];
let running = 0;
let limit = null;
let onSignedOut = () => {};

export function whenSignedOut(call) {
  onSignedOut = call;
}

export const key = () => sessionStorage.getItem(STORED);

/** The warnings of an answer, then its notices. */
export const remarks = (meta) => [...(meta.warnings ?? []), ...(meta.notices ?? [])];

export function signOut() {
  sessionStorage.removeItem(STORED);
  forget();
  onSignedOut();
}

function forget() {
  remembered.clear();
  forbidden.clear();
}

/** Try a key, and keep it for this tab if the API knows it; return the key's rights. */
export async function signIn(token) {
  forget();
  const { data } = await request("me", {}, token);
  sessionStorage.setItem(STORED, token);
  return data;
}

/** Remove a key that a link put after the # of the address, so that it is neither sent nor shown. */
export function takeKeyFromAddress() {
  const match = /^#key=([^&]*)&?(.*)$/.exec(location.hash);
  if (!match) return null;
  const [, token, view] = match;
  history.replaceState(null, "", `${location.pathname}${location.search}#${view || "/"}`);
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}

/** The answer, {data, meta, …}, to one path below /v1. */
export function get(path, parameters = {}) {
  const address = addressOf(path, parameters);
  const run = /^alphas\/[^/]+(?=\/)/.exec(path)?.[0];
  let answer = remembered.get(address);
  if (answer === undefined) {
    answer = request(path, parameters, key(), run);
    remembered.set(address, answer);
    answer.catch((refusal) => {
      if (refusal.code === NO_RUN) forbidden.set(run, refusal);
      if (refusal.status !== FORBIDDEN) remembered.delete(address);
    });
    if (remembered.size > MOST_REMEMBERED) remembered.delete(remembered.keys().next().value);
  }
  return answer;
}

/** All rows of a list, paged from one snapshot; null if there are more than `most` pages. */
export async function all(path, parameters = {}, most = 40) {
  const rows = [];
  let meta = null;
  let pinned = {};
  for (let page = 0; page < most; page += 1) {
    const answer = await get(path, { ...parameters, ...pinned, limit: PAGE, offset: rows.length });
    rows.push(...answer.data);
    meta ??= answer.meta;
    if (answer.meta.snapshot) pinned = { snapshot: answer.meta.snapshot };
    if (rows.length >= answer.pagination.total || answer.data.length === 0) return { rows, meta, total: answer.pagination.total };
  }
  return null;
}

function addressOf(path, parameters) {
  const address = new URL(path, BASE);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") address.searchParams.set(name, value);
  }
  return address.href;
}

async function request(path, parameters, token, run) {
  await turn();
  try {
    if (forbidden.has(run)) throw forbidden.get(run);
    return await answerOf(addressOf(path, parameters), token);
  } finally {
    running -= 1;
    queue.shift()?.();
  }
}

async function answerOf(address, token) {
  for (let attempt = 1; ; attempt += 1) {
    await limit;
    const answer = await send(address, token);
    const body = forPeople(await answer.json().catch(() => null));
    if (answer.ok && body !== null) return body;
    const pause = Number(answer.headers.get("retry-after") ?? "1");
    if (answer.status === 429 && attempt < TRIES && pause <= LONGEST_WAIT) {
      limit = over(Math.max(pause, 0.2));
      continue;
    }
    if (body?.error?.code === NOT_READY && attempt < TRIES) {
      await new Promise((resume) => setTimeout(resume, Math.min(5, Math.max(1, pause)) * 1000));
      continue;
    }
    const refusal = new Refusal(answer.status, body?.error ?? { code: `http_${answer.status}`, message: "The answer does not come from the API." }, pause);
    if (answer.status === 401 && token === key() && token !== null) signOut();
    throw refusal;
  }
}

/** An answer whose sentences have days in the page's format; the API writes them in ISO format. */
function forPeople(answer, prose = false) {
  for (const [name, value] of Object.entries(answer ?? {})) {
    if (typeof value === "string" && (prose || PROSE.has(name))) answer[name] = dated(value);
    else if (value !== null && typeof value === "object") forPeople(value, name === "withheld");
  }
  return answer;
}

/** Resolve when a limit ends; until then the page shows the remaining wait, and no call is made. */
async function over(seconds) {
  const end = showWait(Math.max(1, Math.ceil(seconds)));
  await new Promise((resume) => setTimeout(resume, seconds * 1000));
  end();
}

async function send(address, token) {
  try {
    return await fetch(address, {
      headers: { authorization: `Bearer ${token}` },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    const message = error instanceof TypeError && /header/i.test(error.message) ? "This is not a key: it has characters that no key has." : "The service does not answer.";
    throw new Refusal(0, { code: "no_answer", message });
  }
}

function turn() {
  running += 1;
  return running <= AT_ONCE ? Promise.resolve() : new Promise((resume) => queue.push(resume));
}

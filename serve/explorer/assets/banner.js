// Messages about the page as a whole: a service that does not answer, a key over its limit, a wait for a limit.

import { el } from "./dom.js";

export const banner = el("div", { class: "banner", id: "banner", role: "status", hidden: true });
const tries = new Set();
let failure = null;
let waits = 0;
let until = 0;
let timer = 0;

/** Whether every section would show the same failure. */
export const isPageWide = (error) => passes(error) || error.code === "run_not_allowed";

/** Whether a retry may help. */
const passes = (error) => error.status === 0 || error.status === 429 || (error.status >= 500 && error.code !== "neighbours_not_ready");

/** Show a failure once, however many sections meet it; one button retries all of them. */
export function report(error, again) {
  failure = error;
  if (again) tries.add(again);
  show();
}

/** Show that calls wait some seconds for a limit; return the function that ends the message. */
export function waiting(seconds) {
  waits += 1;
  until = Math.max(until, Date.now() + seconds * 1000);
  show();
  let over = false;
  return () => {
    if (over) return;
    over = true;
    waits -= 1;
    if (waits === 0) until = 0;
    show();
  };
}

export function clear() {
  failure = null;
  tries.clear();
  show();
}

function retry() {
  const all = [...tries];
  clear();
  for (const again of all) again();
}

function show() {
  clearTimeout(timer);
  banner.hidden = failure === null && waits === 0;
  banner.classList.toggle("failed", failure !== null);
  if (failure !== null) {
    banner.replaceChildren(
      el("p", {}, el("code", {}, failure.code), " ", failure.message),
      failure.requestId ? el("small", {}, `request ${failure.requestId}`) : "",
      passes(failure) ? el("button", { type: "button", class: "quiet", onclick: retry }, "Try again") : "");
  } else if (waits > 0) {
    const left = Math.max(1, Math.ceil((until - Date.now()) / 1000));
    banner.replaceChildren(el("p", {}, `The key is at its limit of calls: going on in ${left} ${left === 1 ? "second" : "seconds"}.`));
    timer = setTimeout(show, 1000);
  }
}

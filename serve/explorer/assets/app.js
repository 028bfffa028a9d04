// The frame of the page: sign-in, the address, the theme, and which view is shown.

import * as api from "./api.js";
import { alpha } from "./alpha.js";
import { catalogue } from "./catalogue.js";
import * as failures from "./banner.js";
import { el, field, refused } from "./dom.js";
import { failed, forgetCharts, repaint } from "./panel.js";

const main = document.getElementById("main");
main.before(failures.banner);
const crumbs = document.getElementById("crumbs");
const themeButton = document.getElementById("theme");
const out = document.getElementById("sign-out");
const who = document.getElementById("who");
let caller = null;
let shown = 0;

// ---- the address: #/, #/alphas/<alpha>?…, #/compare?… ----

function parsed() {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  return { parts, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** Write selections into the address, so that it can be shared; null removes a parameter. */
function remember(changes) {
  const [path, query = ""] = location.hash.replace(/^#/, "").split("?");
  const parameters = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") parameters.delete(name);
    else parameters.set(name, value);
  }
  const text = parameters.toString();
  history.replaceState(null, "", `${location.pathname}${location.search}#${path || "/"}${text ? `?${text}` : ""}`);
}

// ---- views ----

/** Show the view of the address; moved: the visitor comes from another view, so the focus goes to the top of this one. */
async function render(moved = false) {
  const mine = (shown += 1);
  const brought = api.takeKeyFromAddress();
  forgetCharts();
  failures.clear();
  if (brought !== null && !(await entered(brought))) return;
  if (api.key() === null) {
    signInForm();
    return;
  }
  try {
    caller ??= (await api.get("me")).data;
  } catch (error) {
    if (api.key() !== null) main.replaceChildren(failed(error, () => render()));
    return;
  }
  if (mine !== shown) return;
  who.textContent = caller.key_name;
  who.title = `key ${caller.key_id} of ${caller.email}`;
  out.hidden = false;
  const { parts, parameters } = parsed();
  const context = { caller, parameters, remember, main, crumbs: trail };
  main.replaceChildren();
  if (moved) main.focus({ preventScroll: true });
  scrollTo(0, 0);
  if (parts.length === 0) catalogue(context);
  else if (parts[0] === "alphas" && parts.length === 2) alpha(context, parts[1]);
  else if (parts[0] === "compare" && parts.length === 1) (await import("./compare.js")).compare(context);
  else {
    trail("No such page");
    main.replaceChildren(el("div", { class: "refused" }, el("p", {}, "There is no such page. "), el("a", { href: "#/" }, "To the catalogue")));
  }
  document.documentElement.dataset.ready = "true";
}

function trail(...names) {
  const shownNames = names.filter(Boolean);
  crumbs.replaceChildren(...shownNames.map((name, i) => (i === shownNames.length - 1
    ? el("span", { "aria-current": "page" }, name)
    : el("span", {}, el("a", { href: "#/" }, name)))));
  document.title = [...names.filter(Boolean).reverse(), "Alpha results"].join(" · ");
}

async function entered(token) {
  main.replaceChildren(el("p", { class: "loading" }, "Signing in …"));
  try {
    caller = await api.signIn(token.trim());
    return true;
  } catch (error) {
    signInForm(error);
    return false;
  }
}

function signInForm(error = null) {
  caller = null;
  who.textContent = "";
  out.hidden = true;
  trail();
  const input = el("input", {
    type: "password", id: "key", name: "key", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "about-key",
  });
  const form = el("form", {
    class: "sign-in", onsubmit: async (event) => {
      event.preventDefault();
      if (await entered(input.value)) render(true);
    },
  },
  el("h1", {}, "Sign in"),
  field("Key", input),
  el("p", { class: "fine", id: "about-key" }, "The key stays in this tab, until it is closed or you sign out; it is sent to this host alone, in a header."),
  error ? refused(error) : null,
  el("button", { type: "submit", class: "primary" }, "Sign in"));
  main.replaceChildren(form);
  document.documentElement.dataset.ready = "true";
  input.focus();
}

// ---- light and dark ----

const { dataset } = document.documentElement;
const other = () => (dataset.theme === "dark" ? "light" : "dark");

function switchTheme(theme) {
  dataset.theme = theme;
  nameTheme();
  repaint();
}

function nameTheme() {
  themeButton.textContent = other() === "dark" ? "Dark" : "Light";
  themeButton.setAttribute("aria-label", `Switch to the ${other()} theme`);
}

themeButton.addEventListener("click", () => {
  dataset.picked = other();
  try {
    localStorage.setItem("theme", dataset.picked);
  } catch {
    // Without storage, the theme lasts until the page is closed.
  }
  switchTheme(dataset.picked);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ({ matches }) => {
  if (!dataset.picked) switchTheme(matches ? "dark" : "light");
});

nameTheme();
out.addEventListener("click", api.signOut);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part after the # of the address selects the view
  main.focus();
});
api.whenSignedOut(() => {
  forgetCharts();
  signInForm();
});
addEventListener("hashchange", () => render(true));
render();

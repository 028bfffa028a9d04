// Every alpha that the key may read: search, order and bounds are those of the API.

import { get } from "./api.js";
import { dayText, shown } from "./charts.js";
import { choice, el, field, refill } from "./dom.js";
import { HEADLINES, decimals, fixed, mark, reasoned } from "./figures.js";
import { failed } from "./panel.js";

const ROWS = 50;
const PAUSE = 250;
const MOST_PICKED = 6;
const FALSE_DISCOVERY_RATE = 0.05;
/** Figures of the screen that the metrics lack. */
const SCREENED = [["t_stat", "t\u2011stat", "mean return"], ["q_value", "q\u2011value", "FDR"], ["haircut_sharpe", "Haircut Sharpe", "annualised"]];
const SHOWN = ["icir", "information_ratio", "excess_sharpe", "max_drawdown_pct", "turnover", ...SCREENED.map(([name]) => name)];

/** The audit verdict of an alpha, shown before the figures of its row. */
function checked({ notices, forward_returns_proven: proven, reproduced, stated, contradicted }) {
  const sealed = reproduced + stated + contradicted;
  return [
    el("span", { class: notices ? "status notice" : null }, notices === 1 ? "1 notice" : `${notices || "no"} notices`),
    el("small", {}, proven === null ? "no return checked" : `${Math.floor(100 * proven)}% of returns proven`),
    el("small", {}, sealed ? `${reproduced} of ${sealed} figures reproduced` : "no figure sealed")];
}

/** A sentence on how many of the alphas that the key may read may be luck; served as research.luck.catalogue. */
async function catalogueLuck() {
  const { data } = await get("luck");
  if (data.tested === 0) return "";
  const counts = data.discoveries.find(({ level }) => level === FALSE_DISCOVERY_RATE);
  const length = data.effective_backtest_length;
  return [
    `Mean return differs from 0 at a false-discovery rate of ${100 * FALSE_DISCOVERY_RATE}%: ${counts.benjamini_hochberg} of ${data.tested.toLocaleString("en-GB")} alphas (Benjamini-Hochberg), ${counts.benjamini_yekutieli} (Benjamini-Yekutieli), ${counts.bonferroni} (Bonferroni).`,
    `Effective number of uncorrelated alphas: ${data.effective_number === null ? `withheld, ${data.withheld.effective_number}` : shown(data.effective_number)}.`,
    length.years === null ? "" : `Minimum backtest length for as many: ${shown(length.years)} years.`,
  ].filter(Boolean).join(" ");
}

export function catalogue({ caller, parameters, remember, main, crumbs }) {
  crumbs("Catalogue");
  const state = {
    q: parameters.q ?? "",
    tag: parameters.tag ?? "",
    sort: parameters.sort ?? "",
    complete: parameters.complete === "1",
    page: Math.max(0, Number.parseInt(parameters.page ?? "0", 10) || 0),
    bounds: Object.fromEntries(Object.entries(parameters).filter(([name]) => /^(min|max)_/.test(name))),
    picked: new Set((parameters.pick ?? "").split(",").filter(Boolean)),
  };
  // Without the right to screen there is only the plain list in its own order; without figures, no order by them.
  const screens = caller.callable_endpoints.includes("research.screen");
  const withFigures = screens && caller.callable_endpoints.includes("performance.metrics");
  const columns = withFigures ? [...HEADLINES.filter(([name]) => SHOWN.includes(name)), ...SCREENED] : [];
  const judgesLuck = withFigures && caller.callable_endpoints.includes("research.luck.catalogue");
  const luckLine = el("p", { class: "fine", id: "catalogue-luck", hidden: !judgesLuck });
  const results = el("div", { id: "results", "aria-live": "polite" });
  const bar = el("div", { class: "pick-bar", hidden: true });
  let latest = 0;
  let timer = 0;

  function changed() {
    remember({
      q: state.q, tag: state.tag, sort: state.sort, complete: state.complete ? "1" : null, page: state.page || null,
      pick: [...state.picked].join(","),
      ...Object.fromEntries(SHOWN.flatMap((name) => [[`min_${name}`, state.bounds[`min_${name}`]], [`max_${name}`, state.bounds[`max_${name}`]]])),
    });
  }

  async function load() {
    const mine = (latest += 1);
    changed();
    results.setAttribute("aria-busy", "true");
    try {
      const plain = { search: state.q, complete_only: state.complete ? "1" : null, limit: ROWS, offset: state.page * ROWS };
      const answer = screens
        ? await get("screen", { ...plain, sort: state.sort, tag: state.tag, ...(withFigures ? { fields: SHOWN.join(",") } : {}), ...state.bounds })
        : await get("alphas", plain);
      if (mine === latest) refill(results, list(answer));
    } catch (error) {
      if (mine === latest) refill(results, [failed(error, load)]);
    } finally {
      if (mine === latest) results.setAttribute("aria-busy", "false");
    }
  }

  function soon() {
    clearTimeout(timer);
    state.page = 0;
    timer = setTimeout(load, PAUSE);
  }

  function list({ data, pagination }) {
    if (data.length === 0) {
      const filtered = state.q || state.tag || state.complete || Object.keys(state.bounds).length > 0;
      return [el("p", { class: "empty" }, filtered ? "No alpha matches. Loosen the search or the filters." : "No alphas: nothing is published yet that this key may read.")];
    }
    const first = pagination.offset + 1;
    const last = pagination.offset + data.length;
    const places = Object.fromEntries(columns.map(([name]) => [name, decimals(data.map((one) => one.figures?.[name]))]));
    return [
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Alphas" },
        el("table", { class: "catalogue" },
          el("caption", { class: "unseen" }, "Alphas"),
          el("thead", {}, el("tr", {},
            el("th", { scope: "col" }, el("span", { class: "unseen" }, "Compare")),
            head("name", "Alpha", null), withFigures ? el("th", { scope: "col" }, "Checked") : null, columns.map(([name, title, unit]) => head(name, title, unit)), screens ? head("published_at", "Published", null) : null)),
          el("tbody", {}, data.map((one) => row(one, places))))),
      el("div", { class: "pages" },
        el("span", {}, `${first}–${last} of ${pagination.total}`),
        el("button", { type: "button", class: "quiet", disabled: state.page === 0, onclick: () => turn(-1) }, "Previous"),
        el("button", { type: "button", class: "quiet", disabled: last >= pagination.total, onclick: () => turn(1) }, "Next")),
    ];
  }

  function turn(by) {
    state.page += by;
    load();
  }

  function head(name, title, unit) {
    if (!screens) return el("th", { scope: "col" }, title);
    const now = state.sort === name ? "ascending" : state.sort === `-${name}` ? "descending" : "none";
    return el("th", { scope: "col", "aria-sort": now, class: unit === null ? null : "number" },
      el("button", {
        type: "button", class: "sort", id: `sort-${name}`, "data-sort": name, onclick: () => {
          const firstWay = unit === null && name === "name" ? name : `-${name}`;
          const otherWay = firstWay === name ? `-${name}` : name;
          state.sort = state.sort === firstWay ? otherWay : state.sort === otherWay ? "" : firstWay;
          state.page = 0;
          order.querySelector("select").value = state.sort;
          load();
        },
      }, title, el("span", { class: "arrow", "aria-hidden": "true" }, { ascending: " ↑", descending: " ↓", none: "" }[now])),
      unit ? el("small", {}, unit) : null);
  }

  function row(one, places) {
    const box = el("input", {
      type: "checkbox", "aria-label": `Compare ${one.name}`, checked: state.picked.has(one.alpha_id),
      onchange: () => {
        if (box.checked) state.picked.add(one.alpha_id);
        else state.picked.delete(one.alpha_id);
        changed();
        showPicked();
      },
    });
    return el("tr", { "data-alpha": one.alpha_id },
      el("td", {}, box),
      el("td", { class: "what" },
        el("a", { href: `#/alphas/${encodeURIComponent(one.alpha_id)}` }, one.name),
        one.name === one.alpha_id ? null : [" ", el("code", {}, one.alpha_id)],
        one.tldr ? el("p", {}, one.tldr) : null),
      withFigures ? el("td", { class: "checked", "data-title": "Checked", "data-notices": one.checked?.notices }, one.checked ? checked(one.checked) : "–") : null,
      columns.map(([name, title, unit]) => {
        const value = one.figures?.[name];
        const reason = one.withheld?.[name];
        return el("td", { class: "number", "data-figure": name, "data-value": value ?? null, "data-title": `${title}, ${unit}` },
          value === null || value === undefined ? (reason ? reasoned("withheld", reason) : "–") : [fixed(value, places[name]), mark(one.figures_checked?.[name])]);
      }),
      screens ? el("td", { "data-title": "Published" }, dayText(one.published_at)) : null);
  }

  function showPicked() {
    const many = state.picked.size;
    bar.hidden = many === 0;
    const fits = many >= 2 && many <= MOST_PICKED;
    bar.replaceChildren(
      el("span", {}, fits ? `${many} alphas picked` : many < 2 ? "Pick one more to compare" : `Pick at most ${MOST_PICKED}`),
      el("button", { type: "button", class: "quiet", onclick: clear }, "Clear"),
      el("button", {
        type: "button", class: "primary", disabled: !fits,
        onclick: () => { location.hash = `#/compare?alphas=${[...state.picked].map(encodeURIComponent).join(",")}`; },
      }, "Compare"));
  }

  /** Clear the selection; the bar disappears, and the focus goes to a box that was selected. */
  function clear() {
    (results.querySelector("td :checked") ?? results.querySelector(".scroll"))?.focus();
    state.picked.clear();
    showPicked();
    load();
  }

  const orders = [["", "latest started first"], ["name", "name"], ["-published_at", "published, latest first"],
    ...columns.flatMap(([name, title]) => [[`-${name}`, `${title}, highest first`], [name, `${title}, lowest first`]])];
  const order = choice("Order", orders, state.sort, (sort) => { state.sort = sort; state.page = 0; load(); });
  order.classList.add("order");
  const search = el("input", { type: "search", value: state.q, placeholder: "Name, address or thesis", oninput: () => { state.q = search.value; soon(); } });
  const tag = el("input", { type: "search", value: state.tag, placeholder: "such as momentum", oninput: () => { state.tag = tag.value.trim(); soon(); } });
  const complete = el("input", { type: "checkbox", checked: state.complete, onchange: () => { state.complete = complete.checked; soon(); } });
  const bound = (side, name, title) => {
    const control = el("input", {
      type: "number", step: "any", value: state.bounds[`${side}_${name}`] ?? null, "aria-label": `${side === "min" ? "Least" : "Most"} ${title}`, placeholder: side,
      oninput: () => {
        if (control.value === "") delete state.bounds[`${side}_${name}`];
        else state.bounds[`${side}_${name}`] = control.value;
        soon();
      },
    });
    return control;
  };
  main.append(
    el("h1", {}, "Alphas"),
    el("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      field("Search", search),
      screens ? field("Tag", tag) : null,
      screens ? order : null,
      columns.length === 0 ? null : el("details", { class: "bounds", open: Object.keys(state.bounds).length > 0 },
        el("summary", {}, "Filter by figures"),
        el("div", {}, columns.map(([name, title, unit]) =>
          el("fieldset", {}, el("legend", {}, title, el("small", {}, unit)), bound("min", name, title), bound("max", name, title))))),
      el("label", { class: "tick" }, complete, " complete runs only")),
    luckLine,
    withFigures ? "" : el("p", { class: "fine" }, "This key may not read figures (research.screen and performance.metrics): the list is without them."),
    results, bar);
  showPicked();
  return Promise.all([load(), judgesLuck ? catalogueLuck().then((text) => luckLine.replaceChildren(text), (error) => luckLine.replaceChildren(`Multiple testing: ${error.message}`)) : null]);
}

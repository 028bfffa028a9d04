// One alpha: its audit, its headline figures, and the sections below them.

import { all, get } from "./api.js";
import * as charts from "./charts.js";
import { Unavailable, choice, dayInput, el, field, refused, segments } from "./dom.js";
import { book } from "./alpha_book.js";
import { costs, exposures, family, legs, regimes, returns, risk } from "./alpha_returns.js";
import { signal } from "./alpha_signal.js";
import { about, luck, neighbours } from "./alpha_texts.js";
import { audit, verdict } from "./audit.js";
import { asPercent } from "./figures.js";
import { conclusions, headlines } from "./headline_tiles.js";
import { panel } from "./panel.js";

const RANGES = [["1", "1Y"], ["3", "3Y"], ["ytd", "YTD"], ["all", "All"]];
const BOOKS = ["long_short", "long_only"];
const PATIENCE = 4000;
const NO_ALPHA = "alpha_not_found";
/** Sections in order: name, and label in the navigation bar if it has one. */
const ORDER = [
  ["ic", "Signal"], ["buckets"], ["delay"], ["deciles"], ["terms"], ["persistence"], ["turnover", "Trading"], ["exposure"], ["daily", "Returns"], ["years", "Years"], ["months"],
  ["tails", "Risk"], ["costs", "Costs"], ["rolling"], ["drawdowns"], ["exposures", "Beta"], ["beta"], ["luck", "Luck"], ["regimes", "Regimes"], ["legs", "Legs"], ["names", "Names"],
  ["week", "Week"], ["near", "Neighbours"], ["about", "Description"], ["audit", "Audit"],
];
const WINDOWED = ["equity", "ic", "deciles", "terms", "persistence", "turnover", "exposure", "months", "daily", "names", "years", "luck", "near", "audit", "exposures", "beta", "regimes"];
const OF_BOOK = ["equity", "turnover", "exposure", "months", "daily", "rolling", "drawdowns", "tails", "costs", "names", "week", "luck", "near", "exposures", "beta", "regimes", "legs"];
/** Sections that are folded at first; those opened stay open for the next alpha. */
const opened = new Set();

export function alpha(page, id) {
  const { caller, parameters, remember, main, crumbs } = page;
  const path = `alphas/${encodeURIComponent(id)}`;
  crumbs("Catalogue", id);
  const state = {
    book: parameters.book ?? "long_short",
    from: parameters.from ?? "",
    to: parameters.to ?? "",
    benchmark: parameters.benchmark ?? null,
    log: parameters.log === "1",
    span: parameters.span ?? "26",
    names: parameters.names ?? "31",
    week: parameters.week ?? "",
    side: parameters.side ?? "held",
    near: parameters.near ?? "returns",
  };
  const window = () => ({ from: state.from, to: state.to });
  const metrics = () => get(`${path}/metrics`, { panel: "1", granularity: "yearly", ...window() });
  const curve = () => all(`${path}/equity-curve`, { book: state.book, ...window() });
  const [riskServed, costsServed, legsServed] = ["risk", "costs", "concentration"].map((name) => family({ caller, path, state }, name));
  const signalServed = caller.callable_endpoints.includes("research.signal") ? () => get(`${path}/signal`) : null;
  const sections = {};
  for (const name of (parameters.open ?? "").split(",").filter(Boolean)) opened.add(name);
  const rememberOpened = () => remember({ open: [...opened].join(",") });
  rememberOpened();
  const fold = (name) => ({
    open: opened.has(name),
    toggled(open) {
      if (open) opened.add(name);
      else opened.delete(name);
      rememberOpened();
    },
  });

  /** Write a selection into the address, and reload what depends on it. */
  function pick(changes, ...names) {
    Object.assign(state, changes);
    remember(Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value === true ? "1" : value === false ? null : value])));
    for (const name of names) sections[name]?.reload();
  }

  const some = (list) => {
    if (list.length === 0) throw new Unavailable(state.from || state.to ? "there are no data in this window; widen it." : "the run holds no data of this.");
    return list;
  };

  // ---- book, window and benchmark ----

  const from = dayInput(state.from, () => pickWindow(from.value, to.value));
  const to = dayInput(state.to, () => pickWindow(from.value, to.value));
  const ranges = segments("Range", RANGES, state.from || state.to ? "" : "all", pickRange);

  function pickWindow(first, last) {
    from.value = first;
    to.value = last;
    for (const button of ranges.children) button.setAttribute("aria-pressed", String(button.dataset.value === "all" && !first && !last));
    pick({ from: first, to: last }, ...WINDOWED);
    top.load();
  }

  /** A range ends with the last session of the run. */
  async function pickRange(range) {
    if (range === "all") {
      pickWindow("", "");
      return;
    }
    const end = await all(`${path}/equity-curve`, { book: state.book }).then(({ meta }) => meta.summary.last_date, () => null);
    if (end === null) return; // the equity section shows the refusal
    const year = Number(end.slice(0, 4));
    pickWindow(range === "ytd" ? `${year}-01-01` : charts.isoDay(new Date(year - Number(range), Number(end.slice(5, 7)) - 1, Number(end.slice(8)) + 1)), "");
    for (const button of ranges.children) button.setAttribute("aria-pressed", String(button.dataset.value === range));
  }

  const books = choice("Book", [...new Set([...BOOKS, state.book])].map((name) => [name, name]), state.book, (name) => {
    pick({ book: name }, ...OF_BOOK);
    top.load();
  });
  for (const event of ["pointerenter", "focusin"]) books.addEventListener(event, listBooks, { once: true });

  /** The run's own books, loaded when the visitor is about to pick one. */
  async function listBooks() {
    const rows = await get(`${path}/books`, { limit: 1000 }).then(({ data }) => data, () => []);
    const select = books.querySelector("select");
    const listed = [...select.options].map((option) => option.value);
    const more = [...new Set(rows.filter((row) => row.kind === "portfolio").map((row) => row.book))].filter((name) => !listed.includes(name));
    select.append(...more.map((name) => el("option", { value: name }, name)));
  }

  const benchmarks = choice("Benchmark", [["none", "none"]], "none", (benchmark) => {
    pick({ benchmark }, "equity");
    findings.load();
  });

  /** Prices are drawn along with the book if they cover all its sessions, unless another benchmark was picked. */
  async function loadBenchmarks() {
    const served = caller.callable_endpoints.includes("research.benchmarks");
    const rows = served ? await get("benchmarks", { limit: 100 }).then(({ data }) => data, () => []) : state.benchmark ? [{ symbol: state.benchmark }] : [];
    if (rows.length === 0) return;
    const { first_date: first, last_date: last } = await curve().then(({ meta }) => meta.summary, () => ({}));
    state.benchmark ??= rows.find((one) => first && one.first_date <= first && one.last_date >= last)?.symbol ?? "none";
    const select = benchmarks.querySelector("select");
    select.append(...rows.filter(({ symbol }) => symbol !== "none").map((one) => el("option", { value: one.symbol }, one.simulated ? `${one.symbol} (simulated)` : one.symbol)));
    select.value = state.benchmark;
  }

  /** Growth of the benchmark per session, from the close before the first one, as a book grows from its opening equity. */
  async function besideCurve(rows) {
    await ready;
    if (rows.length === 0 || !state.benchmark || state.benchmark === "none") return null;
    const prices = await all(`benchmarks/${encodeURIComponent(state.benchmark)}/daily`, { from: rows[0].date, to: rows.at(-1).date });
    const { previous_date: since, first_return: first, total_return_from_previous: total } = prices.meta.summary;
    const points = prices.rows.map((row) => ({ date: row.date, growth: (1 + (first ?? 0)) * (1 + row.cumulative_return) }));
    const note = since
      ? `${state.benchmark} from its close of ${charts.dayText(since)}, the session before: total return ${asPercent(total)}.`
      : points.length ? `The market data hold no close of ${state.benchmark} before ${charts.dayText(points[0].date)}: its return of that session is left out.` : `The market data hold no price of ${state.benchmark} in these sessions.`;
    return { symbol: state.benchmark, points, note: el("p", { class: "fine", id: "benchmark-summary", "data-total-return": total }, note) };
  }

  // ---- sections ----

  sections.equity = panel("Equity and drawdown", {
    id: "equity", file: `${id}-equity`, tall: true, room: 2,
    controls: [segments("Scale", [["", "Linear"], ["1", "Log"]], state.log ? "1" : "", (log) => pick({ log: log === "1" }, "equity"))],
    load: async () => {
      const { rows, meta } = await curve();
      some(rows);
      let benchmark = null;
      const notes = [summary(meta.summary)];
      try {
        benchmark = await besideCurve(rows);
        if (benchmark) notes.push(benchmark.note);
      } catch (error) {
        notes.push(refused(error));
      }
      return { chart: (theme) => charts.equity({ book: state.book, rows, benchmark, log: state.log }, theme), notes, zoom: pickWindow };
    },
  });

  function summary({ sessions, first_date: first, last_date: last, total_return: total, max_drawdown_pct: deepest }) {
    return el("p", { class: "fine", id: "equity-summary", "data-total-return": total, "data-max-drawdown-pct": deepest },
      `${charts.counted(sessions, "session")}, ${charts.dayText(first)} to ${charts.dayText(last)}: total return ${asPercent(total)}, deepest drawdown ${charts.shown(deepest)}%. Drag over the chart to zoom.`);
  }

  const head = el("div", { class: "alpha-head" }, el("h1", {}, id));
  const context = { caller, path, id, state, pick, fold, metrics, curve, window, some, head, sections, zoom: (first, last) => pickWindow(first, last) };
  Object.assign(sections, signal(context), book(context), returns(context), exposures(context), luck(context), regimes(context), neighbours(context), about(context), audit(context));
  if (riskServed) Object.assign(sections, risk({ id, load: riskServed }));
  if (costsServed) Object.assign(sections, costs({ id, load: costsServed }));
  if (legsServed) Object.assign(sections, legs({ id, fold, load: legsServed }));
  const checked = verdict(context);
  const figures = headlines({ state, metrics, risk: riskServed });
  const findings = conclusions({ state, metrics, curve, benchmark: besideCurve, signal: signalServed, costs: costsServed });
  const top = { load: () => Promise.all([figures.load(), findings.load()]) };
  const shownSections = ORDER.filter(([name]) => sections[name]);
  const bar = el("div", { class: "section-bar" },
    el("nav", { "aria-label": "Sections" }, [["equity", "Equity"], ...shownSections].filter(([, word]) => word).map(([name, word]) =>
      el("button", { type: "button", class: "link", onclick: sections[name].show }, word))),
    ranges);
  const toolbar = el("div", { class: "toolbar", role: "group", "aria-label": "Book and window" }, books, benchmarks, field("From", from), field("To", to),
    el("button", { type: "button", class: "quiet", onclick: () => pickWindow("", "") }, "Whole run"));

  const skeleton = el("div", { class: "skeleton-page", "aria-busy": "true" }, el("h1", {}, id), el("p", { class: "loading" }, "Loading …"));
  main.append(skeleton);
  get(path).catch((error) => {
    if (error.code === NO_ALPHA && (skeleton.isConnected || head.isConnected)) main.replaceChildren(refused(error), el("a", { href: "#/" }, "To the catalogue"));
  });
  if (!parameters.book) {
    // A run without a book long_short opens with the first that it has.
    curve().catch(({ available }) => {
      if (!available?.length || !(skeleton.isConnected || head.isConnected)) return;
      main.replaceChildren();
      alpha({ ...page, parameters: { ...parameters, book: available[0] } }, id);
    });
  }
  const ready = loadBenchmarks();
  // What is seen first is requested first and shown at once, so that nothing moves while the visitor reads.
  const first = Promise.all([sections.about.head(), checked.load(), figures.load(), findings.load()]);
  return Promise.race([first, new Promise((resume) => setTimeout(resume, PATIENCE))]).then(() => {
    if (!skeleton.isConnected) return null; // another view is shown by now
    for (const part of [head, checked.node, findings.list, figures.tiles]) part.classList.add("arriving");
    main.replaceChildren(head, checked.node, findings.list, toolbar, bar,
      el("div", { class: "overview" }, sections.equity.node, el("div", { class: "beside" }, figures.describes, figures.tiles)),
      el("div", { class: "panels" }, shownSections.map(([name]) => sections[name].node)));
    return Promise.all([first, sections.equity.reload(), ...shownSections.map(([name]) => sections[name].reload())]);
  });
}

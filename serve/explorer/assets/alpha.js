// One alpha: its figures, charts, book of a week and description.

import { all, get, noted } from "./api.js";
import * as charts from "./charts.js";
import { choice, el, field, refused, segments, table } from "./dom.js";
import { about, beside, luck } from "./alpha_texts.js";
import { audit, verdict } from "./audit.js";
import { HEADLINES, asPercent, headlineColumns, numbers, ofWindow, percentages, standing, unitOf, written } from "./figures.js";
import { failed, panel } from "./panel.js";

const SPANS = [["13", "13 weeks"], ["26", "26 weeks"], ["52", "52 weeks"]];
const NAME_WINDOWS = [["31", "month"], ["92", "quarter"], ["366", "year"], ["all", "window"]];
const PAGES_OF_NAMES = 12;
const BEFORE_SMOOTHING = "Signal before smoothing.";
const SIDES = [["held", "Held"], ["long", "Long"], ["short", "Short"], ["all", "All scored"]];

export function alpha({ caller, parameters, remember, main, crumbs }, id) {
  const path = `alphas/${encodeURIComponent(id)}`;
  crumbs("Catalogue", id);
  const state = {
    book: parameters.book ?? "long_short",
    from: parameters.from ?? "",
    to: parameters.to ?? "",
    benchmark: parameters.benchmark ?? null,
    log: parameters.log === "1",
    span: parameters.span ?? "26",
    names: parameters.names ?? "92",
    week: parameters.week ?? "",
    side: parameters.side ?? "held",
    near: parameters.near ?? "returns",
  };
  const window = () => ({ from: state.from, to: state.to });
  const metrics = () => get(`${path}/metrics`, { panel: "1", granularity: "yearly", ...window() });
  const curve = () => all(`${path}/equity-curve`, { book: state.book, ...window() });
  const named = (what) => `${id}-${what}`;
  const sections = {};

  /** Take a pick into the address, and load again what depends on it. */
  function pick(changes, ...names) {
    Object.assign(state, changes);
    remember(Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value === true ? "1" : value === false ? null : value])));
    for (const name of names) sections[name].reload();
  }

  const WINDOWED = ["equity", "ic", "deciles", "terms", "persistence", "turnover", "exposures", "names", "years", "luck", "near"];

  // ---- top: who it is, and the headline figures ----

  const head = el("div", { class: "alpha-head" }, el("h1", {}, id));
  const describes = el("p", { class: "fine", id: "headlines-of" }, "Headline figures");
  const tiles = el("div", { class: "tiles", id: "headlines", "aria-busy": "true" });

  async function loadTiles() {
    try {
      const { data, meta } = await metrics();
      const figures = ofWindow(data);
      const entries = [...HEADLINES.map(([name, title]) => [name, title, figures.core[name]]), ["hit_rate", "Weeks with IC above 0", figures.rank_ic?.conditioned?.hit_rate]];
      const days = data.within_window ? `${state.from || "the first session"} to ${state.to || "the last"}` : "the whole run";
      describes.textContent = `Headline figures: book long_short, ${days}.${state.book === "long_short" ? "" : ` Charts and tables below: book ${state.book}.`}`;
      tiles.replaceChildren(
        ...entries.filter(([, , entry]) => entry).map(([name, title, entry]) => tile(name, title, entry)),
        testTile(data, noted(meta)),
        data.core.tenure ? el("div", { class: "tile" },
          el("span", { class: "label" }, "Record"), el("strong", {}, `${charts.shown(data.core.tenure.years)} years`),
          el("span", { class: "fine" }, `${data.core.tenure.first_rebalance} to ${data.core.tenure.last_rebalance}`)) : "");
    } catch (error) {
      tiles.replaceChildren(failed(error, loadTiles));
    }
    tiles.setAttribute("aria-busy", "false");
  }

  /** The test of the mean IC; where it is withheld, that of the signal before smoothing, and why. */
  function testTile(data, warnings) {
    const { ic } = ofWindow(data).nwt;
    const test = ic ?? data.nwt.ic_score_panel;
    if (!test) return "";
    const name = ic ? "ic" : "ic_score_panel";
    const block = data.within_window ? "within_window.nwt.ic" : "nwt.ic";
    const why = ic ? "" : warnings.find((one) => one.block === block)?.message;
    return el("div", { class: "tile", "data-figure": `nwt.${name}.t_stat`, "data-value": test.t_stat },
      el("span", { class: "label" }, ic ? "t of the mean IC" : "t of the mean IC, signal before smoothing"),
      el("strong", {}, charts.shown(test.t_stat)),
      el("span", { class: "fine" }, `Newey-West, ${test.lag} lags, ${test.n} weeks, p ${charts.shown(test.p_value, 2)}`),
      why ? el("span", { class: "fine" }, `That of the delivered score is withheld: ${why}`) : null);
  }

  function tile(name, title, entry) {
    return el("div", { class: "tile", "data-figure": name, "data-value": entry.value },
      el("span", { class: "label" }, title),
      entry.value === null
        ? el("strong", { class: "withheld" }, "withheld")
        : el("strong", { title: String(entry.value) }, written(entry.value, entry.unit)),
      el("span", { class: "fine" }, entry.value === null ? entry.withheld_reason : [unitOf(entry).replace(/^%(, )?/, ""), standing(entry)].filter(Boolean).join(" · ")));
  }

  // ---- controls that hold for the whole page ----

  const bookBox = el("span");
  const benchmarkBox = el("span");
  const from = el("input", { type: "date", value: state.from || null, onchange: windowChanged });
  const to = el("input", { type: "date", value: state.to || null, onchange: windowChanged });

  function windowChanged() {
    pick({ from: from.value, to: to.value }, ...WINDOWED.filter((name) => sections[name]));
    loadTiles();
  }

  const toolbar = el("div", { class: "toolbar", role: "group", "aria-label": "Book and window" }, bookBox, field("From", from), field("To", to),
    el("button", { type: "button", class: "quiet", onclick: () => { from.value = to.value = ""; windowChanged(); } }, "Whole run"), benchmarkBox);

  async function loadBooks() {
    const names = await get(`${path}/books`, { limit: 1000 })
      .then(({ data }) => [...new Set(data.filter((row) => row.kind === "portfolio").map((row) => row.book))])
      .catch(() => []); // the sections that need a book say what is refused
    if (!names.includes(state.book)) names.unshift(state.book);
    bookBox.replaceChildren(choice("Book", names.map((name) => [name, name]), state.book, (book) =>
      pickBook(book, ["equity", "turnover", "exposures", "names", "week", "luck", "near"].filter((name) => sections[name]))));
  }

  function pickBook(book, names) {
    pick({ book }, ...names);
    loadTiles();
  }

  async function benchmarks() {
    if (!caller.callable_endpoints.includes("research.benchmarks")) return state.benchmark ? [{ symbol: state.benchmark }] : [];
    const found = await get("benchmarks", { limit: 100 }).catch(() => ({ data: [] }));
    return found.data;
  }

  async function loadBenchmarks() {
    const found = await benchmarks();
    if (found.length === 0) return;
    state.benchmark ??= await covering(found);
    benchmarkBox.replaceChildren(choice("Benchmark", [["none", "none"], ...found.map((one) => [one.symbol, one.simulated ? `${one.symbol} (simulated)` : one.symbol])], state.benchmark, (benchmark) =>
      pick({ benchmark }, "equity")));
  }

  /** The first benchmark with prices over all sessions that are shown; none where there is no such. */
  async function covering(found) {
    const { first_date: first, last_date: last } = await curve().then(({ meta }) => meta.summary, () => ({}));
    return found.find((one) => first && one.first_date <= first && one.last_date >= last)?.symbol ?? "none";
  }

  /** Growth of the benchmark at each session from the close before the first one, as a book grows from the equity it opened with. */
  async function besideCurve(rows) {
    await ready;
    if (rows.length === 0 || !state.benchmark || state.benchmark === "none") return null;
    const found = await all(`benchmarks/${encodeURIComponent(state.benchmark)}/daily`, { from: rows[0].date, to: rows.at(-1).date });
    const { previous_date: since, first_return: first, total_return_from_previous: total } = found.meta.summary;
    const points = found.rows.map((row) => ({ date: row.date, growth: (1 + (first ?? 0)) * (1 + row.cumulative_return) }));
    const note = since
      ? `${state.benchmark} from its close of ${since}, the session before: total return ${asPercent(total)}.`
      : points.length ? `The market data hold no close of ${state.benchmark} before ${points[0].date}: its return of that session is left out.` : `The market data hold no price of ${state.benchmark} in these sessions.`;
    return { symbol: state.benchmark, points, note: el("p", { class: "fine", id: "benchmark-summary", "data-total-return": total }, note) };
  }

  // ---- sections ----

  const needed = (block, warnings, name) => {
    if (block) return block;
    const said = (warnings ?? []).find((one) => one.block === name);
    throw Object.assign(new Error(said?.message ?? "The run holds nothing of it."), { code: said?.code ?? "withheld" });
  };
  const some = (list) => {
    if (list.length === 0) throw Object.assign(new Error("The window holds nothing of it: widen it."), { code: "insufficient_data" });
    return list;
  };
  const fromMetrics = (make) => async () => {
    const { data, meta } = await metrics();
    return make(data, noted(meta));
  };

  sections.equity = panel("Equity and drawdown", {
    id: "equity", file: named("equity"), tall: true, wide: true,
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
      return { chart: (theme) => charts.equity({ book: state.book, rows, benchmark, log: state.log }, theme), notes };
    },
  });

  function summary(found) {
    return el("p", { class: "fine", id: "equity-summary", "data-total-return": found.total_return, "data-max-drawdown-pct": found.max_drawdown_pct },
      `${found.sessions} sessions, ${found.first_date} to ${found.last_date}: total return ${asPercent(found.total_return)}, deepest drawdown ${charts.shown(found.max_drawdown_pct)} %.`);
  }

  sections.ic = panel("Weekly information coefficient", {
    id: "ic", file: named("weekly-ic"), tall: true, wide: true,
    controls: [segments("Weeks of the rolling mean", SPANS, state.span, (span) => pick({ span }, "ic"))],
    load: fromMetrics((data, warnings) => {
      const weekly = some(needed(data.panel, warnings, "panel").ic_weekly);
      const test = ofWindow(data).nwt.ic;
      const over = data.within_window ? "Mean of the window" : undefined;
      const block = data.within_window ? "within_window.nwt.ic" : "nwt.ic";
      const notes = test
        ? [el("p", { class: "fine", id: "ic-test", "data-mean": test.mean, "data-standard-error": test.standard_error },
          `${data.within_window ? "Window" : "Whole run"}: mean ${charts.shown(test.mean)}, Newey-West standard error ${charts.shown(test.standard_error)} (${test.lag} lags), t ${charts.shown(test.t_stat)}, p ${charts.shown(test.p_value, 2)}.`)]
        : [el("p", { class: "fine" }, (warnings ?? []).find((one) => one.block === block)?.message ?? "")];
      return { chart: (theme) => charts.weeklyIc({ weekly, span: Number(state.span), test, over }, theme), notes };
    }),
  });
  sections.deciles = panel("Deciles", {
    id: "deciles", file: named("deciles"), about: BEFORE_SMOOTHING,
    load: fromMetrics((data, warnings) => {
      const found = needed(data.ic_deciles, warnings, "ic_deciles");
      const steady = found.monotonicity.spearman_bucket_vs_mean_forward_return;
      return {
        chart: (theme) => charts.deciles({ buckets: some(found.buckets) }, theme),
        notes: [el("p", { class: "fine" }, `${found.weeks} weeks; top less bottom ${asPercent(found.monotonicity.top_minus_bottom)} a week; rank correlation of bucket and return ${charts.shown(steady)}.`)],
      };
    }),
  });
  sections.terms = panel("Term structure", {
    id: "term-structure", file: named("term-structure"), about: BEFORE_SMOOTHING,
    load: fromMetrics((data, warnings) => {
      const points = some(needed(data.panel, warnings, "panel").ic_term_structure);
      return { chart: (theme) => charts.termStructure({ points }, theme) };
    }),
  });
  sections.persistence = panel("Persistence of the ranking", {
    id: "persistence", file: named("rank-autocorrelation"), about: BEFORE_SMOOTHING,
    load: fromMetrics((data, warnings) => {
      const points = some(needed(data.panel, warnings, "panel").rank_autocorrelation);
      return { chart: (theme) => charts.rankAutocorrelation({ points }, theme) };
    }),
  });
  sections.turnover = panel("Turnover", {
    id: "turnover", file: named("turnover"),
    load: async () => {
      const rows = some((await curve()).rows);
      return { chart: (theme) => charts.turnover({ rows }, theme) };
    },
  });
  sections.exposures = panel("Exposures", {
    id: "exposures", file: named("exposures"),
    load: async () => {
      const rows = some((await curve()).rows);
      return { chart: (theme) => charts.exposures({ rows }, theme) };
    },
  });

  sections.names = panel("Best and worst names", {
    id: "names", file: named("names"), tall: true,
    controls: [segments("Over the last", NAME_WINDOWS, state.names, (names) => pick({ names }, "names"))],
    load: async () => {
      const { meta } = await curve();
      const { first_date: first, last_date: last } = meta.summary;
      if (last === null) some([]);
      const start = new Date(charts.day(last));
      start.setDate(start.getDate() - Number(state.names));
      const begin = state.names === "all" ? first : [charts.isoDay(start), first].sort().at(-1);
      const found = await all(`${path}/pnl`, { book: state.book, from: begin, to: last }, PAGES_OF_NAMES);
      if (found === null) throw Object.assign(new Error("These days have too many rows to be summed here: take a shorter span."), { code: "too_many_rows" });
      const sums = new Map();
      for (const row of found.rows) sums.set(row.symbol, (sums.get(row.symbol) ?? 0) + row.net_pnl);
      const names = some([...sums].map(([symbol, net_pnl]) => ({ symbol, net_pnl })));
      return {
        chart: (theme) => charts.bestAndWorst({ names }, theme),
        notes: [el("p", { class: "fine" }, `${names.length} names, ${begin} to ${last}; market profit less the costs of fills and of borrowing.`)],
      };
    },
  });

  sections.week = panel("The week's book", {
    id: "week", file: named("week"), wide: true,
    controls: [segments("Names", SIDES, state.side, (side) => pick({ side }, "week"))],
    load: async () => {
      const { rows: index } = await all(`${path}/rebalances`);
      some(index);
      const at = Math.max(0, state.week ? index.findIndex((one) => one.date === state.week) : lastTraded(index));
      const { date } = index[at];
      const book = state.book.endsWith("long_only") ? "long_only" : "long_short";
      const column = `${book}_target_weight`;
      const filter = { held: { min_abs_weight: "0.000000001" }, long: { min_abs_weight: "0.000000001", direction: "long" }, short: { min_abs_weight: "0.000000001", direction: "short" }, all: {} }[state.side];
      const { rows, meta } = await all(`${path}/rebalances/${date}`, { book, sort: state.side === "all" ? "score" : "weight", ...filter });
      const to = (step) => pick({ week: index[at + step].date }, "week");
      const chooser = el("div", { class: "controls" },
        el("button", { type: "button", class: "quiet", disabled: at === 0, "aria-label": "The week before", onclick: () => to(-1) }, "‹"),
        choice("Week", index.map((one) => [one.date, `${one.date}${one.week_status === "traded" ? "" : ` · ${one.week_status}`}`]).reverse(), date, (week) => pick({ week }, "week")),
        el("button", { type: "button", class: "quiet", disabled: at === index.length - 1, "aria-label": "The week after", onclick: () => to(1) }, "›"),
        el("span", { class: "fine" }, `${rows.length} of ${meta.n_symbols} names · weights of ${book} · week ${meta.week_status}`));
      const columns = [
        { title: "Name", make: (row) => row.symbol, by: (row) => row.symbol },
        percentages("Target weight", "% of equity", rows, (row) => row[column]),
        numbers("Score", "score units", rows, (row) => row.score),
        numbers("z", "standard deviations", rows, (row) => row.score_z),
        numbers("Rank", "1 is strongest", rows, (row) => row.average_rank),
        percentages("Forward return", "%", rows, (row) => row.forward_return),
        { title: "Tradeable", make: (row) => (row.next_open_tradeable ? "yes" : row.unavailability_reason ?? "no") },
      ];
      return {
        content: el("div", {}, chooser, rows.length ? table(`Names of the week ${date}`, columns, rows) : el("p", { class: "empty" }, "No name of this week is in the book.")),
        data: {
          columns: ["symbol", `${column} (ratio)`, "score (score units)", "score_z (standard deviations)", "average_rank (rank)", "forward_return (ratio)", "next_open_tradeable", "unavailability_reason"],
          rows: rows.map((row) => [row.symbol, row[column], row.score, row.score_z, row.average_rank, row.forward_return, row.next_open_tradeable, row.unavailability_reason]),
        },
      };
    },
  });

  sections.years = panel("By year", {
    id: "years", file: named("years"), wide: true,
    load: fromMetrics((data) => {
      const periods = some(ofWindow(data).periods ?? []);
      const columns = [{ title: "Year", make: (row) => row.period }, ...headlineColumns(periods, (row, name) => row.core[name])];
      return {
        content: table("Figures by year", columns, periods),
        data: { columns: ["year", ...HEADLINES.map(([name]) => name)], rows: periods.map((row) => [row.period, ...HEADLINES.map(([name]) => row.core[name].value)]) },
      };
    }),
  });

  const context = { caller, path, id, state, pick, metrics, window, head, sections };
  Object.assign(sections, luck(context), beside(context), about(context), audit(context));
  const top = verdict(context);

  const order = ["equity", "ic", "deciles", "terms", "persistence", "turnover", "exposures", "names", "week", "years", "luck", "near", "about", "audit"];
  main.append(head, top.node, describes, tiles, toolbar, el("div", { class: "panels" }, order.filter((name) => sections[name]).map((name) => sections[name].node)));
  const ready = loadBenchmarks();
  const rest = order.filter((name) => sections[name] && name !== "about");
  // What is seen first is asked for first.
  return Promise.all([sections.about.reload(), top.load(), loadTiles(), ...rest.slice(0, 1).map((name) => sections[name].reload()), loadBooks(), ...rest.slice(1).map((name) => sections[name].reload())]);
}

/** Place of the last week that was traded; of the last one when none was. */
function lastTraded(index) {
  const found = index.findLastIndex((one) => one.week_status === "traded");
  return found === -1 ? index.length - 1 : found;
}

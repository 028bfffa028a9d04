// What a book returned: by month and by day, its drawdowns, its rolling risk, and what benchmarks explain of it.

import { get } from "./api.js";
import { asPercent, fixed, numbers, percentages, reasoned } from "./figures.js";
import { el, table } from "./dom.js";
import { panel } from "./panel.js";
import { calendar, distribution, months, rollingBeta, rollingRisk } from "./returns.js";

const MONTHS = months();

const OF = "Of the book picked, over the whole run.";

/** A table of figures: each with its unit, or with why it is withheld. */
function valued(caption, figures, data, why) {
  const rows = figures.filter(([name]) => name in data).map(([name, title, write, unit]) => ({ title, value: data[name], write, unit, why: why(name) }));
  return table(caption, [
    { title: "Figure", make: (row) => row.title },
    { title: "Value", number: true, make: (row) => (row.value === null ? "withheld" : row.write(row.value)) },
    { title: "Unit, or why not", make: (row) => (row.value === null ? row.why : row.unit) },
  ], rows);
}

/** A table cell of a return, shaded by its size beside the largest. */
function shaded(value, largest) {
  if (value === null) return "";
  const box = el("span", { class: `heat-cell ${value < 0 ? "cold" : "warm"}`, "data-value": value }, fixed(value * 100, 1));
  box.style.setProperty("--strength", largest > 0 ? Math.min(1, Math.abs(value) / largest).toFixed(3) : "0");
  return box;
}

export function returns({ id, curve, some }) {
  const byMonth = panel("Returns by month", {
    id: "months", file: `${id}-months`, wide: true, room: 0,
    load: async () => {
      const years = calendar(some((await curve()).rows));
      if (years === null) throw Object.assign(new Error("The book opens sessions with equity not above 0: they have no return."), { code: "nonpositive_equity" });
      const largest = Math.max(...years.flatMap(({ months: one }) => one.filter((value) => value !== null).map(Math.abs)));
      const columns = [
        { title: "Year", make: (row) => row.year, by: (row) => row.year },
        ...MONTHS.map((title, i) => ({ title, number: true, make: (row) => shaded(row.months[i], largest) })),
        { title: "Year", number: true, make: (row) => el("strong", {}, fixed(row.total * 100, 1)), by: (row) => row.total },
      ];
      return {
        content: el("div", {}, table("Returns by month, in percent", columns, [...years].reverse(), { class: "months" }), el("p", { class: "fine" }, "Per cent, compounded from the daily returns.")),
        data: { columns: ["year", ...MONTHS.map((month) => `${month} (ratio)`), "year (ratio)"], rows: years.map((row) => [row.year, ...row.months, row.total]) },
      };
    },
  });
  const daily = panel("Daily returns", {
    id: "daily", file: `${id}-daily-returns`,
    load: async () => {
      const rows = some((await curve()).rows.filter((row) => row.period_return !== null));
      return { chart: (theme) => distribution({ rows }, theme) };
    },
  });
  return { months: byMonth, daily };
}

/** Served as research.risk: of the book picked, over the whole run. */
export function risk({ id, load }) {
  const drawdowns = panel("Deepest drawdowns", {
    id: "drawdowns", file: `${id}-drawdowns`, wide: true, about: OF, room: 0,
    load: async () => {
      const { data } = await load();
      if (data.drawdowns === null) throw Object.assign(new Error(data.withheld.drawdowns), { code: "withheld" });
      const rows = data.drawdowns;
      const columns = [
        numbers("Depth", "% of the peak", rows, (row) => row.depth_pct),
        { title: "Start", make: (row) => row.start, by: (row) => row.start },
        { title: "Trough", make: (row) => row.trough, by: (row) => row.trough },
        { title: "Recovery", make: (row) => row.recovery ?? "not yet", by: (row) => row.recovery },
        numbers("To the trough", "sessions", rows, (row) => row.sessions_to_trough),
        numbers("Under water", "sessions", rows, (row) => row.sessions),
        numbers("Length", "days", rows, (row) => row.days),
      ];
      return {
        content: rows.length ? table("Deepest drawdowns", columns, rows) : el("p", { class: "empty" }, "Equity never closed below its peak."),
        data: { columns: ["start", "trough", "recovery", "depth_pct", "sessions_to_trough", "sessions", "days"], rows: rows.map((row) => [row.start, row.trough, row.recovery, row.depth_pct, row.sessions_to_trough, row.sessions, row.days]) },
      };
    },
  });
  const rolling = panel("Rolling Sharpe ratio and volatility", {
    id: "rolling", file: `${id}-rolling`, about: OF, tall: true, wide: true,
    load: async () => {
      const { data } = await load();
      if (!data.rolling?.length) throw Object.assign(new Error(data.withheld.rolling ?? "The run is shorter than a year."), { code: "withheld" });
      return { chart: (theme) => rollingRisk({ points: data.rolling }, theme) };
    },
  });
  const tails = panel("Risk of the book", {
    id: "risk", file: `${id}-risk`, wide: true, about: OF, room: 0,
    load: async () => {
      const { data } = await load();
      const rows = FIGURES.filter(([name]) => name in data).map(([name]) => ({ name, value: data[name] }));
      return {
        content: valued("Risk", FIGURES, data, (name) => data.withheld[name]),
        data: { columns: ["figure", "value"], rows: rows.map((row) => [row.name, row.value]) },
      };
    },
  });
  return { drawdowns, rolling, tails };
}

/** Served as research.costs: of the book picked, over the whole run. */
export function costs({ id, load }) {
  const made = panel("Costs", {
    id: "costs", file: `${id}-costs`, wide: true, room: 0, about: OF,
    load: async () => {
      const { data } = await load();
      const sizes = data.at_multiples ?? [];
      const columns = [
        { title: "Costs", unit: "times those that were sealed", number: true, make: (row) => fixed(row.multiple, 1), by: (row) => row.multiple },
        numbers("Sharpe ratio", "the same quantities", sizes, (row) => row.fixed_quantities.sharpe),
        percentages("Return (CAGR)", "% a year, the same quantities", sizes, (row) => row.fixed_quantities.annualised_return),
        numbers("Sharpe ratio", "the same weights", sizes, (row) => row.fixed_weights.sharpe),
        percentages("Return (CAGR)", "% a year, the same weights", sizes, (row) => row.fixed_weights.annualised_return),
      ];
      const flat = { ...data, gross_sharpe: data.gross?.sharpe ?? null, net_sharpe: data.net?.sharpe ?? null };
      const why = (name) => data.withheld[name.replace("_", ".")] ?? data.withheld[name.split("_")[0]] ?? data.withheld[name];
      return {
        content: el("div", {}, valued("Costs", COSTS, flat, why), sizes.length ? table("At other costs", columns, sizes) : ""),
        data: { columns: ["multiple", "fixed_quantities_sharpe", "fixed_quantities_annualised_return", "fixed_weights_sharpe", "fixed_weights_annualised_return"],
          rows: sizes.map((row) => [row.multiple, row.fixed_quantities.sharpe, row.fixed_quantities.annualised_return, row.fixed_weights.sharpe, row.fixed_weights.annualised_return]) },
      };
    },
  });
  return { costs: made };
}

/** Served as research.exposures: what benchmarks and factors explain of the book and window picked. */
export function market({ caller, path, id, state, window }) {
  if (!caller.callable_endpoints.includes("research.exposures")) return {};
  const load = async () => {
    const { data } = await get(`${path}/exposures`, { book: state.book, ...window() });
    if (data.models.length === 0) throw Object.assign(new Error(Object.values(data.withheld)[0] ?? "There is nothing to explain the book by."), { code: "withheld" });
    return data;
  };
  const explained = panel("Beta, and what is left", {
    id: "market", file: `${id}-exposures`, wide: true, lazy: true,
    about: "Daily returns of the book and window picked, above the risk-free rate, on those of a benchmark or of factors; standard errors are HAC.",
    load: async () => {
      const data = await load();
      const rows = data.models.flatMap((model) => {
        const { regression } = model;
        if (regression === null) return [{ model: model.name, why: Object.values(model.withheld)[0] }];
        return Object.entries(regression.betas).map(([factor, beta], i) => ({ model: model.name, factor, ...beta, whole: i === 0 ? regression : null }));
      });
      const columns = [
        { title: "Benchmark or factor", make: (row) => (row.why ? reasoned(`${row.model}: withheld`, row.why) : row.factor) },
        numbers("Beta", "× its return", rows, (row) => row.beta ?? null),
        numbers("Standard error", "HAC", rows, (row) => row.standard_error ?? null),
        numbers("t", "HAC", rows, (row) => row.t_stat ?? null),
        percentages("Alpha", "% a year", rows, (row) => row.whole?.alpha_annualised ?? null),
        numbers("t of alpha", "HAC", rows, (row) => row.whole?.t_stat ?? null),
        percentages("R²", "%", rows, (row) => row.whole?.r_squared ?? null),
        numbers("Sharpe of what is left", "annualised", rows, (row) => row.whole?.residual_sharpe ?? null),
      ];
      return {
        content: table("Beta, and what is left", columns, rows),
        notes: [el("p", { class: "fine" }, `${data.observations} sessions, ${data.first_date} to ${data.last_date}.`)],
        data: {
          columns: ["model", "factor", "beta", "standard_error", "t_stat", "alpha_annualised", "alpha_t_stat", "r_squared", "residual_sharpe"],
          rows: rows.map((row) => [row.model, row.factor, row.beta, row.standard_error, row.t_stat, row.whole?.alpha_annualised, row.whole?.t_stat, row.whole?.r_squared, row.whole?.residual_sharpe]),
        },
      };
    },
  });
  const beta = panel("Rolling beta", {
    id: "rolling-beta", file: `${id}-rolling-beta`, wide: true, lazy: true,
    load: async () => {
      const { models, rolling_sessions: sessions } = await load();
      const model = models.find((one) => one.rolling?.length);
      if (!model) throw Object.assign(new Error(`There are fewer than ${sessions} sessions.`), { code: "insufficient_data" });
      return { chart: (theme) => rollingBeta({ points: model.rolling, sessions }, theme) };
    },
  });
  return { market: explained, beta };
}

const two = (value) => fixed(value, 2);
const COSTS = [
  ["gross_sharpe", "Sharpe ratio before costs", two, "annualised"],
  ["net_sharpe", "Sharpe ratio after costs", two, "annualised"],
  ["execution_cost", "Fees and impact", asPercent, "of equity a year"],
  ["borrow_cost", "Borrow", asPercent, "of equity a year"],
  ["cost_bp", "Fees and impact of what was traded", two, "basis points of traded notional"],
  ["break_even_multiple", "Break-even", two, "times the costs that were sealed"],
  ["break_even_bp", "Break-even of fees and impact", two, "basis points of traded notional"],
];
const FIGURES = [
  ["annualised_return", "Return (CAGR)", asPercent, "a year, compounded"],
  ["volatility", "Volatility", asPercent, "a year"],
  ["sharpe", "Sharpe ratio", two, "annualised"],
  ["lo_sharpe", "Sharpe ratio by Lo (2002)", two, "annualised by what autocorrelation leaves of √252"],
  ["sortino", "Sortino ratio", two, "annualised"],
  ["calmar", "Calmar ratio", two, "return a year over the deepest drawdown"],
  ["var_95", "Value at risk, 95 %", asPercent, "return of a session"],
  ["cvar_95", "Expected shortfall, 95 %", asPercent, "return of a session"],
  ["var_99", "Value at risk, 99 %", asPercent, "return of a session"],
  ["cvar_99", "Expected shortfall, 99 %", asPercent, "return of a session"],
  ["tail_ratio", "Tail ratio", two, "95 % quantile over the 5 % quantile"],
  ["skewness", "Skewness", two, "of daily returns"],
  ["kurtosis", "Kurtosis", two, "of daily returns, 3 of a normal distribution"],
  ["under_water", "Under water", asPercent, "of the sessions"],
];

/** What answers a family of figures of the book picked; null where the key may not call it or it is not served. */
export const family = ({ caller, path, state }, name) => (caller.callable_endpoints.includes(`research.${name}`) ? () => get(`${path}/${name}`, { book: state.book }) : null);

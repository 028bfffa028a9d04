// Returns of a book by month and by day, its risk, costs, legs and regimes, and its exposures to benchmarks and factors.

import { get } from "./api.js";
import { dayText, months, shown } from "./charts.js";
import { asPercent, days, fixed, numbers, percentages, range, withheldNotes } from "./figures.js";
import { Unavailable, el, table } from "./dom.js";
import { panel } from "./panel.js";
import { calendar, distribution, rollingBeta, rollingRisk } from "./returns.js";

const MONTHS = months();
const OF = "Selected book, whole run.";
const note = (text) => el("p", { class: "fine" }, text);

/** A table of figures, each with its unit or the reason why it is withheld. */
function valued(caption, figures, data, why) {
  const rows = figures.filter(([name]) => name in data).map(([name, title, write, unit]) => ({ title, value: data[name], write, unit, why: why(name) }));
  return table(caption, [
    { title: "Figure", make: (row) => row.title },
    { title: "Value", number: true, make: (row) => (row.value === null ? "withheld" : row.write(row.value)) },
    { title: "Unit", make: (row) => (row.value === null ? row.why : row.unit) },
  ], rows);
}

/** A table cell of a return, shaded by its size relative to the largest. */
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
      if (years === null) throw new Unavailable("the book opens sessions with equity not above 0, which have no return.");
      const largest = Math.max(...years.flatMap(({ months: one }) => one.filter((value) => value !== null).map(Math.abs)));
      const columns = [
        { title: "Year", make: (row) => row.year, by: (row) => row.year },
        ...MONTHS.map((title, i) => ({ title, number: true, make: (row) => shaded(row.months[i], largest) })),
        { title: "Total", number: true, make: (row) => el("strong", {}, fixed(row.total * 100, 1)), by: (row) => row.total },
      ];
      return {
        content: el("div", {}, table("Returns by month, in percent", columns, [...years].reverse(), { class: "months" }), note("Per cent, compounded from the daily returns.")),
        data: { columns: ["year", ...MONTHS.map((month) => `${month} (ratio)`), "total (ratio)"], rows: years.map((row) => [row.year, ...row.months, row.total]) },
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

/** Served as research.risk: for the selected book, over the whole run. */
export function risk({ id, load }) {
  const drawdowns = panel("Deepest drawdowns", {
    id: "drawdowns", file: `${id}-drawdowns`, wide: true, about: OF, room: 0,
    load: async () => {
      const { data } = await load();
      if (data.drawdowns === null) throw new Unavailable(data.withheld.drawdowns);
      const rows = data.drawdowns;
      const columns = [
        numbers("Depth", "% of the peak", rows, (row) => row.depth_pct),
        days("Start", (row) => row.start),
        days("Trough", (row) => row.trough),
        days("Recovery", (row) => row.recovery, "not yet"),
        numbers("To the trough", "sessions", rows, (row) => row.sessions_to_trough),
        numbers("Time under water", "sessions", rows, (row) => row.sessions),
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
      if (!data.rolling?.length) throw new Unavailable(data.withheld.rolling ?? "the run is shorter than a year.");
      return { chart: (theme) => rollingRisk({ points: data.rolling }, theme) };
    },
  });
  const tails = panel("Risk", {
    id: "risk", file: `${id}-risk`, about: OF, room: 0,
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

/** Served as research.costs: for the selected book, over the whole run. */
export function costs({ id, load }) {
  const made = panel("Costs", {
    id: "costs", file: `${id}-costs`, room: 0, about: OF,
    load: async () => {
      const { data } = await load();
      const sizes = data.at_multiples ?? [];
      const quantities = sizes.some((row) => row.fixed_quantities.sharpe !== null || row.fixed_quantities.annualised_return !== null);
      const columns = [
        { title: "Costs", unit: "× sealed", number: true, make: (row) => fixed(row.multiple, 1), by: (row) => row.multiple },
        ...(quantities ? [numbers("Sharpe", "same quantities", sizes, (row) => row.fixed_quantities.sharpe),
          percentages("CAGR", "%, same quantities", sizes, (row) => row.fixed_quantities.annualised_return)] : []),
        numbers("Sharpe", "same weights", sizes, (row) => row.fixed_weights.sharpe),
        percentages("CAGR", "%, same weights", sizes, (row) => row.fixed_weights.annualised_return),
      ];
      const flat = { ...data, gross_sharpe: data.gross?.sharpe ?? null, net_sharpe: data.net?.sharpe ?? null };
      const why = (name) => data.withheld[name.replace("_", ".")] ?? data.withheld[name.split("_")[0]] ?? data.withheld[name];
      return {
        content: el("div", {}, valued("Costs", COSTS, flat, why), sizes.length ? table("At other costs", columns, sizes) : "",
          sizes.length && !quantities ? el("p", { class: "fine" }, "At other costs with the same quantities: withheld, as the ledger states no rate that its cash earns.") : ""),
        data: { columns: ["multiple", "fixed_quantities_sharpe", "fixed_quantities_annualised_return", "fixed_weights_sharpe", "fixed_weights_annualised_return"],
          rows: sizes.map((row) => [row.multiple, row.fixed_quantities.sharpe, row.fixed_quantities.annualised_return, row.fixed_weights.sharpe, row.fixed_weights.annualised_return]) },
      };
    },
  });
  return { costs: made };
}

/** Served as research.concentration: for the selected book, over the whole run. */
export function legs({ id, fold, load }) {
  const made = panel("Long and short legs, concentration", {
    id: "legs", file: `${id}-legs`, wide: true, room: 0, fold: fold("legs"), about: `${OF} What each leg earned, and how much of the P&L comes from the best days, weeks and names.`,
    load: async () => {
      const { data } = await load();
      const rows = ["long", "short"].map((side) => ({ side, ...(data[side] ?? { why: data.withheld[side] }) }));
      const columns = [
        { title: "Leg", make: (row) => (row.side === "long" ? "Long" : "Short") },
        percentages("Return", "% of equity a year", rows, (row) => row.annualised_return),
        numbers("Sharpe ratio", "annualised", rows, (row) => row.sharpe ?? null),
        percentages("Costs", "% of equity a year", rows, (row) => row.cost),
        numbers("Exposure", "× equity", rows, (row) => row.exposure ?? null),
        numbers("Names", "mean of the sessions", rows, (row) => row.names ?? null),
        ...(rows.some((row) => row.why) ? [{ title: "Note", make: (row) => row.why ?? "" }] : []),
      ];
      return {
        content: el("div", {}, table("Legs", columns, rows), valued("Concentration", CONCENTRATION, data, (name) => data.withheld[name])),
        notes: withheldNotes(data.withheld, LEG_FIGURES),
        data: { columns: ["leg", ...Object.keys(LEG)], rows: rows.map((row) => [row.side, ...Object.keys(LEG).map((name) => row[name])]) },
      };
    },
  });
  return { legs: made };
}

/** Served as research.regimes: halves, markets and volatility for the selected book and window, and breaks in its record. */
export function regimes({ caller, path, id, state, window, fold }) {
  if (!caller.callable_endpoints.includes("research.regimes")) return {};
  const made = panel("Regimes and breaks", {
    id: "regimes", file: `${id}-regimes`, wide: true, fold: fold("regimes"),
    about: "Selected book and window: its halves, up and down markets, terciles of market volatility, and tests for a break (CUSUM).",
    load: async () => {
      const { data } = await get(`${path}/regimes`, { book: state.book, ...window() });
      if (data.groups.length === 0) throw new Unavailable(data.withheld.groups);
      const rows = data.groups.flatMap(({ name, regimes: parts, difference }) => [
        ...parts.map((part) => ({ ...part, title: REGIMES[name][part.name] })),
        ...(difference ? [{ ...difference, title: `${REGIMES[name][parts.at(-1).name]} less ${REGIMES[name][parts[0].name].toLowerCase()}` }] : [])]);
      const columns = [
        { title: "Regime", make: (row) => row.title },
        numbers("Sessions", null, rows, (row) => row.sessions ?? null),
        percentages("Mean return", "% a year", rows, (row) => row.mean_return),
        percentages("Volatility", "% a year", rows, (row) => row.volatility),
        numbers("Sharpe ratio", "annualised", rows, (row) => row.sharpe),
        { title: "95% band of it", number: true, make: (row) => (row.band ? `${two(row.band.lower)} to ${two(row.band.upper)}` : "–") },
      ];
      const breaks = Object.entries(BREAKS).map(([name, title]) => [title, data.breaks[name], data.withheld[`breaks.${name}`]]);
      return {
        content: table("Regimes", columns, rows),
        notes: [
          note(`${data.benchmark ? `Market: ${data.benchmark}. ` : ""}${range(data)}.`),
          ...(rows.some((row) => row.sharpe !== null && row.band === null) ? [note("No band: some samples of the bootstrap do not determine the Sharpe ratio.")] : []),
          ...breaks.map(([title, test, why]) => note(test ? `Break in ${title}: p ${shown(test.p_value, 2)}; the most likely date is after ${dayText(test.date)}.` : `Break in ${title} not tested: ${why}.`)),
          ...Object.entries(data.withheld).map(([name, why]) => [...name.split("."), why]).filter(([group]) => group !== "breaks")
            .map(([group, ...regime]) => note(`${regime.length > 1 ? REGIMES[group][regime[0]] : `By ${group}`}: not available, ${regime.at(-1)}.`)),
        ],
        data: { columns: ["regime", "sessions", "mean_return", "volatility", "sharpe", "lower", "upper"], rows: rows.map((row) => [row.title, row.sessions, row.mean_return, row.volatility, row.sharpe, row.band?.lower, row.band?.upper]) },
      };
    },
  });
  return { regimes: made };
}

/** Served as research.exposures: regressions of the selected book and window on benchmarks and factors. */
export function exposures({ caller, path, id, state, window, curve }) {
  if (!caller.callable_endpoints.includes("research.exposures")) return {};
  const load = async () => {
    const { data } = await get(`${path}/exposures`, { book: state.book, ...window() });
    if (data.models.every(({ regression }) => regression === null)) throw new Unavailable([...new Set([...data.models.flatMap((model) => Object.values(model.withheld)), ...Object.values(data.withheld)])].join("; "));
    return data;
  };
  /** A model's attribution in a sentence, as shares of the equity at the start of the window. */
  const attributed = ({ name, attribution: parts }, equity) => {
    const terms = [["risk-free rate", parts.risk_free], ...Object.entries(parts.factors), ["alpha", parts.alpha], ["residual", parts.residual], ["sessions without factor returns", parts.unmeasured]];
    return `P&L by ${name}, % of initial equity: ${terms.filter(([, value]) => value !== 0).map(([title, value]) => `${title} ${two((100 * value) / equity)}`).join(", ")}; in all ${two((100 * parts.pnl) / equity)}.`;
  };
  const made = panel("Beta and alpha", {
    id: "market", file: `${id}-exposures`, wide: true, lazy: true,
    about: "Selected book and window: daily returns less the risk-free rate, regressed on each benchmark and on the factors; HAC standard errors.",
    load: async () => {
      const data = await load();
      const equity = (await curve()).meta.summary.starting_equity;
      const measured = data.models.filter((model) => model.regression);
      const rows = measured.flatMap(({ name: model, regression }) => {
        const betas = Object.entries(regression.betas).map(([factor, beta]) => ({ model, factor, ...beta }));
        return betas.length === 1 ? [{ ...betas[0], whole: regression }] : [{ model, factor: `${betas.length} factors together`, whole: regression }, ...betas];
      });
      const columns = [
        { title: "Benchmark or factor", make: (row) => row.factor },
        numbers("Beta", null, rows, (row) => row.beta),
        numbers("Standard error", "HAC", rows, (row) => row.standard_error),
        numbers("t-stat", "HAC", rows, (row) => row.t_stat),
        percentages("Alpha", "% a year", rows, (row) => row.whole?.alpha_annualised),
        numbers("t-stat of alpha", "HAC", rows, (row) => row.whole?.t_stat ?? null),
        percentages("R²", "%", rows, (row) => row.whole?.r_squared),
        numbers("Residual Sharpe", "annualised", rows, (row) => row.whole?.residual_sharpe ?? null),
      ];
      const missing = [...Object.entries(data.withheld), ...data.models.filter((model) => !model.regression).map((model) => [model.name, model.withheld.regression])];
      return {
        content: table("Beta and alpha", columns, rows),
        notes: [
          note(`${range(data)}.`),
          ...measured.filter((model) => model.attribution).map((model) => note(attributed(model, equity))),
          ...missing.map(([name, why]) => note(`No ${name}: ${why}.`)),
          ...measured.flatMap((model) => withheldNotes(model.withheld, { attribution: `P&L by ${model.name}` })),
          ...(rows.some((row) => row.standard_error === null || row.whole?.t_stat === null) ? [note("No standard errors where the regression leaves no residuals.")] : []),
        ],
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
      if (!model) throw new Unavailable(models.map((one) => one.withheld.rolling).find(Boolean) ?? `there are fewer than ${sessions} sessions.`);
      return { chart: (theme) => rollingBeta({ points: model.rolling, sessions }, theme) };
    },
  });
  return { exposures: made, beta };
}

const two = (value) => fixed(value, 2);
const COSTS = [
  ["gross_sharpe", "Sharpe ratio before costs", two, "annualised"],
  ["net_sharpe", "Sharpe ratio after costs", two, "annualised"],
  ["execution_cost", "Execution cost", asPercent, "of equity a year; fees and impact"],
  ["borrow_cost", "Borrow cost", asPercent, "of equity a year"],
  ["cost_bp", "Execution cost", two, "bp of traded notional"],
  ["break_even_multiple", "Break-even cost", two, "× the sealed costs"],
  ["break_even_bp", "Break-even execution cost", two, "bp of traded notional"],
];
const LEG = { annualised_return: "Return", sharpe: "Sharpe ratio", cost: "Costs", exposure: "Exposure", names: "Names", pnl: "P&L" };
const LEG_FIGURES = Object.fromEntries(["long", "short"].flatMap((side) => Object.entries(LEG).map(([name, title]) => [`${side}.${name}`, `${title} of the ${side} leg`])));
const CONCENTRATION = [
  ["best_days_share", "Ten best days", asPercent, "of the P&L; above 100% where the other days lost"],
  ["best_weeks_share", "Ten best weeks", asPercent, "of the P&L"],
  ["best_names_share", "Ten best names", asPercent, "of the P&L of all names"],
  ["sharpe_without_best_days", "Sharpe ratio without the ten best days", two, "annualised"],
  ["names", "Names held", (value) => fixed(value, 1), "mean of the sessions"],
  ["effective_names", "Effective number of names", (value) => fixed(value, 1), "names of equal size with the same concentration"],
];
const REGIMES = {
  halves: { first: "First half", second: "Second half" },
  market: { down: "Down market", up: "Up market" },
  volatility: { low: "Low volatility", middle: "Medium volatility", high: "High volatility" },
};
const BREAKS = { returns: "the mean daily return", ic: "the mean weekly IC" };
const FIGURES = [
  ["annualised_return", "Return (CAGR)", asPercent, "a year, compounded"],
  ["volatility", "Volatility", asPercent, "a year"],
  ["sharpe", "Sharpe ratio", two, "annualised"],
  ["lo_sharpe", "Sharpe ratio by Lo (2002)", two, "annualised, allowing for autocorrelation"],
  ["sortino", "Sortino ratio", two, "annualised"],
  ["calmar", "Calmar ratio", two, "CAGR over max drawdown"],
  ["var_95", "Value at risk, 95 %", asPercent, "daily return"],
  ["cvar_95", "Expected shortfall, 95 %", asPercent, "daily return"],
  ["var_99", "Value at risk, 99 %", asPercent, "daily return"],
  ["cvar_99", "Expected shortfall, 99 %", asPercent, "daily return"],
  ["tail_ratio", "Tail ratio", two, "95% over 5% quantile"],
  ["skewness", "Skewness", two, "of daily returns"],
  ["kurtosis", "Kurtosis", two, "of daily returns; normal: 3"],
  ["under_water", "Time under water", asPercent, "of the sessions"],
];

/** The call for a family of figures of the selected book; null if the key may not make it or it is not served. */
export const family = ({ caller, path, state }, name) => (caller.callable_endpoints.includes(`research.${name}`) ? () => get(`${path}/${name}`, { book: state.book }) : null);

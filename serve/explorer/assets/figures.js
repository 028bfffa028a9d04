// Names, units and formats of the headline figures. Units in an answer take precedence over those here.

import { counted, dayText, shown } from "./charts.js";
import { el } from "./dom.js";

export const HEADLINES = [
  ["ic", "Mean IC", "correlation"],
  ["icir", "ICIR", "annualised"],
  ["information_ratio", "Sharpe ratio", "annualised"],
  ["excess_sharpe", "Excess Sharpe", "annualised"],
  ["pnl", "Profit", "% of initial equity"],
  ["max_drawdown_pct", "Max drawdown", "%"],
  ["turnover", "Turnover", "per year"],
];

/** The figures of a metrics answer that a page shows: those of the selected window, else of the whole run. */
export const ofWindow = (data) => data.within_window ?? data;

const UNITS = {
  ratio: "",
  percentage_points: "%",
  initial_equity: "% of initial equity",
  weeks: "% of weeks",
  base_currency_units: "base currency",
  per_year: "a year",
  per_session: "a session",
  period_sum: "sum of the period",
};

export function unitOf(entry) {
  const unit = UNITS[entry.unit] ?? entry.unit ?? "";
  const basis = { annualised: entry.unit === "per_year" ? "" : "annualised", per_period: "per period", not_annualisable: "" }[entry.annualisation] ?? "";
  return [unit, basis].filter(Boolean).join(", ") || "ratio";
}

/** Decimals of a column: enough for three digits of its typical value; the same in every row, so that points line up. */
export function decimals(values, digits = 3) {
  const sizes = values.filter((value) => typeof value === "number" && value !== 0).map(Math.abs).sort((a, b) => a - b);
  if (sizes.length === 0 || sizes.every(Number.isInteger)) return 0;
  if (sizes.every((size) => Number.isInteger(2 * size))) return 1;
  return Math.min(6, Math.max(0, digits - 1 - Math.floor(Math.log10(sizes[Math.floor(sizes.length / 2)]))));
}

/** A value with a number of decimals, never as -0; a dash for null. */
export function fixed(value, places) {
  if (value === null || value === undefined) return "–";
  const rounded = Number(value.toFixed(places)) || 0;
  return rounded.toLocaleString("en-GB", { minimumFractionDigits: places, maximumFractionDigits: places });
}

/** A sortable column of numbers in one unit, with aligned decimals. */
export function numbers(title, unit, rows, of) {
  const places = decimals(rows.map(of));
  return { title, unit, number: true, make: (row) => fixed(of(row), places), by: of };
}

export function written(value, unit) {
  return value === null ? "–" : IN_PERCENT.has(unit) ? `${shown(value)}%` : shown(value);
}

/** Figures that are shares, and of what: a page shows them in per cent. */
const SHARES = { pnl: "initial_equity", hit_rate: "weeks" };
const IN_PERCENT = new Set(["percentage_points", ...Object.values(SHARES)]);

/** A figure as a page shows it. */
export function inPercent(name, entry) {
  const unit = entry.unit === "ratio" ? SHARES[name] : undefined;
  return unit === undefined ? { value: entry.value, unit: entry.unit } : { value: entry.value === null ? null : entry.value * 100, unit };
}

/** Columns of headline figures: a unit is in the header if all rows share it, else after each value. */
export function headlineColumns(rows, given) {
  const entryOf = (row, name) => {
    const entry = given(row, name);
    return entry ? { ...entry, ...inPercent(name, entry) } : entry;
  };
  return HEADLINES.map(([name, title]) => {
    const entries = rows.map((row) => entryOf(row, name)).filter((entry) => entry && entry.value !== null);
    const units = new Set(entries.map(unitOf));
    const places = decimals(entries.map((entry) => entry.value));
    return {
      title,
      unit: units.size === 1 ? [...units][0] : "",
      number: true,
      by: (row) => entryOf(row, name)?.value ?? null,
      make: (row) => {
        const entry = entryOf(row, name);
        if (!entry) return "–";
        if (entry.value === null) return reasoned("withheld", entry.withheld_reason);
        return [fixed(entry.value, places), units.size > 1 ? el("small", {}, ` ${unitOf(entry)}`) : "", mark(entry.checked)];
      },
    };
  });
}

const STANDING = {
  reproduced: "sealed, and reproduced from its tables",
  computed: "computed",
  stated: "sealed, and no table supports it",
  contradicted: "computed: the tables contradict what was sealed",
};

/** The source of a figure in words, with the sealed value if another one is shown. */
export function standing(entry) {
  const sealed = entry.sealed_value === undefined ? "" : `${shown(entry.sealed_value)} was sealed${entry.sealed_convention ? ` by ${entry.sealed_convention}` : ""}`;
  return [STANDING[entry.checked] ?? "", sealed].filter(Boolean).join("; ");
}

/** One word for the source of a figure; a tooltip says the rest. */
export function standingWord(entry) {
  return entry.checked ? el("span", { class: `standing-${entry.checked}`, title: standing(entry) }, entry.checked) : "";
}

/** A word after a figure that its tables do not support; empty for any other figure. */
export function mark(checked) {
  return checked === "stated" || checked === "contradicted" ? el("small", { class: "standing", title: STANDING[checked] }, ` ${checked}`) : "";
}

/** A word in place of a withheld figure; it opens to show the reason. */
export function reasoned(word, reason) {
  return el("details", { class: "withheld" }, el("summary", {}, word), el("span", {}, reason));
}

/** A note with the reason for each withheld figure of a section; titles: path in the answer -> title. */
export const withheldNotes = (withheld, titles) => Object.entries(titles).filter(([path]) => path in withheld)
  .map(([path, title]) => el("p", { class: "fine" }, `${title}: withheld, ${withheld[path]}.`));

/** A column of ratios, shown as percentages. */
export const percentages = (title, unit, rows, of) => numbers(title, unit, rows, (row) => (of(row) === null || of(row) === undefined ? null : of(row) * 100));

/** A column of days, which sorts. */
export const days = (title, of, missing = "–") => ({ title, kind: "day", make: (row) => (of(row) ? dayText(of(row)) : missing), by: of });

/** Number of sessions of an answer, with its first and last day. */
export const range = ({ observations, first_date: first, last_date: last }) => `${counted(observations, "session")}${first ? `, ${dayText(first)} to ${dayText(last)}` : ""}`;

export const asPercent = (value) => (value === null || value === undefined ? "–" : `${shown(value * 100)}%`);

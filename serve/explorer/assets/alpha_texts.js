// What is written about an alpha, whether it was luck, and how it stands beside others.

import { get } from "./api.js";
import { shown } from "./charts.js";
import { choice, el, segments, table } from "./dom.js";
import { decimals, fixed, numbers } from "./figures.js";
import { panel } from "./panel.js";

const BY = [["returns", "Returns"], ["scores", "Scores"], ["holdings", "Holdings"]];
const MOST_AMONG = 50;
const words = (name) => name.replaceAll("_", " ");

/** Any value of a description, as it was sealed. */
function told(value) {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  if (Array.isArray(value)) return el("ul", {}, value.map((one) => el("li", {}, typeof one === "object" ? told(one) : String(one))));
  if (typeof value === "object") {
    const rows = Object.entries(value).map(([name, one]) => [name, told(one)]).filter(([, made]) => made !== null);
    return rows.length ? el("dl", {}, rows.flatMap(([name, made]) => [el("dt", {}, words(name)), el("dd", {}, made)])) : null;
  }
  return document.createTextNode(typeof value === "number" ? String(value) : String(value));
}

export function about({ path, id, head }) {
  const made = panel("Description", {
    id: "about", wide: true, room: 0,
    load: async () => {
      const { data } = await get(path);
      const parts = ["thesis", "signal", "parameters", "data_requirements", "source_papers", "copyright"];
      return {
        content: el("div", { class: "texts" }, parts.map((part) => [part, told(data[part])]).filter(([, text]) => text !== null)
          .map(([part, text], i) => el("details", { open: i === 0 }, el("summary", {}, words(part)), el("div", {}, text)))),
      };
    },
  });

  /** Fill the top of the page; where the description may not be read, its section says so. */
  async function fill() {
    const found = await get(path).catch(() => null);
    if (found === null) return;
    const { data, meta } = found;
    const tags = [...(data.classification.tags ?? []), data.classification.structure, data.classification.method].filter(Boolean);
    head.replaceChildren(
      el("h1", {}, data.name),
      data.tldr ? el("p", { class: "tldr" }, data.tldr) : "",
      el("p", { class: "tags" }, el("code", {}, id), el("small", {}, `snapshot ${meta.snapshot} · published ${meta.published_at.slice(0, 10)}`),
        [...new Set(tags)].map((tag) => el("span", {}, words(tag)))));
  }

  return { about: { ...made, head: fill } };
}

/** A figure's band: its title, its unit, and what its values are multiplied by. */
const BANDS = {
  sharpe: ["Sharpe ratio", "annualised"],
  excess_sharpe: ["Excess Sharpe", "annualised"],
  annualised_return: ["Return (CAGR)", "% a year", 100],
  volatility: ["Volatility", "% a year", 100],
  pnl: ["Profit", "equity"],
  max_drawdown: ["Max drawdown, in equity", "equity"],
  max_drawdown_pct: ["Max drawdown", "% of the peak"],
  turnover: ["Turnover", "times equity a year"],
  ic: ["Mean IC", "correlation"],
  icir: ["ICIR", "annualised"],
  hit_rate: ["Weeks with IC above 0", "% of weeks", 100],
  dispersion: ["Deviation of the weekly IC", "correlation"],
};

/** The same of amounts, in a ledger that opens with 1. */
const SHARES = { pnl: ["Profit", "% of initial equity", 100], max_drawdown: ["Max drawdown, in equity", "% of initial equity", 100] };

/** One end of a band, with the decimals of its row. */
function banded(row, side, known) {
  if (row.estimate === null) return "–";
  const times = known[row.figure]?.[2] ?? 1;
  return fixed(row[side] * times, decimals([row.lower, row.estimate, row.upper].map((value) => value * times)));
}

/** How the trials were counted, in words. */
const TRIALS = {
  nominal: ({ trials }) => `${trials} trials`,
  distinct: ({ trials, effective_trials: count }) => (count === trials ? `${trials} trials` : `${count} different ones of ${trials} trials`),
  clusters: ({ trials, effective_trials: count }) => `${count} clusters of ${trials} trials`,
};

/** Whether the record may be luck; served as research.luck. */
export function luck({ caller, path, id, state, window, metrics }) {
  if (!caller.callable_endpoints.includes("research.luck")) return {};
  const made = panel("Was it luck?", {
    id: "luck", file: `${id}-luck`, wide: true, lazy: true, room: 0,
    about: "The Sharpe ratio against the trials it was picked from, the record it takes, and 95 % bands by the stationary bootstrap, of the book and window picked.",
    load: async () => {
      const { data } = await get(`${path}/luck`, { book: state.book, ...window() });
      const opensWithOne = await metrics().then((found) => found.data.core.pnl.unit === "ratio", () => false);
      const known = opensWithOne ? { ...BANDS, ...SHARES } : BANDS;
      const why = (name, member) => data.withheld[`${name}.${member}`] ?? data.withheld[name] ?? "The interface gives no value.";
      const fact = (title, value, unit, name, member) => el("div", { class: "tile", "data-figure": `${name}.${member}`, "data-value": value },
        el("span", { class: "label" }, title),
        value === null || value === undefined ? el("strong", { class: "withheld" }, "withheld") : el("strong", {}, shown(value)),
        el("span", { class: "fine" }, value === null || value === undefined ? why(name, member) : unit));
      const { probabilistic_sharpe: probable, deflated_sharpe: deflated, minimum_track_record: least, overfitting, excess } = data;
      const bands = Object.entries(data.bands).map(([figure, band]) => ({ figure, ...(band ?? { estimate: null, reason: why("bands", figure) }) }));
      return {
        content: el("div", {},
          el("div", { class: "tiles" },
            fact("Sharpe ratio", data.sharpe, `annualised, ${data.observations} sessions`, "sharpe", ""),
            fact("Sharpe above 0", probable.probability, "probability", "probabilistic_sharpe", "probability"),
            fact("Sharpe above 0, given the trials", deflated.probability, `probability, deflated by ${TRIALS[deflated.counted_by]?.(deflated)} (${deflated.trials_from})`, "deflated_sharpe", "probability"),
            fact("Record it takes", least.years, `years, at ${shown(least.confidence * 100)} % confidence`, "minimum_track_record", "years"),
            fact("Excess Sharpe above 0", excess.probabilistic_sharpe.probability, `probability, of an excess Sharpe ratio of ${shown(excess.sharpe)}`, "excess.probabilistic_sharpe", "probability"),
            fact("Excess Sharpe above 0, given the trials", excess.deflated_sharpe.probability, `probability, deflated by ${TRIALS[excess.deflated_sharpe.counted_by]?.(excess.deflated_sharpe)}`, "excess.deflated_sharpe", "probability"),
            fact("Record the excess takes", excess.minimum_track_record.years, `years, at ${shown(least.confidence * 100)} % confidence`, "excess.minimum_track_record", "years"),
            fact("Overfitting", overfitting?.probability ?? null, `probability, ${overfitting?.trials} trials in ${overfitting?.splits} splits`, "overfitting", "probability")),
          table("Bootstrap bands", [
            { title: "Figure", make: (row) => known[row.figure]?.[0] ?? words(row.figure) },
            ...[["lower", "Lower"], ["estimate", "Estimate"], ["upper", "Upper"]].map(([side, title]) => ({ title, number: true, make: (row) => banded(row, side, known) })),
            { title: "Unit", make: (row) => known[row.figure]?.[1] ?? "ratio" },
            ...(bands.some((row) => row.reason) ? [{ title: "Why not", make: (row) => row.reason ?? "" }] : []),
          ], bands),
          ...Object.values(deflated.passed_over).map((reason) => el("p", { class: "fine" }, `Not counted as trials: ${reason}.`)),
          el("p", { class: "fine" }, `${data.bootstrap.samples} samples.`)),
        data: { columns: ["figure", "estimate", "lower", "upper", "level"], rows: bands.map((row) => [row.figure, row.estimate, row.lower, row.upper, row.level]) },
      };
    },
  });
  return { luck: made };
}

/** The nearest and farthest alphas; served as research.neighbours. */
export function beside({ caller, path, id, state, pick, window }) {
  if (!caller.callable_endpoints.includes("research.neighbours")) return {};
  const order = { value: "nearest" };
  const made = panel("Neighbours", {
    id: "near", file: `${id}-neighbours`, wide: true, lazy: true,
    controls: [
      segments("By", BY, state.near, (near) => pick({ near }, "near")),
      choice("Order", [["nearest", "nearest first"], ["farthest", "farthest first"], ["strongest", "strongest first, whatever its sign"]], "nearest", (value) => { order.value = value; made.reload(); }),
    ],
    load: async () => {
      const asked = { book: state.book, order: order.value, ...window() };
      // Scores and holdings are read from the files of each alpha: of many, those are compared that the returns bring first.
      let among = null;
      if (state.near !== "returns") {
        const first = await get(`${path}/neighbours`, { ...asked, by: "returns", limit: MOST_AMONG });
        if (first.pagination.total > MOST_AMONG) among = first.data.map((row) => row.alpha_id).join(",");
      }
      const { data, meta } = await get(`${path}/neighbours`, { ...asked, by: state.near, among, limit: 10 });
      const left = Object.entries(meta.excluded).filter(([, count]) => count > 0).map(([reason, count]) => `${count} left out (${words(reason)})`);
      const value = state.near === "holdings" ? "overlap" : "correlation";
      const columns = [
        { title: "Alpha", make: (row) => el("a", { href: `#/alphas/${encodeURIComponent(row.alpha_id)}` }, row.name ?? row.alpha_id), by: (row) => row.name ?? row.alpha_id },
        numbers(value === "overlap" ? "Overlap" : "Correlation", null, data, (row) => row[value]),
        numbers("Observations", state.near === "scores" ? "weeks" : "sessions", data, (row) => row.observations),
      ];
      const picks = [id, ...data.slice(0, 3).map((row) => row.alpha_id)];
      return {
        content: data.length ? table("Neighbours", columns, data) : el("p", { class: "empty" }, "No other alpha that this key may read can be compared."),
        notes: [
          el("p", { class: "fine" }, [`${meta.compared} compared, ${meta.first_date ?? "–"} to ${meta.last_date ?? "–"}`, ...left, among ? `of the ${MOST_AMONG} that daily returns bring first` : ""].filter(Boolean).join("; ") + "."),
          data.length ? el("a", { href: `#/compare?alphas=${picks.map(encodeURIComponent).join(",")}` }, "Compare with the first of them") : "",
        ],
        data: { columns: ["alpha_id", "name", value, "observations"], rows: data.map((row) => [row.alpha_id, row.name, row[value], row.observations]) },
      };
    },
  });
  return { near: made };
}

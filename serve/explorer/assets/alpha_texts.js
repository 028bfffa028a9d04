// The description of an alpha, whether its record may be luck, and how it compares with others.

import { get } from "./api.js";
import { counted, dayText, shown } from "./charts.js";
import { Unavailable, address, choice, el, segments, table } from "./dom.js";
import { decimals, fixed, numbers } from "./figures.js";
import { panel } from "./panel.js";

const BY = [["returns", "Returns"], ["scores", "Scores"], ["holdings", "Holdings"]];
const MOST_AMONG = 50;
const NO_DESCRIPTION = "alpha_description_not_found";
const words = (name) => name.replaceAll("_", " ");

/** A value of a description, as sealed. */
function asElement(value) {
  if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return null;
  if (Array.isArray(value)) return el("ul", {}, value.map((one) => el("li", {}, typeof one === "object" ? asElement(one) : String(one))));
  if (typeof value === "object") {
    const rows = Object.entries(value).map(([name, one]) => [name, asElement(one)]).filter(([, made]) => made !== null);
    return rows.length ? el("dl", {}, rows.flatMap(([name, made]) => [el("dt", {}, words(name)), el("dd", {}, made)])) : null;
  }
  return document.createTextNode(String(value));
}

export function about({ path, id, head }) {
  const made = panel("Description", {
    id: "about", wide: true, room: 0,
    load: async () => {
      const { data } = await get(path).catch(unless);
      const parts = ["thesis", "signal", "parameters", "data_requirements", "source_papers", "copyright"];
      return {
        content: el("div", { class: "texts" }, parts.map((part) => [part, asElement(data[part])]).filter(([, text]) => text !== null)
          .map(([part, text], i) => el("details", { open: i === 0 }, el("summary", {}, words(part)), el("div", {}, text)))),
      };
    },
  });

  /** A run without a description is not an error. */
  function unless(error) {
    throw error.code === NO_DESCRIPTION ? new Unavailable("the run sealed no description.") : error;
  }

  /** Fill the top of the page; if the key may not read the description, its section says so. */
  async function fill() {
    const answer = await get(path).catch((error) => error);
    if (answer.code === NO_DESCRIPTION) head.append(el("p", { class: "fine" }, "The run sealed no description: neither name nor thesis."));
    if (answer instanceof Error) return;
    const { data, meta } = answer;
    const tags = [...(data.classification.tags ?? []), data.classification.structure, data.classification.method].filter(Boolean);
    head.replaceChildren(
      el("h1", {}, data.name),
      data.tldr ? el("p", { class: "tldr" }, data.tldr) : "",
      el("p", { class: "tags" }, el("code", {}, id), el("small", {}, `snapshot ${meta.snapshot} · published ${dayText(meta.published_at)}`),
        [...new Set(tags)].map((tag) => el("span", {}, words(tag)))));
  }

  return { about: { ...made, head: fill } };
}

/** A figure's band: its title, its unit, and the factor for its values. */
const BANDS = {
  sharpe: ["Sharpe ratio", "annualised"],
  excess_sharpe: ["Excess Sharpe", "annualised"],
  annualised_return: ["Return (CAGR)", "% a year", 100],
  volatility: ["Volatility", "% a year", 100],
  pnl: ["Profit", "equity"],
  max_drawdown: ["Max drawdown, in equity", "equity"],
  max_drawdown_pct: ["Max drawdown", "% of the peak"],
  turnover: ["Turnover", "× equity a year"],
  ic: ["Mean IC", "correlation"],
  icir: ["ICIR", "annualised"],
  hit_rate: ["IC hit rate", "% of weeks", 100],
  dispersion: ["Standard deviation of weekly IC", "correlation"],
};

/** The same for amounts, in a ledger that opens with 1. */
const SHARES = { pnl: ["Profit", "% of initial equity", 100], max_drawdown: ["Max drawdown, in equity", "% of initial equity", 100] };

/** One bound of a band, with the decimals of its row. */
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
    about: "Selected book and window: the Sharpe ratio against the trials it was picked from, and 95% bands by the stationary bootstrap.",
    load: async () => {
      const { data } = await get(`${path}/luck`, { book: state.book, ...window() });
      const opensWithOne = await metrics().then(({ data: { core } }) => core.pnl.unit === "ratio", () => false);
      const known = opensWithOne ? { ...BANDS, ...SHARES } : BANDS;
      const why = (name, member) => data.withheld[`${name}.${member}`] ?? data.withheld[name] ?? "The API returned no value.";
      const fact = (title, value, unit, name, member) => el("div", { class: "tile", "data-figure": `${name}.${member}`, "data-value": value },
        el("span", { class: "label" }, title),
        value === null || value === undefined ? el("strong", { class: "withheld" }, "withheld") : el("strong", {}, shown(value)),
        el("span", { class: "fine" }, value === null || value === undefined ? why(name, member) : unit));
      const { probabilistic_sharpe: probable, deflated_sharpe: deflated, minimum_track_record: least, overfitting, excess } = data;
      const bands = Object.entries(data.bands).map(([figure, band]) => ({ figure, ...(band ?? { estimate: null, reason: why("bands", figure) }) }));
      return {
        content: el("div", {},
          el("div", { class: "tiles" },
            fact("Sharpe ratio", data.sharpe, `annualised, ${counted(data.observations, "session")}`, "sharpe", ""),
            fact("Probabilistic Sharpe ratio", probable.probability, "probability that Sharpe > 0", "probabilistic_sharpe", "probability"),
            fact("Deflated Sharpe ratio", deflated.probability, `probability that Sharpe > 0, given ${TRIALS[deflated.counted_by]?.(deflated)} (${deflated.trials_from})`, "deflated_sharpe", "probability"),
            fact("Minimum track record", least.years, `years, at ${Math.round(least.confidence * 100)}% confidence`, "minimum_track_record", "years"),
            fact("Probabilistic excess Sharpe", excess.probabilistic_sharpe.probability, `probability that excess Sharpe > 0; it is ${shown(excess.sharpe)}`, "excess.probabilistic_sharpe", "probability"),
            fact("Deflated excess Sharpe", excess.deflated_sharpe.probability, `probability, given ${TRIALS[excess.deflated_sharpe.counted_by]?.(excess.deflated_sharpe)}`, "excess.deflated_sharpe", "probability"),
            fact("Minimum track record, excess", excess.minimum_track_record.years, `years, at ${Math.round(least.confidence * 100)}% confidence`, "excess.minimum_track_record", "years"),
            fact("Probability of overfitting", overfitting?.probability ?? null, `probability, ${overfitting?.trials} trials in ${overfitting?.splits} splits`, "overfitting", "probability")),
          table("Bootstrap bands", [
            { title: "Figure", make: (row) => known[row.figure]?.[0] ?? words(row.figure) },
            ...[["lower", "Lower"], ["estimate", "Estimate"], ["upper", "Upper"]].map(([side, title]) => ({ title, number: true, make: (row) => banded(row, side, known) })),
            { title: "Unit", make: (row) => known[row.figure]?.[1] ?? "ratio" },
            ...(bands.some((row) => row.reason) ? [{ title: "Note", make: (row) => row.reason ?? "" }] : []),
          ], bands),
          ...Object.values(deflated.passed_over).map((reason) => el("p", { class: "fine" }, `Not counted as trials: ${reason}.`)),
          el("p", { class: "fine" }, `${fixed(data.bootstrap.samples, 0)} samples.`)),
        data: { columns: ["figure", "estimate", "lower", "upper", "level"], rows: bands.map((row) => [row.figure, row.estimate, row.lower, row.upper, row.level]) },
      };
    },
  });
  return { luck: made };
}

/** A sentence on the alpha among all that the key may read: the significance of its record given their number; null if the key may not list it. */
async function amongAll(id) {
  const { data } = await get("screen", { search: id, fields: "t_stat,q_value,haircut_sharpe", limit: 5000 });
  const row = data.find(({ alpha_id }) => alpha_id === id);
  if (!row) return null;
  const { figures, withheld } = row;
  if (figures.q_value === null) return `No q-value: ${withheld.q_value}.`;
  return `Of the whole run's mean return: t-stat ${shown(figures.t_stat)}; q-value ${shown(figures.q_value, 2)} among all alphas that this key may read (the smallest false-discovery rate at which it still counts as a discovery); Sharpe ratio after the multiple-testing haircut ${shown(figures.haircut_sharpe)}.`;
}

/** The nearest and farthest alphas; served as research.neighbours. */
export function neighbours({ caller, path, id, state, pick, fold, window }) {
  if (!caller.callable_endpoints.includes("research.neighbours")) return {};
  const order = { value: "nearest" };
  const screens = ["research.screen", "performance.metrics"].every((name) => caller.callable_endpoints.includes(name));
  const made = panel("Neighbours", {
    id: "near", file: `${id}-neighbours`, wide: true, fold: fold("near"), about: "The alpha among the others: multiple-testing figures, and the most and least correlated ones.",
    controls: [
      segments("By", BY, state.near, (near) => pick({ near }, "near")),
      choice("Order", [["nearest", "nearest first"], ["farthest", "farthest first"], ["strongest", "strongest first, whatever its sign"]], "nearest", (value) => { order.value = value; made.reload(); }),
    ],
    load: async () => {
      const query = { book: state.book, order: order.value, ...window() };
      // Scores and holdings are read from each alpha's files, so of many alphas only those nearest by returns are compared.
      let among = null;
      if (state.near !== "returns") {
        const first = await get(`${path}/neighbours`, { ...query, by: "returns", limit: MOST_AMONG });
        if (first.pagination.total > MOST_AMONG) among = first.data.map((row) => row.alpha_id).join(",");
      }
      const { data, meta } = await get(`${path}/neighbours`, { ...query, by: state.near, among, limit: 10 });
      const place = screens ? await amongAll(id) : null;
      const left = Object.entries(meta.excluded).filter(([, count]) => count > 0).map(([reason, count]) => `${count} left out (${words(reason)})`);
      const value = state.near === "holdings" ? "overlap" : "correlation";
      const columns = [
        { title: "Alpha", make: (row) => el("a", { href: address(`alphas/${encodeURIComponent(row.alpha_id)}`, { book: state.book, ...window() }) }, row.name ?? row.alpha_id), by: (row) => row.name ?? row.alpha_id },
        numbers(value === "overlap" ? "Overlap" : "Correlation", null, data, (row) => row[value]),
        numbers("Observations", state.near === "scores" ? "weeks" : "sessions", data, (row) => row.observations),
      ];
      const picks = { alphas: [id, ...data.slice(0, 3).map((row) => row.alpha_id)].join(","), book: state.book, ...window() };
      return {
        content: data.length ? table("Neighbours", columns, data) : el("p", { class: "empty" }, "No other alpha that this key may read can be compared."),
        notes: [
          place ? el("p", { class: "fine", id: "among-all" }, place) : "",
          el("p", { class: "fine" }, [`${meta.compared} compared${meta.first_date ? `, ${dayText(meta.first_date)} to ${dayText(meta.last_date)}` : ""}`, ...left, among ? `of the ${MOST_AMONG} that daily returns bring first` : ""].filter(Boolean).join("; ") + "."),
          data.length ? el("a", { href: address("compare", picks) }, data.length < 3 ? "Compare with these" : "Compare with the first three") : "",
        ],
        data: { columns: ["alpha_id", "name", value, "observations"], rows: data.map((row) => [row.alpha_id, row.name, row[value], row.observations]) },
      };
    },
  });
  return { near: made };
}

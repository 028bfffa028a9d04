// The score: weekly IC, deciles, horizons, and how the book trades on it. All from /metrics and /equity-curve.

import { get, remarks } from "./api.js";
import * as charts from "./charts.js";
import { Unavailable, el, segments, table } from "./dom.js";
import { HEADLINES, asPercent, headlineColumns, ofWindow, withheldNotes } from "./figures.js";
import { panel } from "./panel.js";
import { withoutRankCorrelation } from "./returns.js";

const SPANS = [["13", "13 weeks"], ["26", "26 weeks"], ["52", "52 weeks"]];
const BEFORE_SMOOTHING = "Signal before smoothing.";

const MISSING = "the run has no data of it.";

/** The reason why a block of the metrics is null, without the block's name. */
const reasonOf = (warnings, name) => warnings.find((one) => one.block === name)?.message.replace(/^[\w.]+ is null: /, "");

/** A block of the metrics; throws the reason if it is null. */
const needed = (block, warnings, name) => {
  if (block) return block;
  throw new Unavailable(reasonOf(warnings, name) ?? MISSING);
};

/** A note on the weeks of a chart without a bar: `of` names the member with the value, `weeks` the one with the place. */
const unmeasured = (points, of, weeks) => {
  const missing = points.filter((point) => point[of] === null).map((point) => point[weeks]);
  return missing.length ? [el("p", { class: "fine" }, `No value at ${missing.join(", ")} weeks: none of the weeks measures it.`)] : [];
};

/** Served as research.signal: how the delivered score ranks names and decays, over the whole run. */
function delivered({ caller, path, id, some }) {
  if (!caller.callable_endpoints.includes("research.signal")) return {};
  const withBlock = async (name) => {
    const { data } = await get(`${path}/signal`);
    if (data[name] === null) throw new Unavailable(data.withheld[name] ?? MISSING);
    return data;
  };
  const buckets = panel("Deciles of the delivered score", {
    id: "delivered-deciles", file: `${id}-delivered-deciles`, about: "Delivered score, whole run.", lazy: true,
    load: async () => {
      const { delivered: block, withheld } = await withBlock("delivered");
      const rows = block.deciles;
      if (rows === null) throw new Unavailable(withheld["delivered.deciles"]);
      return {
        chart: (theme) => charts.deliveredDeciles({ buckets: rows }, theme),
        notes: [el("p", { class: "fine" }, `${charts.counted(block.weeks, "week")}; top less bottom ${asPercent(block.spread)} a week, HAC t-stat ${charts.shown(block.spread_t_stat)}; test of monotonicity (Patton and Timmermann) p ${charts.shown(block.monotonicity.p_value, 2)}.`),
          ...withheldNotes(withheld, { "delivered.spread_t_stat": "t-stat", "delivered.monotonicity.p_value": "Test of monotonicity" })],
      };
    },
  });
  const delay = panel("IC by delay", {
    id: "delay", file: `${id}-ic-by-delay`, about: "Delivered score, whole run.", lazy: true,
    load: async () => {
      const data = await withBlock("ic_by_delay");
      const points = some(data.ic_by_delay);
      const half = data.half_life_weeks === null ? `No half-life: ${data.withheld.half_life_weeks}.` : `Half of the IC is left after ${charts.shown(data.half_life_weeks)} weeks.`;
      const sides = [["long", data.long_side], ["short", data.short_side]].filter(([, side]) => (side?.mean_ic ?? null) !== null).map(([name, side]) => `${name} side ${charts.shown(side.mean_ic)}`);
      return { chart: (theme) => charts.icByDelay({ points }, theme), notes: [el("p", { class: "fine" }, [half, sides.length ? `IC of the ${sides.join(", of the ")}.` : ""].join(" ")),
        ...withheldNotes(data.withheld, { "long_side.mean_ic": "IC of the long side", "short_side.mean_ic": "IC of the short side" }),
        ...unmeasured(points, "mean_ic", "delay_weeks")] };
    },
  });
  return { buckets, delay };
}

export function signal({ caller, path, id, state, pick, metrics, curve, some, zoom }) {
  const named = (what) => `${id}-${what}`;
  const fromMetrics = (make) => async () => {
    const { data, meta } = await metrics();
    return make(data, remarks(meta));
  };

  const ic = panel("Weekly IC", {
    id: "ic", file: named("weekly-ic"), tall: true, wide: true,
    controls: [segments("Weeks of the rolling mean", SPANS, state.span, (span) => pick({ span }, "ic"))],
    load: fromMetrics((data, warnings) => {
      const weekly = some(needed(data.panel, warnings, "panel").ic_weekly);
      const test = ofWindow(data).nwt.ic;
      const over = data.within_window ? "Mean of the window" : undefined;
      const block = data.within_window ? "within_window.nwt.ic" : "nwt.ic";
      const notes = test
        ? [el("p", { class: "fine", id: "ic-test", "data-mean": test.mean, "data-standard-error": test.standard_error },
          `${data.within_window ? "Window" : "Whole run"}: mean ${charts.shown(test.mean)}, Newey-West standard error ${charts.shown(test.standard_error)} (${test.lag} lags), t-stat ${charts.shown(test.t_stat)}, p ${charts.shown(test.p_value, 2)}.`)]
        : [el("p", { class: "fine" }, reasonOf(warnings, block) ?? "")];
      return { chart: (theme) => charts.weeklyIc({ weekly, span: Number(state.span), test, over }, theme), notes, zoom };
    }),
  });
  const deciles = panel("Deciles", {
    id: "deciles", file: named("deciles"), about: BEFORE_SMOOTHING,
    load: fromMetrics((data, warnings) => {
      const { buckets, weeks, monotonicity } = needed(data.ic_deciles, warnings, "ic_deciles");
      const rho = monotonicity.spearman_bucket_vs_mean_forward_return;
      return {
        chart: (theme) => charts.deciles({ buckets: some(buckets) }, theme),
        notes: [el("p", { class: "fine" }, `${charts.counted(weeks, "week")}; top less bottom ${asPercent(monotonicity.top_minus_bottom)} a week; rank correlation of decile and return ${rho === null ? `withheld: ${withoutRankCorrelation(buckets)}` : charts.shown(rho)}.`)],
      };
    }),
  });
  const terms = panel("IC term structure", {
    id: "term-structure", file: named("term-structure"), about: BEFORE_SMOOTHING,
    load: fromMetrics((data, warnings) => {
      const points = some(needed(data.panel, warnings, "panel").ic_term_structure);
      return { chart: (theme) => charts.termStructure({ points }, theme), notes: unmeasured(points, "mean_ic", "horizon_weeks") };
    }),
  });
  const persistence = panel("Rank autocorrelation", {
    id: "persistence", file: named("rank-autocorrelation"), about: BEFORE_SMOOTHING,
    load: fromMetrics((data, warnings) => {
      const points = some(needed(data.panel, warnings, "panel").rank_autocorrelation);
      return { chart: (theme) => charts.rankAutocorrelation({ points }, theme), notes: unmeasured(points, "rho", "lag_weeks") };
    }),
  });
  const turnover = panel("Turnover", {
    id: "turnover", file: named("turnover"),
    load: async () => {
      const rows = some((await curve()).rows);
      return { chart: (theme) => charts.turnover({ rows }, theme) };
    },
  });
  const exposure = panel("Gross and net exposure", {
    id: "exposures", file: named("exposures"),
    load: async () => {
      const rows = some((await curve()).rows);
      return { chart: (theme) => charts.exposures({ rows }, theme) };
    },
  });
  const years = panel("By year", {
    id: "years", file: named("years"), wide: true, room: 0,
    load: fromMetrics((data) => {
      const periods = some(ofWindow(data).periods ?? []);
      const columns = [{ title: "Year", make: (row) => row.period, by: (row) => row.period }, ...headlineColumns(periods, (row, name) => row.core[name])];
      return {
        content: table("Figures by year", columns, periods),
        data: { columns: ["year", ...HEADLINES.map(([name]) => name)], rows: periods.map((row) => [row.period, ...HEADLINES.map(([name]) => row.core[name].value)]) },
      };
    }),
  });
  return { ...delivered({ caller, path, id, some }), ic, deciles, terms, persistence, turnover, exposure, years };
}

// Daily returns by month and by size, rolling risk, and conclusions in sentences, from served rows and figures.

import { axis, bars, base, counted, day, dayText, line, shown, tQuantile, tick, timeAxis, withTips } from "./charts.js";

const BINS = 41;
const SIGNIFICANCE = 0.05;
const NEUTRAL = 0.2;
const asPercent = (value) => `${shown(value * 100)}%`;
const grown = (returns) => returns.reduce((growth, value) => growth * (1 + value), 1) - 1;

/** Compounded monthly and yearly returns of an equity curve; months without a session are null. */
export function calendar(rows) {
  const years = new Map();
  for (const { date, period_return: value } of rows) {
    if (value === null) return null; // equity that is not above 0 has no return
    const [year, month] = date.split("-");
    if (!years.has(year)) years.set(year, Array.from({ length: 12 }, () => []));
    years.get(year)[Number(month) - 1].push(value);
  }
  return [...years].map(([year, months]) => ({
    year,
    months: months.map((returns) => (returns.length ? grown(returns) : null)),
    total: grown(months.flat()),
  }));
}

/** rows: as /equity-curve; histogram of the daily returns. */
export function distribution({ rows }, theme) {
  const returns = rows.map((row) => row.period_return).filter((value) => value !== null);
  const reach = Math.max(...returns.map(Math.abs)) || 1;
  const width = (2 * reach) / BINS;
  const counts = Array.from({ length: BINS }, () => 0);
  for (const value of returns) counts[Math.min(BINS - 1, Math.floor((value + reach) / width))] += 1;
  const places = Math.max(1, Math.ceil(-Math.log10(100 * width)));
  const edges = counts.map((_, i) => [-reach + i * width, -reach + (i + 1) * width]);
  const worst = Math.min(...returns);
  const best = Math.max(...returns);
  const made = bars(
    {
      title: "Daily returns",
      about: `${returns.length} daily returns: the worst ${asPercent(worst)}, the best ${asPercent(best)}, ${returns.filter((value) => value > 0).length} above 0.`,
      labels: edges.map(([low, high]) => (Number((50 * (low + high)).toFixed(places)) || 0).toFixed(places)),
      values: counts,
      colours: edges.map(([low, high]) => (low + high < 0 ? theme.negative : theme.positive)),
      x: "return of a session (%)",
      y: "sessions",
      write: (value, i) => [counted(value, "session"), `${asPercent(edges[i][0])} to ${asPercent(edges[i][1])}`],
      table: { columns: ["from (ratio)", "to (ratio)", "sessions (count)"], rows: edges.map((edge, i) => [...edge, counts[i]]) },
    },
    theme,
  );
  made.config.data.datasets[0].barPercentage = 1;
  made.config.data.datasets[0].categoryPercentage = 0.95;
  return made;
}

/** points: as risk.rolling. */
export function rollingRisk({ points }, theme) {
  const x = points.map((point) => day(point.date));
  const config = base(theme);
  config.data.datasets = [
    line("Sharpe ratio", x, points.map((point) => point.sharpe), theme.series[0], { yAxisID: "sharpe" }),
    line("Volatility", x, points.map((point) => point.volatility * 100), theme.series[1], { yAxisID: "volatility" }),
  ];
  const part = { axis: "y", stack: "panels", offset: true, stackWeight: 1 };
  config.options.scales = {
    x: timeAxis(theme, "month"),
    sharpe: axis(theme, "Sharpe ratio", { ...part, weight: 2, ticks: { callback: tick, maxTicksLimit: 5 } }),
    volatility: axis(theme, "volatility (% a year)", { ...part, weight: 1, ticks: { callback: tick, maxTicksLimit: 5 } }),
  };
  withTips(config, (item) => (item.dataset.yAxisID === "volatility" ? `${shown(item.parsed.y)}% a year` : shown(item.parsed.y)));
  return {
    title: "Rolling Sharpe ratio and volatility",
    about: `Sharpe ratio and volatility of the year up to each of ${points.length} months, ${dayText(points[0].date)} to ${dayText(points.at(-1).date)}.`,
    config,
    table: { columns: ["date", "sharpe (ratio, annualised)", "volatility (ratio, annualised)"], rows: points.map((p) => [p.date, p.sharpe, p.volatility]) },
  };
}

/** points: as exposures.models[].rolling: betas over the sessions up to each date. */
export function rollingBeta({ points, sessions }, theme) {
  const x = points.map((point) => day(point.date));
  const names = Object.keys(points[0].betas);
  const config = base(theme);
  config.data.datasets = names.map((name, i) => line(name, x, points.map((point) => point.betas[name]), theme.series[i % theme.series.length]));
  config.options.scales = { x: timeAxis(theme, "session"), y: axis(theme, "beta (× its return)", { ticks: { callback: tick, maxTicksLimit: 6 } }) };
  withTips(config, (item) => shown(item.parsed.y));
  return {
    title: "Rolling beta",
    about: `Beta to ${names.join(", ")} over ${sessions} sessions up to each of ${points.length} days, ${dayText(points[0].date)} to ${dayText(points.at(-1).date)}.`,
    config,
    table: { columns: ["date", ...names.map((name) => `beta to ${name} (ratio)`)], rows: points.map((point) => [point.date, ...names.map((name) => point.betas[name])]) },
  };
}

/** Correlation of two series of equal length. */
function correlation(one, other) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [a, b] = [mean(one), mean(other)];
  let [both, first, second] = [0, 0, 0];
  for (const [i, value] of one.entries()) {
    both += (value - a) * (other[i] - b);
    first += (value - a) ** 2;
    second += (other[i] - b) ** 2;
  }
  return both / Math.sqrt(first * second);
}

/** Why deciles and their mean returns have no rank correlation; buckets: as ic_deciles. */
export const withoutRankCorrelation = (buckets) =>
  buckets.filter((bucket) => bucket.mean_forward_return !== null).length < 2 ? "fewer than two deciles have a return" : "all deciles have the same mean return";

/** Daily returns of a growth curve, which starts from 1. */
const returnsOf = (points) => new Map(points.map(({ date, growth }, i) => [date, growth / (i === 0 ? 1 : points[i - 1].growth) - 1]));

/**
 * Conclusions on an alpha, one sentence per topic; a missing or withheld input gives no sentence.
 * test: nwt.ic; why: the reason if it is null; rows: as /equity-curve; benchmark: {symbol, points: [{date, growth}]};
 * delivered: signal.delivered, and withheld: its reasons; deciles: ic_deciles, of the signal before smoothing, used without `delivered`; names: [{symbol, net_pnl}]; costs: as research.costs; all may be null.
 */
export function conclusions({ book, test, why, rows, benchmark, delivered, withheld, deciles, names, costs }) {
  const sentences = [];
  if (test) {
    const reach = tQuantile(test.n - 1) * test.standard_error;
    sentences.push(["skill", `Over ${test.n} weeks the mean IC is ${shown(test.mean)} (95% interval ${shown(test.mean - reach)} to ${shown(test.mean + reach)}, t ${shown(test.t_stat)}): at the 5% level it ${test.p_value < SIGNIFICANCE ? "differs from zero" : "does not differ significantly from zero"}.`]);
  } else if (why) sentences.push(["skill", `Whether the mean IC differs from zero is withheld: ${why}`]);
  const last = rows?.at(-1);
  if (last && last.cumulative_return !== null) {
    const deepest = Math.max(...rows.map((row) => row.drawdown_pct ?? 0));
    sentences.push(["return", `The book ${book} returned ${asPercent(last.cumulative_return)} over ${counted(rows.length, "session")}; its deepest drawdown was ${shown(deepest)}%.`]);
  }
  // A session that opens without equity has no return, and figures of the others alone are withheld everywhere.
  if (benchmark && benchmark.points.length > 2 && rows.every((row) => row.period_return !== null)) {
    const other = returnsOf(benchmark.points);
    const both = rows.filter((row, i) => i > 0 && other.has(row.date));
    const rho = correlation(both.map((row) => row.period_return), both.map((row) => other.get(row.date)));
    if (Number.isFinite(rho)) {
      sentences.push(["benchmark", `${benchmark.symbol} returned ${asPercent(benchmark.points.at(-1).growth - 1)} meanwhile; daily returns of the two correlate at ${rho.toFixed(2)}: the book is ${Math.abs(rho) > NEUTRAL ? "not" : "close to"} neutral to it.`]);
    }
  }
  const ofScore = delivered?.spread ?? null;
  const spread = ofScore ?? deciles?.monotonicity.top_minus_bottom;
  if (spread !== null && spread !== undefined) {
    const earned = `the top decile earned ${Math.abs(spread * 1e4).toFixed(1)} basis points a week ${spread < 0 ? "less" : "more"} than the bottom one`;
    const rho = deciles?.monotonicity.spearman_bucket_vs_mean_forward_return ?? null;
    const t = delivered?.spread_t_stat ?? null;
    sentences.push(["deciles", ofScore !== null
      ? `By the delivered score, ${earned} (HAC t ${t === null ? `withheld: ${withheld["delivered.spread_t_stat"]}` : shown(t)}).`
      : `Of the signal before smoothing, ${earned}; ${rho === null ? `the rank correlation of deciles and their mean returns is withheld: ${withoutRankCorrelation(deciles.buckets)}` : `deciles and their mean returns rank-correlate at ${rho.toFixed(2)}`}.`]);
  }
  if (costs && costs.execution_cost !== null && costs.borrow_cost !== null) {
    const sharpes = costs.gross && costs.net && costs.gross.sharpe !== null && costs.net.sharpe !== null;
    sentences.push(["costs", `Trading and borrowing cost ${asPercent(costs.execution_cost + costs.borrow_cost)} of equity a year${sharpes ? `: the Sharpe ratio is ${costs.gross.sharpe.toFixed(2)} before them and ${costs.net.sharpe.toFixed(2)} after` : ""}.`]);
  }
  if (names?.length) {
    const sorted = [...names].sort((a, b) => b.net_pnl - a.net_pnl);
    const sum = (list) => list.reduce((total, { net_pnl }) => total + net_pnl, 0);
    const total = sum(sorted);
    const earned = sorted.filter(({ net_pnl }) => net_pnl > 0).length;
    sentences.push(["concentration", `Of ${sorted.length} names ${earned} earned${total > 0 ? `; the best five made ${asPercent(sum(sorted.slice(0, 5)) / total)} of the profit` : "; there was no profit to share"}.`]);
  }
  return sentences.map(([about, text]) => ({ about, text }));
}

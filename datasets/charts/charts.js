// Charts from figures: each function returns {title, about, config, table}. `config` is for the library (new Chart(canvas, config)),
// and `table` has the same figures as rows and columns with units, for downloads and screen readers.
// These functions make no requests, store nothing, and compute nothing that the API already returns.

const PERCENT = 100;
const DASH = [5, 4];
const HALF_WEEK = 3.5 * 24 * 3600 * 1000;

// ---- values ----

/** Milliseconds of a day's local midnight, because the time axis shows local days. */
export function day(text) {
  const [year, month, number] = text.split("-").map(Number);
  return new Date(year, month - 1, number).getTime();
}

export function isoDay(milliseconds) {
  const date = new Date(milliseconds);
  const two = (n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Names of the months, in order. */
export function months() {
  return MONTHS;
}

/** Format a day, or the day of a timestamp: 3 Mar 2024. */
export function dayText(text) {
  const [year, month, number] = text.slice(0, 10).split("-");
  return `${Number(number)} ${MONTHS[Number(month) - 1]} ${year}`;
}

const ISO_DAY = /\b\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:T(\d\d:\d\d)[\d:.]*(?:Z|\+00:00))?\b/g;

/** Format the days and timestamps in a message of the API like everywhere on the page. */
export function dated(message) {
  return message.replace(ISO_DAY, (text, minutes) => `${dayText(text)}${minutes ? `, ${minutes} UTC` : ""}`);
}

/** Format a number to its significant digits; a dash for null. */
export function shown(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(Math.max(digits - 1, 0));
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toLocaleString("en-GB", { minimumFractionDigits: Math.min(places, 6), maximumFractionDigits: Math.min(places, 6) });
}

/** Format a count of things: 1 session, 1,200 sessions. */
export const counted = (value, thing) => `${value.toLocaleString("en-GB")} ${thing}${value === 1 ? "" : "s"}`;

/** Format a value of an axis with enough decimals to tell its ticks apart. */
export function tick(value, at, ticks) {
  const step = ticks.length > 1 ? Math.min(...ticks.slice(1).map((one, i) => Math.abs(one.value - ticks[i].value))) : Math.abs(value) || 1;
  const places = Math.min(8, Math.max(0, Math.ceil(-Math.log10(step) - 1e-6)));
  return value.toLocaleString("en-GB", { minimumFractionDigits: places, maximumFractionDigits: places });
}

const times = (value) => `${shown(value, 4)}×`;
const percent = (value) => `${shown(value)}%`;

// ---- shared by all charts ----

export function base(theme, type = "line") {
  return {
    type,
    data: { datasets: [] },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      normalized: true,
      interaction: { mode: "index", intersect: false },
      layout: { padding: { right: 8 } },
      elements: { point: { radius: 0, hoverRadius: 3, hitRadius: 6 }, line: { borderWidth: 1.75, tension: 0 } },
      font: { family: theme.font, size: 12 },
      color: theme.text,
      scales: {},
      plugins: {
        legend: {
          align: "start",
          labels: { color: theme.text, font: { family: theme.font, size: 12 }, boxWidth: 14, boxHeight: 2, padding: 12 },
        },
        tooltip: {
          backgroundColor: theme.tip,
          titleColor: theme.tipText,
          bodyColor: theme.tipText,
          borderColor: theme.grid,
          borderWidth: 1,
          padding: 10,
          boxWidth: 8,
          boxHeight: 8,
          titleFont: { family: theme.font },
          bodyFont: { family: theme.font },
          callbacks: {},
        },
      },
    },
  };
}

export function axis(theme, title, more = {}) {
  return {
    grid: { color: theme.grid, drawTicks: false },
    border: { display: false },
    ticks: { color: theme.muted, font: { family: theme.font, size: 11 }, padding: 6, maxRotation: 0, ...more.ticks },
    title: { display: true, text: title, color: theme.muted, font: { family: theme.font, size: 11 } },
    ...Object.fromEntries(Object.entries(more).filter(([name]) => name !== "ticks")),
  };
}

/** An axis of growth, linear or logarithmic; the library alone would label every tick of a logarithmic axis. */
function growthAxis(theme, log, more = {}) {
  return axis(theme, log ? "growth of 1 (×, log)" : "growth of 1 (×)", {
    type: log ? "logarithmic" : "linear",
    afterBuildTicks: (scale) => {
      const step = Math.ceil(scale.ticks.length / 7);
      if (log && step > 1) scale.ticks = scale.ticks.filter((_, i) => i % step === 0);
    },
    ticks: { callback: tick, maxTicksLimit: 7 },
    ...more,
  });
}

export function timeAxis(theme, title) {
  return axis(theme, title, {
    type: "time",
    time: {
      minUnit: "day",
      tooltipFormat: "d MMM yyyy",
      displayFormats: { day: "d MMM yy", week: "d MMM yy", month: "MMM yy", quarter: "MMM yy", year: "yyyy" },
    },
    grid: { display: false },
    ticks: { autoSkip: true, autoSkipPadding: 24, source: "auto" },
  });
}

export function line(label, x, y, colour, more = {}) {
  return {
    label,
    data: x.map((at, i) => ({ x: at, y: y[i] })),
    borderColor: colour,
    backgroundColor: colour,
    spanGaps: false,
    ...more,
  };
}

export function withTips(config, write) {
  config.options.plugins.tooltip.callbacks.label = (item) => {
    const text = write(item);
    return text === null ? undefined : ` ${item.dataset.label}: ${text}`;
  };
  return config;
}

/** Hide some lines of a chart, such as the edges of a band, from the legend and the tooltips. */
function hideFromReader(config, isHidden) {
  config.options.plugins.legend.labels.filter = (item, data) => !isHidden(data.datasets[item.datasetIndex]);
  config.options.plugins.tooltip.filter = (item) => !isHidden(item.dataset);
  return config;
}

function faded(colour, strength) {
  const [, r, g, b] = /^#(..)(..)(..)$/.exec(colour) ?? [null, "80", "80", "80"];
  return `rgba(${parseInt(r, 16)}, ${parseInt(g, 16)}, ${parseInt(b, 16)}, ${strength})`;
}

// ---- the charts of one alpha ----

/**
 * Growth of one unit and drawdown by session.
 * rows: as /equity-curve; benchmark: null or {symbol, points: [{date, growth}]}, with the same base.
 */
export function equity({ book, rows, benchmark = null, log = false }, theme) {
  const x = rows.map((row) => day(row.date));
  const growth = rows.map((row) => (row.cumulative_return === null ? null : 1 + row.cumulative_return));
  const drawdown = rows.map((row) => (row.drawdown_pct === null ? null : -row.drawdown_pct));
  const at = new Map((benchmark?.points ?? []).map((point) => [point.date, point.growth]));
  const beside = rows.map((row) => at.get(row.date) ?? null);

  const config = base(theme);
  config.data.datasets = [
    line(book, x, growth, theme.series[0], { yAxisID: "growth" }),
    ...(benchmark
      ? [line(benchmark.symbol, x, beside, theme.muted, { yAxisID: "growth", borderDash: DASH, spanGaps: true, borderWidth: 1.4 })]
      : []),
    line(`Drawdown of ${book}`, x, drawdown, theme.negative, {
      yAxisID: "drawdown",
      borderWidth: 1,
      fill: { target: "origin", above: faded(theme.negative, 0.2), below: faded(theme.negative, 0.2) },
    }),
  ];
  config.options.scales = {
    x: timeAxis(theme, "session"),
    growth: growthAxis(theme, log, { axis: "y", stack: "panels", stackWeight: 3, weight: 2, offset: true }),
    drawdown: axis(theme, "drawdown (%)", {
      axis: "y",
      stack: "panels",
      stackWeight: 1.6,
      weight: 1,
      max: 0,
      offset: false,
      ticks: { callback: tick, maxTicksLimit: 4 },
    }),
  };
  withTips(config, (item) =>
    item.dataset.yAxisID === "drawdown" ? percent(item.parsed.y) : times(item.parsed.y),
  );
  const last = growth.at(-1);
  const worst = Math.min(0, ...drawdown.filter((value) => value !== null));
  return {
    title: "Equity and drawdown",
    about: `Growth of 1 in the book ${book}${benchmark ? ` compared with ${benchmark.symbol}` : ""}, ${counted(rows.length, "session")} from ${dayText(rows[0].date)} to ${dayText(rows.at(-1).date)}: ${times(last)} at the end, deepest drawdown ${percent(-worst)}.`,
    config,
    table: {
      columns: ["date", "growth of 1 (ratio)", "drawdown_pct (percentage points)", ...(benchmark ? [`${benchmark.symbol} growth of 1 (ratio)`] : [])],
      rows: rows.map((row, i) => [row.date, growth[i], row.drawdown_pct, ...(benchmark ? [beside[i]] : [])]),
    },
  };
}

/** Lag of the Newey-West rule floor(4 (n / 100)^(2/9)), in whole numbers. */
function bandwidth(n) {
  let lag = 0;
  while ((lag + 1) ** 9 * 100 ** 2 <= 4 ** 9 * n ** 2) lag += 1;
  return lag;
}

/** Mean of a series with its Newey-West standard error, as in the API; null below ten observations. */
function neweyWest(series) {
  const n = series.length;
  if (n < 10) return null;
  const mean = series.reduce((sum, value) => sum + value, 0) / n;
  const off = series.map((value) => value - mean);
  const lag = bandwidth(n);
  let sum = 0;
  for (let end = 0; end < n + lag; end += 1) {
    let window = 0;
    for (let i = Math.max(0, end - lag); i <= Math.min(n - 1, end); i += 1) window += off[i];
    sum += window * window;
  }
  const variance = sum / (n * (lag + 1));
  return variance > 0 ? { mean, standardError: Math.sqrt(variance / n), lag, n } : null;
}

/** The 97.5% point of Student's t (Hill, 1970, algorithm 396). */
export function tQuantile(freedom) {
  const p = 0.05; // two-sided
  const n = freedom;
  const a = 1 / (n - 0.5);
  const b = 48 / a ** 2;
  let c = ((20700 * a) / b - 98) * a - 16;
  c = c * a + 96.36;
  const d = ((94.5 / (b + c) - 3) / b + 1) * Math.sqrt((a * Math.PI) / 2) * n;
  let y = (d * p) ** (2 / n);
  if (y > 0.05 + a) {
    const x = -1.959963984540054;
    y = x * x;
    if (n < 5) c += 0.3 * (n - 4.5) * (x + 0.6);
    c = (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b + c;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * -x;
    y = Math.expm1(a * y * y);
  } else {
    y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * ((n + 1) / (n + 2)) + 1 / y;
  }
  return Math.sqrt(n * y);
}

/** weekly: [{date, ic}] as panel.ic_weekly; span: weeks of the rolling mean; test: nwt.ic, or null. */
export function weeklyIc({ weekly, span, test = null, over = "Mean of the whole run" }, theme) {
  const x = weekly.map((week) => day(week.date));
  const ic = weekly.map((week) => week.ic);
  const rolling = ic.map((_, i) => (i + 1 < span ? null : neweyWest(ic.slice(i + 1 - span, i + 1))));
  const width = tQuantile(span - 1);
  const each = (make) => rolling.map((window) => (window === null ? null : make(window)));
  const mean = each((window) => window.mean);
  const upper = each((window) => window.mean + width * window.standardError);
  const lower = each((window) => window.mean - width * window.standardError);
  const label = `Rolling mean, ${span} weeks`;

  const config = base(theme, "bar");
  config.data.datasets = [
    line("Upper", x, upper, faded(theme.series[1], 0.35), { type: "line", borderWidth: 0.75, order: 1, edge: true }),
    line("95% Newey-West interval of it", x, lower, faded(theme.series[1], 0.35), {
      type: "line",
      borderWidth: 0.75,
      order: 1,
      fill: "-1",
      backgroundColor: faded(theme.series[1], 0.2),
    }),
    line(label, x, mean, theme.series[1], { type: "line", order: 0, borderWidth: 2 }),
    line("Weekly IC", x, ic, faded(theme.series[0], 0.55), { type: "bar", order: 2, barPercentage: 0.9, categoryPercentage: 0.9 }),
    ...(test
      ? [line(over, x, ic.map(() => test.mean), theme.positive, { type: "line", order: 0, borderDash: DASH, borderWidth: 1.25 })]
      : []),
  ];
  config.options.scales = {
    // No offset: the library would pad half a tick at each end, which is half a year on a small screen.
    x: { ...timeAxis(theme, "week"), offset: false, min: x[0] - HALF_WEEK, max: x.at(-1) + HALF_WEEK },
    y: axis(theme, "rank IC", { ticks: { callback: tick, maxTicksLimit: 7 } }),
  };
  hideFromReader(config, (dataset) => Boolean(dataset.edge));
  withTips(config, (item) =>
    item.dataset.fill ? `${shown(lower[item.dataIndex])} to ${shown(upper[item.dataIndex])}` : shown(item.parsed.y),
  );
  return {
    title: "Weekly information coefficient",
    about: `Rank correlation of score and forward return in ${weekly.length} weeks, with the rolling mean over ${span} weeks and its 95% Newey-West interval.${test ? ` ${over} ${shown(test.mean)}, t ${shown(test.t_stat)}.` : ""}`,
    config,
    table: {
      columns: ["date", "ic (correlation)", `rolling_mean_${span} (correlation)`, "lower_95 (correlation)", "upper_95 (correlation)"],
      rows: weekly.map((week, i) => [week.date, week.ic, mean[i], lower[i], upper[i]]),
    },
  };
}

export function bars({ title, about, labels, values, colours, x, y, write, table }, theme, horizontal = false) {
  const config = base(theme, "bar");
  config.data.labels = labels;
  config.data.datasets = [
    { label: title, data: values, backgroundColor: colours ?? theme.series[0], borderRadius: 2, maxBarThickness: 44 },
  ];
  config.options.plugins.legend.display = false;
  const category = axis(theme, x, { grid: { display: false }, type: "category", ticks: { autoSkip: !horizontal } });
  const value = axis(theme, y, { ticks: { callback: tick, maxTicksLimit: 7 } });
  if (horizontal) config.options.indexAxis = "y";
  config.options.scales = horizontal ? { y: category, x: value } : { x: category, y: value };
  config.options.plugins.tooltip.displayColors = false;
  config.options.plugins.tooltip.callbacks.label = (item) => write(values[item.dataIndex], item.dataIndex);
  return { title, about, config, table };
}

/** buckets: as ic_deciles.buckets. */
export function deciles({ buckets }, theme) {
  const returns = buckets.map((bucket) => bucket.mean_forward_return);
  const values = returns.map((value) => (value === null ? null : value * PERCENT));
  return bars(
    {
      title: "Deciles",
      about: `Mean forward return of ten buckets by score, from ${percent(values[0])} a week of the lowest to ${percent(values.at(-1))} of the highest.`,
      labels: buckets.map((bucket) => bucket.bucket),
      values,
      colours: values.map((value) => (value < 0 ? theme.negative : theme.series[0])),
      x: "decile of the score, lowest first",
      y: "return (% a week)",
      write: (value, i) => [`${percent(value)} a week`, `${counted(buckets[i].n_return_obs, "return")} in ${counted(buckets[i].weeks, "week")}`],
      table: {
        columns: ["bucket", "mean_forward_return (ratio)", "mean_score_z (standard deviations)", "ic (correlation)", "mean_n_symbols (count)", "n_return_obs (count)", "weeks (count)"],
        rows: buckets.map((b) => [b.bucket, b.mean_forward_return, b.mean_score_z, b.ic, b.mean_n_symbols, b.n_return_obs, b.weeks]),
      },
    },
    theme,
  );
}

/** buckets: as signal.delivered.deciles. */
export function deliveredDeciles({ buckets }, theme) {
  const values = buckets.map((bucket) => bucket.mean_forward_return * PERCENT);
  return bars(
    {
      title: "Deciles of the delivered score",
      about: `Mean forward return of ten buckets by the delivered score, from ${percent(values[0])} a week of the lowest to ${percent(values.at(-1))} of the highest.`,
      labels: buckets.map((bucket) => bucket.bucket),
      values,
      colours: values.map((value) => (value < 0 ? theme.negative : theme.series[0])),
      x: "decile of the delivered score, lowest first",
      y: "return (% a week)",
      write: (value) => `${percent(value)} a week`,
      table: { columns: ["bucket", "mean_forward_return (ratio)"], rows: buckets.map((b) => [b.bucket, b.mean_forward_return]) },
    },
    theme,
  );
}

/** points: as signal.ic_by_delay. */
export function icByDelay({ points }, theme) {
  return bars(
    {
      title: "IC by delay",
      about: `Mean rank correlation of forward returns with the score of ${points.map((p) => p.delay_weeks).join(", ")} weeks before.`,
      labels: points.map((point) => `${point.delay_weeks}`),
      values: points.map((point) => point.mean_ic),
      x: "age of the score (weeks)",
      y: "mean rank IC",
      write: (value, i) => [shown(value), `t ${shown(points[i].t_stat)}`, `${counted(points[i].weeks, "week")} measured`],
      table: {
        columns: ["delay_weeks (weeks)", "mean_ic (correlation)", "t_stat (standard errors)", "weeks (count)"],
        rows: points.map((p) => [p.delay_weeks, p.mean_ic, p.t_stat, p.weeks]),
      },
    },
    theme,
  );
}

/** points: as panel.ic_term_structure. */
export function termStructure({ points }, theme) {
  return bars(
    {
      title: "IC term structure",
      about: `Mean rank correlation of the score with the return of holding for ${points.map((p) => `${p.horizon_weeks}`).join(", ")} weeks.`,
      labels: points.map((point) => `${point.horizon_weeks}`),
      values: points.map((point) => point.mean_ic),
      x: "holding period (weeks)",
      y: "mean rank IC",
      write: (value, i) => [shown(value), `${counted(points[i].weeks, "week")} measured`],
      table: {
        columns: ["horizon_weeks (weeks)", "mean_ic (correlation)", "weeks (count)"],
        rows: points.map((p) => [p.horizon_weeks, p.mean_ic, p.weeks]),
      },
    },
    theme,
  );
}

/** points: as panel.rank_autocorrelation. */
export function rankAutocorrelation({ points }, theme) {
  return bars(
    {
      title: "Rank autocorrelation",
      about: "Mean rank correlation of a week's scores with those of weeks before.",
      labels: points.map((point) => `${point.lag_weeks}`),
      values: points.map((point) => point.rho),
      colours: theme.series[2],
      x: "lag (weeks)",
      y: "rank correlation",
      write: (value, i) => [shown(value), `${counted(points[i].weeks, "week")} measured`],
      table: {
        columns: ["lag_weeks (weeks)", "rho (correlation)", "weeks (count)"],
        rows: points.map((p) => [p.lag_weeks, p.rho, p.weeks]),
      },
    },
    theme,
  );
}

/** rows: as /equity-curve; the sessions' one-sided turnover, summed by month. */
export function turnover({ rows }, theme) {
  const months = new Map();
  for (const row of rows) months.set(row.date.slice(0, 7), (months.get(row.date.slice(0, 7)) ?? 0) + row.turnover);
  const labels = [...months.keys()].map((month) => dayText(`${month}-01`).slice(2));
  const values = [...months.values()].map((value) => value * PERCENT);
  return bars(
    {
      title: "Turnover",
      about: `One-sided turnover of each of ${labels.length} months, as a share of equity.`,
      labels,
      values,
      colours: theme.series[3],
      x: "month",
      y: "turnover (% a month)",
      write: (value) => `${percent(value)} of equity`,
      table: { columns: ["month", "turnover (ratio, sum of the sessions)"], rows: [...months] },
    },
    theme,
  );
}

/** rows: as /equity-curve. */
export function exposures({ rows }, theme) {
  const x = rows.map((row) => day(row.date));
  const config = base(theme);
  config.data.datasets = [
    line("Gross", x, rows.map((row) => row.gross_exposure), theme.series[0]),
    line("Net", x, rows.map((row) => row.net_exposure), theme.series[1]),
  ];
  config.options.scales = {
    x: timeAxis(theme, "session"),
    y: axis(theme, "× equity", { ticks: { callback: tick, maxTicksLimit: 6 } }),
  };
  withTips(config, (item) => times(item.parsed.y));
  return {
    title: "Gross and net exposure",
    about: `Gross and net exposure over ${counted(rows.length, "session")}, in multiples of equity.`,
    config,
    table: {
      columns: ["date", "gross_exposure (ratio)", "net_exposure (ratio)"],
      rows: rows.map((row) => [row.date, row.gross_exposure, row.net_exposure]),
    },
  };
}

/** names: [{symbol, net_pnl}] in any order; shows the best and worst, as fractions of the opening equity on the day `since`. */
export function bestAndWorst({ names, equity, since, count = 8 }, theme) {
  const sorted = [...names].sort((a, b) => b.net_pnl - a.net_pnl || (a.symbol < b.symbol ? -1 : 1));
  const picked = sorted.length > 2 * count ? [...sorted.slice(0, count), ...sorted.slice(-count)] : sorted;
  return bars(
    {
      title: "Best and worst names",
      about: `Net profit of ${names.length} names, in parts of the equity at the open of ${dayText(since)}; the best is ${sorted[0]?.symbol}, the worst ${sorted.at(-1)?.symbol}.`,
      labels: picked.map((name) => name.symbol),
      values: picked.map((name) => (name.net_pnl / equity) * PERCENT),
      colours: picked.map((name) => (name.net_pnl < 0 ? theme.negative : theme.positive)),
      x: "",
      y: "net profit (% of equity)",
      write: (value) => percent(value),
      table: { columns: ["symbol", "net_pnl (base currency)", "share of equity (ratio)"], rows: sorted.map((name) => [name.symbol, name.net_pnl, name.net_pnl / equity]) },
    },
    theme,
    true,
  );
}

// ---- the charts of several alphas ----

/** curves: [{name, points: [{date, growth}]}]; all start from 1 at the same session. */
export function curves({ curves: lines, log = false, emphasised = null }, theme) {
  const config = base(theme);
  config.data.datasets = lines.map((one, i) =>
    line(one.name, one.points.map((p) => day(p.date)), one.points.map((p) => p.growth),
      one.name === emphasised ? theme.text : theme.series[i % theme.series.length],
      one.name === emphasised ? { borderWidth: 2.75 } : {}),
  );
  config.options.scales = {
    x: timeAxis(theme, "session"),
    y: growthAxis(theme, log),
  };
  withTips(config, (item) => times(item.parsed.y));
  const dates = [...new Set(lines.flatMap((one) => one.points.map((p) => p.date)))].sort();
  const byDate = lines.map((one) => new Map(one.points.map((p) => [p.date, p.growth])));
  return {
    title: "Curves on a common base",
    about: `Growth of 1 of ${lines.map((one) => `${one.name} (${times(one.points.at(-1)?.growth)})`).join(", ")}.`,
    config,
    table: {
      columns: ["date", ...lines.map((one) => `${one.name} growth of 1 (ratio)`)],
      rows: dates.map((date) => [date, ...byDate.map((points) => points.get(date) ?? null)]),
    },
  };
}

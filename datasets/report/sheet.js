"use strict";
// Draws the charts of a tear sheet from the data in the file. `Chart` is the chart library; `charts` has the chart functions
// shared with the explorer. The script makes no requests.
{
  const { sheets, compared } = JSON.parse(document.getElementById("data").textContent);

  const rows = (columns) => {
    const names = Object.keys(columns);
    return columns[names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, columns[name][i]])));
  };

  const growth = (columns) =>
    columns.date.map((date, i) => ({ date, growth: columns.cumulative_return[i] === null ? null : 1 + columns.cumulative_return[i] }));

  /** Kind of chart -> function that creates it from a sheet. */
  const makers = {
    equity: (sheet, theme) =>
      charts.equity(
        {
          book: sheet.book,
          rows: rows(sheet.equity.columns),
          benchmark: sheet.benchmark.columns ? { symbol: sheet.benchmark.symbol, points: growth(sheet.benchmark.columns) } : null,
        },
        theme,
      ),
    weeklyIc: (sheet, theme) =>
      charts.weeklyIc({ weekly: rows(sheet.weekly.columns), span: sheet.weekly.span, test: sheet.metrics.nwt.ic, over: sheet.window ? "Mean of the window" : undefined }, theme),
    deciles: (sheet, theme) =>
      sheet.delivered ? charts.deliveredDeciles({ buckets: sheet.delivered.deciles }, theme) : charts.deciles({ buckets: sheet.metrics.ic_deciles.buckets }, theme),
    termStructure: (sheet, theme) => charts.termStructure({ points: sheet.metrics.panel.ic_term_structure }, theme),
    rankAutocorrelation: (sheet, theme) => charts.rankAutocorrelation({ points: sheet.metrics.panel.rank_autocorrelation }, theme),
    turnover: (sheet, theme) => charts.turnover({ rows: rows(sheet.equity.columns) }, theme),
    exposures: (sheet, theme) => charts.exposures({ rows: rows(sheet.equity.columns) }, theme),
    bestAndWorst: (sheet, theme) => charts.bestAndWorst({ names: rows(sheet.names.columns), equity: sheet.equity.summary.starting_equity, since: sheet.equity.summary.first_date, count: 5 }, theme),
    distribution: (sheet, theme) => charts.distribution({ rows: rows(sheet.equity.columns) }, theme),
    curves: (_, theme) =>
      charts.curves({ curves: compared.together.curves.map(({ name, columns }) => ({ name, points: rows(columns) })), emphasised: compared.together.combined }, theme),
  };

  const theme = (element) => {
    const style = getComputedStyle(element);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    return {
      font: getComputedStyle(document.body).fontFamily,
      text: colour("text"),
      muted: colour("muted"),
      grid: colour("grid"),
      tip: colour("tip"),
      tipText: colour("tip-text"),
      positive: colour("positive"),
      negative: colour("negative"),
      series: [0, 1, 2, 3, 4, 5].map((i) => colour(`series-${i}`)),
    };
  };

  const figures = [...document.querySelectorAll("[data-chart]")];
  const make = (figure, colours) => makers[figure.dataset.chart](sheets[Number(figure.dataset.sheet)], colours);

  let drawn = [];
  const draw = () => {
    drawn.forEach((chart) => chart.destroy());
    const colours = theme(document.documentElement);
    drawn = figures.map((figure) => {
      const made = make(figure, colours);
      const canvas = figure.querySelector("canvas");
      canvas.setAttribute("aria-label", `${made.title}. ${made.about}`);
      figure.querySelector("figcaption").textContent = made.about;
      return new Chart(canvas, made.config);
    });
    document.documentElement.dataset.drawn = String(drawn.length);
  };

  /** Draws every chart again for print: in the colours of a white page, at its width, with three pixels per CSS pixel. */
  const drawForPaper = () => {
    if (document.querySelector(".paper canvas") !== null) return;
    for (const figure of figures) {
      const paper = figure.querySelector(".paper");
      const canvas = paper.appendChild(document.createElement("canvas"));
      [canvas.width, canvas.height] = [figure.dataset.width, figure.dataset.height].map(Number);
      const { config } = make(figure, theme(paper));
      Object.assign(config.options, { responsive: false, devicePixelRatio: 3 });
      new Chart(canvas, config);
    }
  };

  const element = (name, text, heading = false) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (heading) made.scope = "row";
    return made;
  };

  // The conclusions on an alpha, in sentences.
  for (const list of document.querySelectorAll("[data-conclusions]")) {
    const sheet = sheets[Number(list.dataset.conclusions)];
    const sentences = charts.conclusions({
      book: sheet.book,
      test: sheet.metrics.nwt.ic,
      rows: sheet.equity.columns ? rows(sheet.equity.columns) : null,
      benchmark: sheet.benchmark.columns ? { symbol: sheet.benchmark.symbol, points: growth(sheet.benchmark.columns) } : null,
      delivered: sheet.delivered,
      deciles: sheet.metrics.ic_deciles,
      names: sheet.names.columns ? rows(sheet.names.columns) : null,
      costs: sheet.costs,
    });
    for (const { about, text } of sentences) list.appendChild(element("li", text)).dataset.about = about;
  }

  // Monthly and yearly returns.
  for (const table of document.querySelectorAll("[data-months]")) {
    const years = charts.calendar(rows(sheets[Number(table.dataset.months)].equity.columns)) ?? [];
    const percent = (value) => (value === null ? "" : (Number((value * 100).toFixed(1)) || 0).toFixed(1));
    table.createTHead().insertRow().append(...["", ...charts.months(), "Year"].map((name) => element("th", name)));
    const body = table.createTBody();
    for (const { year, months, total } of years.reverse()) {
      body.insertRow().append(element("th", year, true), ...[...months, total].map((value) => element("td", percent(value))));
    }
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  addEventListener("beforeprint", drawForPaper);
  if (location.hash === "#print") drawForPaper();
}

// Two to six alphas side by side: curves on a common base, their similarity, and their combination.

import { all, get, remarks } from "./api.js";
import * as charts from "./charts.js";
import { Unavailable, address, choice, dayInput, el, field, refused, segments, table } from "./dom.js";
import { HEADLINES, asPercent, headlineColumns, numbers, ofWindow, reasoned } from "./figures.js";
import { panel } from "./panel.js";

const BY = [["returns", "Daily returns"], ["scores", "Weekly scores"], ["holdings", "Overlap of holdings"]];
const MOST = 6;
const TOGETHER = "Equal-weight book";

export function compare({ caller, parameters, remember, main, crumbs }) {
  crumbs("Catalogue", "Compare");
  const ids = [...new Set((parameters.alphas ?? "").split(",").filter(Boolean))];
  if (ids.length < 2 || ids.length > MOST) {
    main.append(el("div", { class: "refused" }, el("p", {}, `Two to ${MOST} alphas can be compared; the address names ${ids.length}. `), el("a", { href: "#/" }, "Pick them in the catalogue")));
    return null;
  }
  const state = {
    book: parameters.book ?? "long_short",
    from: parameters.from ?? "",
    to: parameters.to ?? "",
    by: parameters.by ?? "returns",
    log: parameters.log === "1",
  };
  const window = () => ({ from: state.from, to: state.to });
  const served = (name) => caller.callable_endpoints.includes(name);
  const path = (id) => `alphas/${encodeURIComponent(id)}`;
  const link = (id) => el("a", { href: address(path(id), { book: state.book, ...window() }) }, id);
  const tags = el("p", { class: "tags" });
  const linkTags = () => tags.replaceChildren(...ids.map((id) => el("span", {}, link(id))));
  const sections = {};

  function pick(changes, names) {
    Object.assign(state, changes);
    remember(Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value === true ? "1" : value === false ? null : value])));
    linkTags();
    for (const name of names) sections[name]?.reload();
  }

  const curvesOf = () => Promise.all(ids.map(async (id) => ({ id, rows: (await all(`${path(id)}/equity-curve`, { book: state.book, ...window() })).rows })));

  sections.curves = panel("Curves on a common base", {
    id: "curves", room: 2, file: "comparison-curves", tall: true, wide: true,
    controls: [segments("Scale", [["", "Linear"], ["1", "Log"]], state.log ? "1" : "", (log) => pick({ log: log === "1" }, ["curves"]))],
    load: async () => {
      const made = onCommonBase(await curvesOf());
      if (made.sessions.length < 2) throw new Unavailable("these alphas have no two sessions in common in the window.");
      const lines = [...made.curves, { name: TOGETHER, points: made.together }];
      const end = made.together.at(-1).growth;
      return {
        chart: (theme) => charts.curves({ curves: lines, log: state.log, emphasised: TOGETHER }, theme),
        notes: [el("p", { class: "fine", id: "together", "data-growth": end },
          `${charts.counted(made.sessions.length, "common session")}, ${charts.dayText(made.sessions[0])} to ${charts.dayText(made.sessions.at(-1))}.${made.leftOut} ${TOGETHER}: rebalanced to equal shares at every close, without costs of that; ${asPercent(end - 1)} in all.`)],
      };
    },
  });

  sections.figures = panel("Figures", {
    id: "compared-figures", room: 0, file: "comparison-figures", wide: true,
    about: "Headline figures of the long_short books, over the selected window.",
    load: async () => {
      const answers = await Promise.all(ids.map((id) => get(`${path(id)}/metrics`, window()).then(async ({ data }) => ({ id, core: await inEquity(path(id), ofWindow(data).core) }), (error) => ({ id, error }))));
      const columns = [
        { title: "Alpha", by: (row) => row.id, make: (row) => (row.error ? el("span", {}, link(row.id), " ", reasoned(row.error.code ?? "failed", row.error.message)) : link(row.id)) },
        ...headlineColumns(answers, (row, name) => row.core?.[name]),
      ];
      return {
        content: table("Figures", columns, answers),
        data: { columns: ["alpha_id", ...HEADLINES.map(([name]) => name)], rows: answers.map((row) => [row.id, ...HEADLINES.map(([name]) => row.core?.[name].value ?? null)]) },
      };
    },
  });

  if (served("research.correlations")) {
    sections.alike = panel("Correlations", {
      id: "alike", room: 0, file: "comparison-correlations", wide: true,
      controls: [segments("Measured by", BY, state.by, (by) => pick({ by }, ["alike"]))],
      load: async () => {
        const { data } = await get("correlations", { alphas: ids.join(","), by: state.by, book: state.book, ...window() });
        const withheld = Object.entries(data.withheld ?? {});
        const columns = [{ title: "", make: (row) => link(row.id) }, ...data.alphas.map((id, i) => ({ title: id, number: true, make: (row) => cell(row.values[i], row.observations[i]) }))];
        const rows = data.alphas.map((id, i) => ({ id, values: data.matrix[i], observations: data.observations[i] }));
        const unit = state.by === "holdings" ? "overlap of holdings, 1 is the same book" : "correlation";
        return {
          content: el("div", {}, table(`Matrix by ${state.by}`, columns, rows, { class: "heat" }),
            el("p", { class: "fine" }, `In each cell: ${unit}; below it the ${state.by === "scores" ? "weeks" : "sessions"} that both have.`),
            withheld.length ? el("ul", { class: "warnings" }, withheld.map(([pair, reason]) => el("li", {}, el("code", {}, pair), ` withheld: ${reason}`))) : null),
          data: { columns: ["alpha_id", ...data.alphas], rows: rows.map((row) => [row.id, ...row.values]) },
        };
      },
    });
  }

  if (served("research.contribution")) {
    sections.adds = panel("Marginal contribution", {
      id: "adds", room: 0, file: "comparison-contribution", wide: true,
      about: "What each alpha adds to an equal-weight book of the others; alpha is its return that they do not explain, with HAC errors.",
      load: async () => {
        const answers = await Promise.all(ids.map((id) => get(`${path(id)}/contribution`, { alphas: ids.filter((other) => other !== id).join(","), book: state.book, ...window() })
          .then(({ data, meta }) => ({ id, data, warnings: remarks(meta) }), (error) => ({ id, error }))));
        const number = (title, unit, read) => {
          const column = numbers(title, unit, answers.filter((row) => row.data).map((row) => row.data), (data) => read(data) ?? null);
          return {
            ...column,
            make: (row) => (row.error ? el("code", { title: row.error.message }, row.error.code) : column.make(row.data)),
            by: (row) => (row.data ? column.by(row.data) : null),
          };
        };
        const columns = [
          { title: "Alpha", make: (row) => link(row.id), by: (row) => row.id },
          number("Sharpe with it", "annualised", (data) => data.with?.sharpe),
          number("Sharpe without it", "annualised", (data) => data.without?.sharpe),
          number("Marginal Sharpe", "annualised", (data) => data.marginal?.sharpe),
          number("Max drawdown with it", "%", (data) => data.with?.max_drawdown_pct),
          number("Marginal drawdown", "percentage points", (data) => data.marginal?.max_drawdown_pct),
          number("Alpha", "% a year", (data) => (data.regression?.alpha_annualised ?? null) === null ? null : data.regression.alpha_annualised * 100),
          number("t-stat of alpha", "HAC", (data) => data.regression?.t_stat),
          number("R²", "%", (data) => (data.regression ? data.regression.r_squared * 100 : null)),
        ];
        const first = answers.find((row) => row.data);
        const withheld = answers.flatMap(({ id, data }) => [...new Set(Object.entries(data?.withheld ?? {}).filter(([name]) => name !== "marginal_sharpe").map(([, why]) => why))].map((why) => [id, why]));
        // The common sessions are the same for each.
        return {
          content: el("div", {}, first ? null : refused(answers[0].error), table("Contribution", columns, answers),
            withheld.length ? el("ul", { class: "warnings" }, withheld.map(([id, why]) => el("li", {}, el("code", {}, id), ` withheld: ${why}`))) : null,
            answers.some(({ data }) => data?.regression?.t_stat === null) ? el("p", { class: "fine" }, "No t-stat where the others explain every return: the regression leaves no residuals.") : null,
            first?.warnings.length ? el("ul", { class: "warnings" }, first.warnings.map((one) => el("li", {}, el("code", {}, one.code), " ", one.message))) : null),
          data: { columns: ["alpha_id", "sharpe_with", "sharpe_without", "sharpe_marginal", "alpha_annualised", "t_stat", "r_squared"],
            rows: answers.map(({ id, data }) => [id, data?.with?.sharpe, data?.without?.sharpe, data?.marginal?.sharpe, data?.regression?.alpha_annualised, data?.regression?.t_stat, data?.regression?.r_squared]) },
        };
      },
    });
  }

  const names = Object.keys(sections);
  const from = dayInput(state.from, windowChanged);
  const to = dayInput(state.to, windowChanged);
  function windowChanged() {
    pick({ from: from.value, to: to.value }, names);
  }
  linkTags();
  main.append(
    el("div", { class: "alpha-head" }, el("h1", {}, "Compare"), tags),
    el("div", { class: "toolbar", role: "group", "aria-label": "Book and window" },
      choice("Book", [...new Set(["long_short", "long_only", state.book])].map((name) => [name, name]), state.book, (book) => pick({ book }, names)),
      field("From", from), field("To", to),
      el("button", { type: "button", class: "quiet", onclick: () => { from.value = to.value = ""; windowChanged(); } }, "Whole run")),
    el("div", { class: "panels" }, names.map((name) => sections[name].node)));
  return Promise.all(names.map((name) => sections[name].reload()));
}

/** Figures with the profit as a share of the book's opening equity, whatever the currency of its ledger. */
async function inEquity(path, core) {
  if (core.pnl.unit === "ratio" || core.pnl.value === null) return core;
  const ledger = await get(`${path}/portfolio`, { limit: 1 }).catch(() => null); // without the right to call it, the profit stays in base currency
  const basis = ledger?.data[0]?.equity_basis;
  return basis ? { ...core, pnl: { ...core.pnl, value: core.pnl.value / basis, unit: "ratio" } } : core;
}

function cell(value, observations) {
  const box = el("span", { class: "heat-cell", "data-value": value }, value === null ? "–" : charts.shown(value), el("small", {}, observations === null || observations === undefined ? "" : String(observations)));
  if (value !== null) {
    box.classList.add(value < 0 ? "cold" : "warm");
    box.style.setProperty("--strength", Math.min(1, Math.abs(value)).toFixed(3));
  }
  return box;
}

/** Equity of each on the common sessions, as growth from the first open; and of an equal-weight combination. */
function onCommonBase(alphas) {
  const equities = alphas.map(({ rows }) => new Map(rows.map((row) => [row.date, row])));
  const indebted = alphas.find(({ rows }) => rows.some((row) => row.period_return === null));
  if (indebted) throw new Unavailable(`${indebted.id} opens sessions with equity not above 0, which have no return.`);
  const sessions = alphas[0].rows.map((row) => row.date).filter((date) => equities.every((rows) => rows.has(date)));
  const dropped = alphas.map(({ id, rows }) => [id, rows.filter(({ date }) => date < sessions[0] || date > sessions.at(-1)).length]).filter(([, count]) => count > 0);
  const leftOut = dropped.length ? ` Left out, before or after these: ${dropped.map(([id, count]) => `${count} of ${id}`).join(", ")}.` : "";
  const curves = alphas.map(({ id }, i) => {
    const start = equities[i].get(sessions[0])?.starting_equity;
    return { name: id, points: sessions.map((date) => ({ date, growth: equities[i].get(date).ending_equity / start })) };
  });
  let growth = 1;
  const together = sessions.map((date, at) => {
    const returns = curves.map(({ points }) => points[at].growth / (at === 0 ? 1 : points[at - 1].growth) - 1);
    growth *= 1 + returns.reduce((sum, value) => sum + value, 0) / returns.length;
    return { date, growth };
  });
  return { sessions, curves, together, leftOut };
}

// Holdings of a book: the names that earned and lost, and the names of a week.

import { all, remarks } from "./api.js";
import * as charts from "./charts.js";
import { Unavailable, choice, el, segments, table } from "./dom.js";
import { numbers, percentages } from "./figures.js";
import { panel } from "./panel.js";

const NAME_WINDOWS = [["31", "month"], ["92", "quarter"], ["366", "year"], ["all", "window"]];
const PAGES_OF_NAMES = 12;
const SIDES = [["held", "Held"], ["long", "Long"], ["short", "Short"], ["all", "All scored"]];
const HELD = { min_abs_weight: "0.000000001" };
/** Sign of the target weights of a side; `direction` in the API is that of the score, which may differ. */
const SIGNS = { long: 1, short: -1 };

export function book({ path, id, state, pick, fold, curve, some }) {
  const names = panel("Best and worst names", {
    id: "names", file: `${id}-names`, tall: true, wide: true, fold: fold("names"), about: "Net P&L by name, of the selected book.",
    controls: [segments("Over the last", NAME_WINDOWS, state.names, (over) => pick({ names: over }, "names"))],
    load: async () => {
      const { rows: sessions, meta } = await curve();
      const { first_date: first, last_date: last } = meta.summary;
      if (last === null) some([]);
      const start = new Date(charts.day(last));
      start.setDate(start.getDate() - Number(state.names));
      const begin = state.names === "all" ? first : [charts.isoDay(start), first].sort().at(-1);
      const pnl = await all(`${path}/pnl`, { book: state.book, from: begin, to: last }, PAGES_OF_NAMES);
      if (pnl === null) throw new Unavailable("these days have too many rows to sum here; pick a shorter span.");
      const sums = new Map();
      for (const row of pnl.rows) sums.set(row.symbol, (sums.get(row.symbol) ?? 0) + row.net_pnl);
      const rows = some([...sums].map(([symbol, net_pnl]) => ({ symbol, net_pnl })));
      const { date: since, starting_equity: equity } = sessions.find((row) => row.date >= begin);
      return {
        chart: (theme) => charts.bestAndWorst({ names: rows, equity, since }, theme),
        notes: [el("p", { class: "fine" }, `${charts.counted(rows.length, "name")}, ${charts.dayText(since)} to ${charts.dayText(last)}; P&L of positions less costs of execution and borrow.`)],
      };
    },
  });

  const week = panel("The week's book", {
    id: "week", file: `${id}-week`, wide: true, room: 0, fold: fold("week"), about: "Scores and target weights of one rebalance.",
    controls: [segments("Names", SIDES, state.side, (side) => pick({ side }, "week"))],
    load: async () => {
      const { rows: index } = await all(`${path}/rebalances`);
      some(index);
      const at = Math.max(0, state.week ? index.findIndex((one) => one.date === state.week) : lastTraded(index));
      const { date } = index[at];
      const side = state.book.endsWith("long_only") ? "long_only" : "long_short";
      const column = `${side}_target_weight`;
      const { rows: listed, meta } = await all(`${path}/rebalances/${date}`, { book: side, ...(state.side === "all" ? { sort: "score" } : { sort: "weight", ...HELD }) });
      const rows = listed.filter((row) => SIGNS[state.side] === undefined || Math.sign(row[column]) === SIGNS[state.side]);
      const to = (step) => pick({ week: index[at + step].date }, "week");
      const steps = el("div", { class: "steps" },
        el("button", { type: "button", class: "quiet", disabled: at === 0, "aria-label": "The week before", onclick: () => to(-1) }, "‹"),
        choice("Week", index.map((one) => [one.date, `${charts.dayText(one.date)}${one.week_status === "traded" ? "" : ` · ${one.week_status.replaceAll("_", " ")}`}`]).reverse(), date, (picked) => pick({ week: picked }, "week")),
        el("button", { type: "button", class: "quiet", disabled: at === index.length - 1, "aria-label": "The week after", onclick: () => to(1) }, "›"));
      const chooser = el("div", { class: "controls" }, steps,
        el("span", { class: "fine" }, `${rows.length} of ${meta.n_symbols} names · weights of ${side} · week ${meta.week_status.replaceAll("_", " ")}`));
      const columns = [
        { title: "Name", make: (row) => row.symbol, by: (row) => row.symbol },
        percentages("Target weight", "% of equity", rows, (row) => row[column]),
        numbers("Score", "score units", rows, (row) => row.score),
        numbers("z-score", "standard deviations", rows, (row) => row.score_z),
        numbers("Rank", "1 is strongest", rows, (row) => row.average_rank),
        percentages("Forward return", "%", rows, (row) => row.forward_return),
        { title: "Tradeable", make: (row) => (row.next_open_tradeable ? "yes" : row.unavailability_reason ?? "no") },
      ];
      return {
        notes: rows.some((row) => row.forward_return === null) ? [el("p", { class: "fine" }, "No forward return: the run sealed none, or the next decision is still to come.")] : [],
        content: el("div", {}, chooser, rows.length ? table(`Names of the week of ${charts.dayText(date)}`, columns, rows) : el("p", { class: "empty" }, remarks(meta)[0]?.message ?? "No name of this week is in the book.")),
        data: {
          columns: ["symbol", `${column} (ratio)`, "score (score units)", "score_z (standard deviations)", "average_rank (rank)", "forward_return (ratio)", "next_open_tradeable", "unavailability_reason"],
          rows: rows.map((row) => [row.symbol, row[column], row.score, row.score_z, row.average_rank, row.forward_return, row.next_open_tradeable, row.unavailability_reason]),
        },
      };
    },
  });
  return { names, week };
}

/** Index of the last traded week; of the last week if none was traded. */
function lastTraded(index) {
  const last = index.findLastIndex((one) => one.week_status === "traded");
  return last === -1 ? index.length - 1 : last;
}

// The headline figures of an alpha, and a summary in sentences.

import { remarks } from "./api.js";
import { dayText, shown } from "./charts.js";
import { el } from "./dom.js";
import { HEADLINES, asPercent, inPercent, ofWindow, standing, standingWord, unitOf, written } from "./figures.js";
import { failed } from "./panel.js";
import { conclusions as sentencesOf } from "./returns.js";

/** Tiles of the metrics and of the book's risk; metrics and risk: () -> answer; risk is null if it is not served. */
export function headlines({ state, metrics, risk }) {
  const describes = el("p", { class: "fine", id: "headlines-of" }, "Headline figures");
  const tiles = el("div", { class: "tiles", id: "headlines", "aria-busy": "true" });

  async function load() {
    tiles.setAttribute("aria-busy", "true");
    try {
      const [{ data, meta }, ofBook] = await Promise.all([metrics(), risk === null ? null : risk().catch(() => null)]);
      const figures = ofWindow(data);
      const entries = [...HEADLINES.map(([name, title]) => [name, title, figures.core[name]]), ["hit_rate", "IC hit rate", figures.rank_ic?.conditioned?.hit_rate]];
      const days = data.within_window ? `${state.from ? dayText(state.from) : "the first session"} to ${state.to ? dayText(state.to) : "the last"}` : "the whole run";
      describes.textContent = `Headline figures: book long_short, ${days}.${state.book === "long_short" ? "" : ` Charts and tables below: book ${state.book}.`}`;
      tiles.replaceChildren(
        ...entries.filter(([, , entry]) => entry).map(([name, title, entry]) => tile(name, title, entry)),
        testTile(data, remarks(meta)),
        ...(ofBook ? riskTiles(ofBook.data) : []),
        data.core.tenure ? el("div", { class: "tile" },
          el("span", { class: "label" }, "Track record"), el("strong", {}, `${shown(data.core.tenure.years)} years`),
          el("span", { class: "fine" }, `${dayText(data.core.tenure.first_rebalance)} to ${dayText(data.core.tenure.last_rebalance)}`)) : "");
    } catch (error) {
      tiles.replaceChildren(failed(error, load));
    }
    tiles.setAttribute("aria-busy", "false");
  }

  /** The test of the mean IC; if it is withheld, the test of the signal before smoothing, and the reason. */
  function testTile(data, warnings) {
    const { ic } = ofWindow(data).nwt;
    const test = ic ?? data.nwt.ic_score_panel;
    if (!test) return "";
    const name = ic ? "ic" : "ic_score_panel";
    const why = ic ? "" : reasonOf(data, warnings);
    return el("div", { class: "tile", "data-figure": `nwt.${name}.t_stat`, "data-value": test.t_stat },
      el("span", { class: "label" }, ic ? "t-stat of mean IC" : "t-stat of mean IC, signal before smoothing"),
      el("strong", {}, shown(test.t_stat)),
      el("span", { class: "fine" }, `Newey-West, ${test.n} weeks, p ${shown(test.p_value, 2)}`),
      why ? el("span", { class: "fine" }, `That of the delivered score is withheld: ${why}`) : null);
  }

  function tile(name, title, entry) {
    const { value, unit } = inPercent(name, entry);
    return el("div", { class: "tile", "data-figure": name, "data-value": entry.value },
      el("span", { class: "label" }, title),
      entry.value === null
        ? el("strong", { class: "withheld" }, "withheld")
        : el("strong", { title: String(entry.value) }, written(value, unit)),
      entry.value === null
        ? el("span", { class: "fine" }, entry.withheld_reason)
        : el("span", { class: "fine" }, [unitOf({ ...entry, unit }).replace(/^%(, )?/, ""), " ", standingWord(entry)]));
  }

  return { describes, tiles, load };
}

/** Tiles of the selected book's risk, over the whole run. */
function riskTiles(data) {
  const figure = (name, title, write, fine) => el("div", { class: "tile", "data-figure": `risk.${name}`, "data-value": data[name] },
    el("span", { class: "label" }, title),
    data[name] === null ? el("strong", { class: "withheld" }, "withheld") : el("strong", { title: String(data[name]) }, write(data[name])),
    el("span", { class: "fine" }, data[name] === null ? data.withheld[name] : fine));
  const of = `a year, book ${data.book}, whole run`;
  return [
    figure("annualised_return", "Return (CAGR)", asPercent, of),
    figure("volatility", "Volatility", asPercent, of),
    figure("sortino", "Sortino ratio", shown, `annualised, book ${data.book}, whole run`),
  ];
}

const reasonOf = (data, warnings) => warnings.find((one) => one.block === (data.within_window ? "within_window.nwt.ic" : "nwt.ic"))?.message.replace(/^[\w.]+ is null: /, "");

/** A summary of the alpha in sentences; curve, metrics, benchmark, signal and costs: () -> loaded answer; the last two are null if not served. */
export function conclusions({ state, metrics, curve, benchmark, signal, costs }) {
  const list = el("ul", { class: "conclusions", id: "conclusions", "aria-busy": "true", "aria-label": "Conclusions" });

  async function load() {
    list.setAttribute("aria-busy", "true");
    const orNull = (promise) => promise.catch(() => null); // the sections below show the refusal
    const [answer, equity, score, paid] = await Promise.all([metrics, curve, signal, costs].map((load) => (load === null ? null : orNull(load()))));
    const unwindowed = answer?.data.within_window === null;
    const beside = equity?.rows.length ? await orNull(benchmark(equity.rows)) : null;
    const sentences = sentencesOf({
      book: state.book,
      test: answer ? ofWindow(answer.data).nwt.ic : null,
      why: answer ? reasonOf(answer.data, remarks(answer.meta)) : null,
      rows: equity?.rows,
      benchmark: beside,
      delivered: unwindowed ? score?.data.delivered : null,
      withheld: score?.data.withheld,
      deciles: answer?.data.ic_deciles,
      costs: unwindowed ? paid?.data : null,
    });
    list.replaceChildren(...sentences.map(({ about, text }) => el("li", { "data-about": about }, text)));
    list.setAttribute("aria-busy", "false");
  }

  return { list, load };
}

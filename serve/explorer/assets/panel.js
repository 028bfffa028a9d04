// A chart with its surroundings: title, controls, downloads of picture and data, and the same figures as a table.

import { isPageWide, report } from "./banner.js";
import { brush } from "./brush.js";
import { csv, download, el, refill, refused, table } from "./dom.js";

const drawn = new Set();
const sightings = new Map();
const sight = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    sight.unobserve(target);
    sightings.get(target)?.();
  }
}, { rootMargin: "1200px" });
addEventListener("beforeprint", () => {
  for (const seen of sightings.values()) seen();
});
const ROWS_SHOWN = 500;

/** Current colours of the page, from the style sheet. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    font: read("--font"),
    text: read("--text"),
    muted: read("--muted"),
    grid: read("--grid"),
    surface: read("--surface"),
    tip: read("--tip"),
    tipText: read("--tip-text"),
    positive: read("--positive"),
    negative: read("--negative"),
    series: [1, 2, 3, 4, 5, 6].map((n) => read(`--series-${n}`)),
  };
}

/** Redraw every chart in the current colours. */
export function repaint() {
  for (const one of [...drawn]) one.paint();
}

export function forgetCharts() {
  for (const one of [...drawn]) one.end();
  sight.disconnect();
  sightings.clear();
}

/**
 * A section that loads its content, shows it, and can be reloaded.
 * load: () -> {chart: theme -> made chart, notes: [elements], zoom: (from, to) -> void} or {content: element}; it may throw a Refusal.
 * lazy: the section loads when it comes near the screen, since it makes calls of its own.
 * fold: {open, toggled: open -> void} for a section that can be folded; it loads when it is opened.
 * room: lines of notes to reserve space for.
 */
export function panel(title, { id, controls = [], about = null, load, file = id, tall = false, wide = false, lazy = false, fold = null, room = 1 }) {
  const body = el("div", { class: `body skeleton${tall ? " tall" : ""}` });
  const extras = el("div", { class: `extras room-${room}` });
  const actions = el("div", { class: "actions" });
  const folder = fold ? el("button", { type: "button", class: "fold", "aria-expanded": String(fold.open), onclick: () => unfold(!isOpen()) }, title) : null;
  const node = el("section", { class: `panel${wide ? " wide" : ""}${fold && !fold.open ? " folded" : ""}`, id, tabindex: "-1", "aria-labelledby": `${id}-title` },
    el("header", {}, el("h2", { id: `${id}-title` }, folder ?? title), controls.length ? el("div", { class: "controls" }, controls) : null, actions),
    about ? el("p", { class: "about" }, about) : null,
    body, extras);
  let near = !lazy;
  let due = false;
  if (lazy) {
    node.classList.add("lazy");
    sightings.set(node, () => {
      near = true;
      if (due) reload();
    });
  }
  let current = null;
  let latest = 0;
  const isOpen = () => !node.classList.contains("folded");

  function unfold(open) {
    node.classList.toggle("folded", !open);
    folder.setAttribute("aria-expanded", String(open));
    fold.toggled(open);
    near = true;
    if (open) reload();
  }

  /** Open the section and scroll to it; keyboard focus continues at its first control. */
  function show() {
    if (!isOpen()) unfold(true);
    node.focus({ preventScroll: true });
    node.scrollIntoView({ block: "start" });
  }

  function end() {
    current?.chart?.destroy();
    if (current) drawn.delete(current);
    current = null;
    actions.replaceChildren();
    extras.replaceChildren();
  }

  async function reload() {
    if (!isOpen()) return;
    if (!near) {
      due = true;
      sight.observe(node);
      return;
    }
    const mine = (latest += 1);
    node.setAttribute("aria-busy", "true");
    try {
      const loaded = await load();
      if (loaded.chart) await charting();
      if (mine !== latest || !node.isConnected) return;
      end();
      body.classList.remove("skeleton");
      if (loaded.chart) draw(loaded);
      else refill(body, [loaded.content]);
      if (loaded.data) actions.append(csvButton(title, loaded.data));
      extras.append(...(loaded.notes ?? []));
    } catch (error) {
      if (mine !== latest) return;
      if (error.code === undefined) console.error(error);
      end();
      body.classList.remove("skeleton");
      body.replaceChildren(failed(error, reload));
    } finally {
      if (mine === latest) node.setAttribute("aria-busy", "false");
    }
  }

  function draw({ chart, zoom }) {
    const canvas = el("canvas", { role: "img" });
    const frame = el("div", { class: `canvas${tall ? " tall" : ""}` }, canvas);
    body.replaceChildren(frame);
    if (zoom) brush(frame, () => one.chart, zoom);
    let made = null;
    const one = {
      paint() {
        one.chart?.destroy();
        made = chart(colours());
        canvas.setAttribute("aria-label", made.about);
        one.chart = new globalThis.Chart(canvas, made.config);
      },
      end,
    };
    drawn.add(one);
    current = one;
    one.paint();
    const rows = el("div", { class: "figures" });
    const shows = el("button", {
      type: "button", class: "quiet", "aria-expanded": "false",
      onclick: () => {
        const open = shows.getAttribute("aria-expanded") === "false";
        shows.setAttribute("aria-expanded", String(open));
        rows.replaceChildren(...(open ? [asTable(made)] : []));
      },
    }, "Table");
    actions.append(
      shows,
      csvButton(made.title, made.table),
      el("button", { type: "button", class: "quiet", "aria-label": `Picture of ${made.title} as PNG`, onclick: () => picture(canvas, title, file) }, "PNG"),
    );
    extras.append(rows);
  }

  function csvButton(name, figures) {
    return el("button", {
      type: "button", class: "quiet", "aria-label": `Data of ${name} as CSV`,
      onclick: () => download(`${file}.csv`, csv(figures), "text/csv"),
    }, "CSV");
  }

  return { node, reload, show };
}

/** Placeholder for a section or a figure: the failure itself, or one word if the banner shows it for the page. */
export function failed(error, again) {
  if (!isPageWide(error)) return refused(error);
  report(error, again);
  return el("p", { class: "empty" }, "Not loaded: ", el("code", {}, error.code));
}

let library = null;

/** Chart.js, loaded with the first chart of a visit. */
function charting() {
  library ??= import("./chart.js").then(() => globalThis.Chart);
  return library;
}

function asTable(made) {
  const { columns, rows } = made.table;
  const shown = rows.slice(-ROWS_SHOWN);
  return el("div", {},
    rows.length > shown.length ? el("p", { class: "fine" }, `The last ${shown.length} of ${rows.length} rows; the CSV has them all.`) : null,
    table(made.title, columns.map((title, i) => ({ title, number: i > 0, make: (row) => (row[i] === null ? "–" : String(row[i])) })), shown));
}

/** Download a chart as a picture, with its title and the page's background. */
function picture(canvas, title, file) {
  const theme = colours();
  const scale = canvas.width / canvas.clientWidth;
  const edge = Math.round(16 * scale);
  const head = Math.round(40 * scale);
  const made = el("canvas");
  made.width = canvas.width + 2 * edge;
  made.height = canvas.height + head + edge;
  const ink = made.getContext("2d");
  ink.fillStyle = theme.surface;
  ink.fillRect(0, 0, made.width, made.height);
  ink.fillStyle = theme.text;
  ink.font = `600 ${Math.round(15 * scale)}px ${theme.font}`;
  ink.textBaseline = "middle";
  ink.fillText(`${title} · ${file}`, edge, head / 2 + edge / 4);
  ink.drawImage(canvas, edge, head);
  made.toBlob((blob) => download(`${file}.png`, blob, "image/png"), "image/png");
}

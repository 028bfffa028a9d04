// The audit of an alpha: its verdict and notices, above everything else; and every check, with its figures.

import { get, remarks } from "./api.js";
import { shown } from "./charts.js";
import { el, table } from "./dom.js";
import { fixed } from "./figures.js";
import { failed, panel } from "./panel.js";

const WEIGHTY = ["withheld", "notice"];
const OPEN = 3;
const CLOSED = "This key may not read the audit (performance.audit).";
const words = (name) => name.replaceAll("_", " ");
const may = (caller) => caller.callable_endpoints.includes("performance.audit");
const measured = (value, unit) => (value === null ? "–" : `${Number.isInteger(value) ? fixed(value, 0) : shown(value)}${unit === null || unit === "ratio" ? "" : ` ${words(unit)}`}`);

function noticed(entry) {
  return el("li", { "data-id": entry.id, "data-status": entry.status },
    el("code", {}, entry.id),
    entry.value === null ? "" : el("strong", { title: String(entry.value) }, ` ${measured(entry.value, entry.unit)}`),
    entry.threshold === null ? "" : el("span", { class: "held" }, ` against ${measured(entry.threshold, entry.unit)}`),
    entry.reason === null ? "" : `${entry.value === null ? "" : ":"} ${entry.reason}`);
}

/** The verdict below the name: one line, and the notices. */
export function verdict({ caller, path, sections }) {
  const node = el("section", { class: "verdict", id: "verdict", "aria-label": "What was checked", "aria-busy": "true" }, el("p", { class: "fine" }, "Loading …"));

  async function load() {
    try {
      node.replaceChildren(...(may(caller) ? made((await get(`${path}/audit`)).data) : [el("p", { class: "fine" }, CLOSED)]));
    } catch (error) {
      node.replaceChildren(failed(error, load));
    }
    node.setAttribute("aria-busy", "false");
  }

  function made({ summary, entries }) {
    const weighty = entries.filter((entry) => WEIGHTY.includes(entry.status));
    node.classList.toggle("noticed", weighty.length > 0);
    node.classList.toggle("clean", weighty.length === 0);
    const rest = weighty.slice(OPEN);
    return [
      el("p", {}, el("strong", {}, summary.verdict), " ",
        el("button", { type: "button", class: "quiet", onclick: () => sections.audit.node.scrollIntoView() }, `All ${entries.length} checks`)),
      weighty.length ? el("ul", {}, weighty.slice(0, OPEN).map(noticed)) : "",
      rest.length ? el("details", {}, el("summary", {}, `${rest.length} more`), el("ul", {}, rest.map(noticed))) : "",
    ];
  }

  return { node, load };
}

/** Every check, and the API's warnings about this window. */
export function audit({ caller, path, metrics, id }) {
  const made = panel("Audit and warnings", {
    id: "audit", file: `${id}-audit`, wide: true, room: 0,
    about: "Warnings about this window, then all checks of the run, worst first.",
    load: async () => {
      const warnings = await metrics().then(({ meta }) => remarks(meta));
      const said = warnings.length
        ? el("ul", { class: "warnings" }, warnings.map((one) => el("li", {}, el("code", {}, one.code), " ", one.message)))
        : el("p", { class: "fine" }, "No warning for the figures of this window.");
      if (!may(caller)) return { content: el("div", {}, said, el("p", { class: "fine" }, CLOSED)) };
      const { summary, entries } = (await get(`${path}/audit`)).data;
      // Reproduced figures of years and months are many and say little: only the CSV has them.
      const rows = entries.filter((entry) => entry.status !== "pass" || !entry.details.period);
      const counted = [...WEIGHTY, "not_checked", "pass"].map((status) => `${summary[status]} ${words(status)}`).join(", ");
      const columns = [
        { title: "Status", by: (row) => row.status, make: (row) => el("span", { class: `status ${row.status}` }, words(row.status)) },
        { title: "Check", kind: "check", by: (row) => row.id, make: (row) => [el("code", {}, row.id), el("small", {}, ` ${row.kind}`)] },
        { title: "Value", number: true, make: (row) => measured(row.value, row.unit) },
        { title: "Threshold", number: true, make: (row) => measured(row.threshold, row.unit) },
        { title: "Note", make: (row) => row.reason ?? row.details.convention ?? "" },
      ];
      return {
        content: el("div", {}, said, table("Checks", columns, rows)),
        notes: [el("p", { class: "fine" }, `${entries.length} checks: ${counted}.`)],
        data: {
          columns: ["kind", "id", "status", "figure", "value", "threshold", "unit", "reason", "details"],
          rows: entries.map((row) => [row.kind, row.id, row.status, row.figure, row.value, row.threshold, row.unit, row.reason, JSON.stringify(row.details)]),
        },
      };
    },
  });
  return { audit: made };
}

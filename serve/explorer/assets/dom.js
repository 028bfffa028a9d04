// Creates elements. Text is always text: no answer is ever parsed as markup.

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (attribute.startsWith("on")) made.addEventListener(attribute.slice(2), value);
    else if (value === true) made.setAttribute(attribute, "");
    else made.setAttribute(attribute, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Why a section or a figure has no data. */
export class Unavailable extends Error {
  code = "unavailable";
}

/** A refusal in the words of the API; unavailable data with the reason and without a code. */
export function refused(error) {
  if (error instanceof Unavailable) return el("p", { class: "refused unavailable" }, "Not available: ", error.message);
  return el("div", { class: "refused", role: "alert" },
    el("p", {}, el("code", {}, error.code ?? "unforeseen"), " ", error.message),
    error.requestId ? el("p", { class: "fine" }, `request ${error.requestId}`) : null,
  );
}

/** The address of a view with some selections; those without a value are left out. */
export function address(path, selections) {
  return `#/${path}?${new URLSearchParams(Object.entries(selections).filter(([, value]) => value))}`;
}

export function field(label, control, hint = null) {
  return el("label", { class: "field" }, el("span", {}, label), control, hint ? el("small", {}, hint) : null);
}

export function choice(label, options, value, change) {
  const control = el("select", { "aria-label": label, onchange: () => change(control.value) },
    options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
  return field(label, control);
}

/** A date field. While a year is typed it passes through the years 2, 20 and 202, which are ignored. */
export function dayInput(value, change) {
  return el("input", {
    type: "date", value: value || null, onchange: ({ target }) => {
      if (!target.value.startsWith("0")) change();
    },
  });
}

/** Replace the content of a box; keyboard focus stays on the control of the same name, else goes to the first. */
export function refill(box, children) {
  const nameOf = (control) => control.id || control.getAttribute("aria-label") || control.textContent;
  const focused = box.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  box.replaceChildren(...children);
  if (focused === null) return;
  const controls = [...box.querySelectorAll("[tabindex], a, button:enabled, input, select")];
  (controls.find((control) => nameOf(control) === focused) ?? controls[0])?.focus();
}

/** A group of buttons, one of which is pressed. */
export function segments(label, options, value, change) {
  const made = options.map(([key, text]) =>
    el("button", {
      type: "button", "aria-pressed": String(key === value), "data-value": key,
      onclick: () => {
        for (const other of made) other.setAttribute("aria-pressed", String(other.dataset.value === key));
        change(key);
      },
    }, text));
  return el("div", { class: "segments", role: "group", "aria-label": label }, made);
}

/** columns: [{title, unit, number, kind: class of its cells, make: row -> text or element, by: row -> number or text, for columns that sort}] */
export function table(caption, columns, rows, more = {}) {
  const body = el("tbody");
  const heads = columns.map((column, i) => el("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": column.by ? "none" : null },
    column.by
      ? el("button", { type: "button", class: "sort", onclick: () => sort(i) }, column.title, el("span", { class: "arrow", "aria-hidden": "true" }))
      : column.title,
    column.unit ? el("small", {}, column.unit) : null));

  function fill(sorted) {
    body.replaceChildren(...sorted.map((row) => el("tr", {}, columns.map((column) =>
      el("td", { class: column.number ? "number" : column.kind }, column.make(row) ?? "")))));
  }

  /** Sort by a column, highest number first; rows without a value stay last. */
  function sort(at) {
    const before = heads[at].getAttribute("aria-sort");
    const down = before === "none" ? Boolean(columns[at].number) : before === "ascending";
    for (const [i, head] of heads.entries()) {
      if (columns[i].by) head.setAttribute("aria-sort", i === at ? (down ? "descending" : "ascending") : "none");
      head.querySelector(".arrow")?.replaceChildren(i === at ? (down ? " ↓" : " ↑") : "");
    }
    const { by } = columns[at];
    const isEmpty = (row) => by(row) === null || by(row) === undefined;
    fill([...rows].sort((one, other) => {
      if (isEmpty(one) || isEmpty(other)) return Number(isEmpty(one)) - Number(isEmpty(other));
      const order = by(one) < by(other) ? -1 : by(one) > by(other) ? 1 : 0;
      return down ? -order : order;
    }));
  }

  fill(rows);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", more, el("caption", { class: "unseen" }, caption), el("thead", {}, el("tr", {}, heads)), body));
}

export function download(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function csv({ columns, rows }) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    // A name that begins like a formula must not become one in the program that opens the file.
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

// Makes elements. Text is always text: nothing that was asked for is ever read as markup.

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

/** Whether asking again may help: a refusal of the interface stays one, a service that is away comes back. */
const worthAnotherTry = (error) => error.status === 0 || error.status === 429 || error.status >= 500;

export function refused(error, again) {
  const code = error.code ?? "unforeseen";
  return el("div", { class: "refused", role: "alert" },
    el("p", {}, el("code", {}, code), " ", error.message),
    error.requestId ? el("p", { class: "fine" }, `request ${error.requestId}`) : null,
    again && worthAnotherTry(error) ? el("button", { type: "button", class: "quiet", onclick: again }, "Try again") : null,
  );
}

export function field(label, control, hint = null) {
  return el("label", { class: "field" }, el("span", {}, label), control, hint ? el("small", {}, hint) : null);
}

export function choice(label, options, value, change) {
  const control = el("select", { "aria-label": label, onchange: () => change(control.value) },
    options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
  return field(label, control);
}

/** Buttons of which one is pressed. */
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

/** columns: [{title, unit, number, make: row -> text or element}] */
export function table(caption, columns, rows, more = {}) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", more,
      el("caption", { class: "unseen" }, caption),
      el("thead", {}, el("tr", {}, columns.map((column) =>
        el("th", { scope: "col", class: column.number ? "number" : null }, column.title,
          column.unit ? el("small", {}, column.unit) : null)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, columns.map((column) =>
        el("td", { class: column.number ? "number" : null }, column.make(row) ?? "")))))));
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
    // A name that begins like a formula must not become one where the file is opened.
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

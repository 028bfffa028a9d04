// Dragging over a chart of days selects the days between; without a mouse, use the date fields next to it.

import { isoDay } from "./charts.js";
import { el } from "./dom.js";

const LEAST = 8; // pixels: less is a click

/** Let the visitor select a range of a chart; chart: () -> the chart drawn; pick: (from, to) -> void, days. */
export function brush(frame, chart, pick) {
  const mark = el("div", { class: "brush", hidden: true });
  let start = null;
  frame.append(mark);
  frame.classList.add("zooms");

  const at = (event) => {
    const { left, right } = chart().chartArea;
    return Math.min(right, Math.max(left, event.clientX - frame.getBoundingClientRect().left));
  };

  frame.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || event.button !== 0) return; // a finger scrolls
    start = at(event);
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const { top, bottom } = chart().chartArea;
    const now = at(event);
    mark.hidden = Math.abs(now - start) < LEAST;
    Object.assign(mark.style, { left: `${Math.min(start, now)}px`, width: `${Math.abs(now - start)}px`, top: `${top}px`, height: `${bottom - top}px` });
  });
  frame.addEventListener("pointerup", (event) => {
    if (start === null) return;
    const [from, to] = [start, at(event)].sort((a, b) => a - b);
    start = null;
    mark.hidden = true;
    const { x } = chart().scales;
    if (to - from >= LEAST) pick(isoDay(x.getValueForPixel(from)), isoDay(x.getValueForPixel(to)));
  });
  frame.addEventListener("pointercancel", () => {
    start = null;
    mark.hidden = true;
  });
}

// Runs before the page is painted, so that the page never flashes in the other colours.
"use strict";
(() => {
  const { dataset } = document.documentElement;
  dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  try {
    const stored = localStorage.getItem("theme");
    if (stored === "light" || stored === "dark") dataset.theme = dataset.picked = stored;
  } catch {
    // Without storage, the page follows the system's theme.
  }
})();

// Runs before the page is painted, so that it never flashes in the other colours.
"use strict";
(() => {
  const stored = (() => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  })();
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
})();

// Runs before the first paint, so that nobody who works in the dark is blinded by a white flash.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("kraftgate.theme");
  } catch {
    // Storage may be forbidden: then the system's wish holds.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();

// Runs before the first paint, so that the dark theme does not begin with a white flash.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("kraftgate.theme");
  } catch {
    // Storage may be forbidden: then the system's preference applies.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();

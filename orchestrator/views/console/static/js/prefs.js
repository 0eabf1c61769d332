/** The settings of this browser: theme, time zone, single-key shortcuts. */

/** @typedef {{theme: "system"|"light"|"dark", zone: "local"|"utc", keys: boolean}} Prefs */

/** @type {Prefs} */
export const prefs = {
  theme: oneOf(kept("theme"), ["system", "light", "dark"]),
  zone: oneOf(kept("zone"), ["local", "utc"]),
  keys: kept("keys") !== "off",
};

const listeners = new Set();

/** Call the listener when a setting changes; the returned function ends that. */
export function onPrefs(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {Partial<Prefs>} changed */
export function setPrefs(changed) {
  Object.assign(prefs, changed);
  keep("theme", prefs.theme);
  keep("zone", prefs.zone);
  keep("keys", prefs.keys ? "on" : "off");
  if (prefs.theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = prefs.theme;
  for (const listener of listeners) listener();
}

/** The name of the last signed action; a token is never stored here. */
export function lastWho() {
  return kept("who") ?? "";
}

/** @param {string} who */
export function keepWho(who) {
  keep("who", who);
}

function oneOf(value, allowed) {
  return allowed.includes(value) ? value : allowed[0];
}

// Storage may be forbidden or full; then a setting lasts as long as the page.
function kept(name) {
  try {
    return localStorage.getItem(`kraftgate.${name}`);
  } catch {
    return null;
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(`kraftgate.${name}`, value);
  } catch {
    // see kept()
  }
}

/**
 * The current view, in the address after #, so that a link to it can be sent and the browser's Back
 * works: `#/CLUSTER/VIEW?broker=3`. It never contains a token or other input.
 */

export const VIEWS = /** @type {const} */ ([
  "overview",
  "brokers",
  "directories",
  "timeline",
  "runbook",
  "hazards",
]);

/** Sheets over a view; at most one is open. */
const SHEETS = ["broker", "checkpoint"];

/** @typedef {{cluster: string|null, view: typeof VIEWS[number], query: URLSearchParams}} Route */

/** @type {Route|null} */
let here = null;

/** The current view. @returns {Route} */
export function route() {
  here ??= parsed();
  return here;
}

/**
 * Process a new address. One without a view, as in a link to a sheet, means the current view: such
 * a link is the same in every view and need not be drawn again.
 *
 * @returns {Route}
 */
export function arrive() {
  const before = here;
  here = parsed();
  const sheet = SHEETS.some((each) => here.query.has(each));
  const same = before !== null && (here.cluster === null || here.cluster === before.cluster);
  if (sheet && same && isBare()) {
    const query = without(before.query, SHEETS);
    for (const [key, value] of here.query) query.set(key, value);
    here = { ...before, query };
    rewrite();
  }
  return here;
}

/** Change the query without a new history entry: a movement is not a step that Back undoes. */
export function note(changed) {
  for (const [key, value] of Object.entries(changed)) {
    if (value) route().query.set(key, String(value));
    else route().query.delete(key);
  }
  rewrite();
}

/** Close the open sheet, if any. */
export function closeSheets() {
  const { cluster, view, query } = route();
  location.replace(link(cluster ?? "", view, Object.fromEntries(without(query, SHEETS))));
}

/**
 * The address of a view. @param {string} cluster @param {string} view
 * @param {Record<string, string|number>} [query]
 */
export function link(cluster, view, query = {}) {
  const parameters = new URLSearchParams(query);
  return `#/${encodeURIComponent(cluster)}/${view}${parameters.size ? `?${parameters}` : ""}`;
}

/** The address of a sheet over the current view. @param {{broker: number}|{checkpoint: string}} sheet */
export function sheetLink(sheet) {
  return link(route().cluster ?? "", "", sheet);
}

function rewrite() {
  const { cluster, view, query } = here;
  history.replaceState(null, "", link(cluster ?? "", view, Object.fromEntries(query)));
}

function without(query, keys) {
  const left = new URLSearchParams(query);
  for (const each of keys) left.delete(each);
  return left;
}

function parsed() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [cluster = "", view = ""] = path.split("/").map(decoded);
  return {
    cluster: cluster || null,
    view: VIEWS.includes(view) ? view : "overview",
    query: new URLSearchParams(query),
  };
}

function isBare() {
  return !VIEWS.some((each) => location.hash.split("?")[0].endsWith(`/${each}`));
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A page of the manual, or a part of it. @param {string} topic @param {string} [part] */
export function manualLink(topic, part) {
  return `help/${topic}${part ? `#${part}` : ""}`;
}

/**
 * Where the reader is, in the address behind #, so that a place can be sent to a colleague and Back
 * goes back: `#/CLUSTER/VIEW?broker=3`. Never a token, nor anything typed in.
 */

export const VIEWS = /** @type {const} */ ([
  "overview",
  "brokers",
  "directories",
  "timeline",
  "runbook",
  "hazards",
]);

/** @typedef {{cluster: string|null, view: typeof VIEWS[number], query: URLSearchParams}} Route */

/** @returns {Route} */
export function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [cluster = "", view = ""] = path.split("/").map(decoded);
  return {
    cluster: cluster || null,
    view: VIEWS.includes(view) ? view : "overview",
    query: new URLSearchParams(query),
  };
}

/**
 * The address of a place. @param {string} cluster @param {string} view
 * @param {Record<string, string|number|null>} [query]
 */
export function link(cluster, view, query = {}) {
  const asked = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== null) asked.set(key, String(value));
  return `#/${encodeURIComponent(cluster)}/${view}${asked.size ? `?${asked}` : ""}`;
}

/** The same place with other parts of its query; null takes one away. */
export function linkWith(changed) {
  const { cluster, view, query } = route();
  return link(cluster ?? "", view, { ...Object.fromEntries(query), ...changed });
}

/** Go there; `replace` leaves no step to come back to. */
export function go(address, { replace = false } = {}) {
  if (replace) location.replace(address);
  else location.assign(address);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * Requests to the server. Every failure becomes a message.
 *
 * Addresses are relative to the page, so that it may be served below a path.
 */

const TOKEN = "kraftgate.token";
let inMemory = null;

/** A failure as shown to the operator: `message`, and the fix in `fix` if the server knows it. */
export class Failed extends Error {
  /** @param {string} code @param {string} message @param {string|null} [fix] */
  constructor(code, message, fix = null) {
    super(message);
    this.code = code;
    this.fix = fix;
  }
}

/** The token that the operator entered, stored until the tab is closed. */
export function token() {
  return inMemory;
}

/** @param {string|null} value null: delete the token */
export function setToken(value) {
  inMemory = value;
  try {
    if (value === null) sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, value);
  } catch {
    // Storage may be forbidden: then the token lasts until the page is reloaded.
  }
}

try {
  inMemory = sessionStorage.getItem(TOKEN);
} catch {
  // see setToken()
}

/**
 * Send a GET request. @param {string} path @param {Record<string, unknown>} [query]
 * @param {AbortSignal} [signal]
 */
export async function read(path, query = {}, signal) {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined) parameters.append(key, String(each));
    }
  }
  const tail = parameters.size ? `?${parameters}` : "";
  return answer(fetch(`api/${path}${tail}`, { signal, headers: { Accept: "application/json" } }));
}

/**
 * Send a POST request with the token. @param {string} path @param {object} body
 * @param {string|null} [held] the token, if not the stored one
 */
export async function post(path, body, held = token()) {
  const headers = { "Content-Type": "application/json", Accept: "application/json" };
  if (held) headers.Authorization = `Bearer ${held}`;
  return answer(fetch(`api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** The API path of a cluster's part. @param {string} cluster @param {...(string|number)} parts */
export function of(cluster, ...parts) {
  return ["clusters", cluster, ...parts].map((each) => encodeURIComponent(each)).join("/");
}

/** @param {Promise<Response>} request */
async function answer(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failed("no_answer", "Kraftgate does not answer.", "Check that it runs and can be reached.");
  }
  if (response.status === 204) return null;
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  const problem = body?.error;
  if (problem) throw new Failed(problem.code, problem.message, problem.mend);
  throw new Failed("no_message", `Kraftgate answered with status ${response.status} and no message.`);
}

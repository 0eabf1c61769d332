/**
 * The server's clock, and the elements that depend on it.
 *
 * The page computes ages from moments. Without a connection to its server it continues to do so, so
 * the shown ages grow.
 */
import { html, useLayoutEffect, useRef } from "./html.js";
import { age, isoTime, moment } from "./format.js";

let ahead = 0;
let wall = Date.now();
let steady = performance.now();

/** The server's time now, ms. */
export function now() {
  return Date.now() + ahead;
}

/** Set the server's time to `at`, by a message that nothing can have delayed. @param {number} at */
export function synchronize(at) {
  ahead = at - Date.now();
  received(at, Infinity);
}

/**
 * Note a message that was sent at `at`; returns whether it is younger than `late_ms`. A late one does
 * not end the silence, and none sets the server's time back: that would make a delay look like a
 * difference of the clocks. @param {number} at @param {number} late_ms
 */
export function received(at, late_ms) {
  ahead = Math.max(ahead, at - Date.now());
  if (now() - at > late_ms) return false;
  wall = Date.now();
  steady = performance.now();
  return true;
}

/**
 * Ms since the last message of the server that was not late, the longer of two measures: one stops while a laptop
 * sleeps, the other may be set back.
 */
export function silence() {
  return Math.max(Date.now() - wall, performance.now() - steady);
}

const ticking = new Set();
setInterval(tick, 1000);

/** Call it now and once a second; the returned function ends that. @param {() => void} listener */
export function everySecond(listener) {
  listener();
  ticking.add(listener);
  return () => ticking.delete(listener);
}

function tick() {
  for (const listener of ticking) listener();
}

/** After a sleep or in another tab ages are wrong until the next second: correct them at once. */
document.addEventListener("visibilitychange", tick);
window.addEventListener("pageshow", tick);

/**
 * Text that follows the clock, without a new drawing of anything else.
 *
 * @param {{at: number, format?: (ms: number) => string, class?: string}} properties
 *     `format`: converts the ms since `at` (negative: in the future) to text; default: the age
 */
export function Since({ at, format = age, class: name }) {
  const element = useRef(null);
  useLayoutEffect(() => {
    const set = () => {
      const text = format(now() - at);
      if (element.current && element.current.textContent !== text) element.current.textContent = text;
    };
    return everySecond(set);
  }, [at, format]);
  return html`<time
    ref=${element}
    class=${name}
    dateTime=${isoTime(at)}
    title=${moment(at)}
  />`;
}

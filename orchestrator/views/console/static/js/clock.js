/**
 * The server's clock, and what counts with it.
 *
 * Ages are worked out here from moments; a page that lost its server goes on counting, so what it
 * shows grows old before the reader's eyes.
 */
import { html, useLayoutEffect, useRef } from "./html.js";
import { age, isoTime, moment } from "./words.js";

let ahead = 0;
let wall = Date.now();
let steady = performance.now();

/** The server's time now, ms. */
export function now() {
  return Date.now() + ahead;
}

/** The server said that it is `at` now. @param {number} at */
export function heard(at) {
  wall = Date.now();
  steady = performance.now();
  ahead = at - wall;
}

/**
 * Ms since the server last said anything, the longer of two measures: one stands still while a
 * laptop sleeps, the other may be set back.
 */
export function silence() {
  return Math.max(Date.now() - wall, performance.now() - steady);
}

const ticking = new Set();
setInterval(tick, 1000);

/** Call once a second, beginning now; the answer ends that. @param {() => void} listener */
export function everySecond(listener) {
  listener();
  ticking.add(listener);
  return () => ticking.delete(listener);
}

function tick() {
  for (const listener of ticking) listener();
}

/** After a sleep or in another tab ages are wrong until the next second: set them right at once. */
document.addEventListener("visibilitychange", tick);
window.addEventListener("pageshow", tick);

/**
 * Text that follows the clock without drawing anything else again.
 *
 * @param {{at: number, say?: (ms: number) => string, class?: string}} properties
 *     `say`: from the ms since `at` (negative: ahead) to words; the age without it
 */
export function Since({ at, say = age, class: name }) {
  const element = useRef(null);
  useLayoutEffect(() => {
    const set = () => {
      const text = say(now() - at);
      if (element.current && element.current.textContent !== text) element.current.textContent = text;
    };
    return everySecond(set);
  }, [at, say]);
  return html`<time
    ref=${element}
    class=${name}
    dateTime=${isoTime(at)}
    title=${moment(at)}
  />`;
}

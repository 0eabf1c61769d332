/** Numbers, times and names as text. Null is "not known", never zero. */
import { prefs } from "./prefs.js";

/** The last moment that a Date has (ECMAScript), ms since 1970. */
const LATEST_MS = 8_640_000_000_000_000;
const NUMBERS = new Intl.NumberFormat("en-US");

/** @param {number|null|undefined} value */
export function count(value) {
  return value == null ? "?" : NUMBERS.format(value);
}

/** @param {number} value @param {string} one @param {string} [many] */
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A duration: `70 ms`, `4 s`, `1 min 30 s`, `2 h 05 min`, `3 d 4 h`. @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.floor(ms))} ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${two(minutes % 60)} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** An age; below a second it is "now". @param {number} ms */
export function age(ms) {
  return ms < 1000 ? "now" : `${duration(ms)} ago`;
}

/** @param {number|null} rate replicas per second */
export function rate(rate) {
  if (rate == null) return null;
  if (rate < 100) return `${rate.toFixed(1)}/s`;
  return `${count(Math.round(rate))}/s`;
}

const ZONES = new Intl.DateTimeFormat("en-US", { timeZoneName: "short" });

/** The name of the chosen zone at that moment: `UTC`, `CET`, `GMT+9`. @param {number} [ms] */
export function zoneName(ms = Date.now()) {
  if (zoneShift(ms) === 0) return "UTC";
  const at = new Date(Math.min(Math.max(ms, -LATEST_MS), LATEST_MS));
  return ZONES.formatToParts(at).find((each) => each.type === "timeZoneName")?.value ?? "local time";
}

/**
 * A time of day, with the date if it is another day than `now`.
 *
 * @param {number} ms @param {{millis?: boolean, now?: number, date?: boolean}} [how]
 */
export function time(ms, { millis = false, now = Date.now(), date } = {}) {
  const at = parts(ms);
  const day = date ?? at.day !== parts(now).day;
  return `${day ? `${at.day} ` : ""}${at.time}${millis ? `.${at.millis}` : ""}`;
}

/** The full date and time in the chosen zone, with the same in UTC. @param {number} ms */
export function moment(ms) {
  return withUtc(ms, time(ms, { millis: true, date: true }));
}

const UTC_TIMES = /(?<![\w+-])(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z| UTC)(?!\w)/g;

/** A text with each of its times in UTC as `moment` has it, to the second. @param {string} text */
export function localTimes(text) {
  return text.replace(UTC_TIMES, (found, day, at) => {
    const ms = Date.parse(`${day}T${at}Z`);
    return Number.isNaN(ms) ? found : withUtc(ms, time(ms, { date: true }));
  });
}

/** @param {number} ms @param {string} shown */
function withUtc(ms, shown) {
  if (zoneShift(ms) === 0) return `${shown} UTC`;
  const [day, utc] = isoTime(ms).split("T");
  const other = shown.startsWith(day) ? "" : `${day} `;
  return `${shown} ${zoneName(ms)} (${other}${utc.slice(0, 8)} UTC)`;
}

/** An axis label for ticks that are `step` ms apart. @param {number} ms @param {number} step */
export function tickLabel(ms, step) {
  const at = parts(ms);
  if (step >= 86_400_000) return at.day.slice(-5);
  if (step >= 60_000) return at.time.slice(0, 5);
  return step >= 1000 ? at.time : `${at.time.slice(3)}.${at.millis}`;
}

/** Ms that the axis' zone is ahead of UTC at that moment, so that ticks fall on full hours. */
export function zoneShift(ms) {
  return prefs.zone === "utc" ? 0 : -(new Date(ms).getTimezoneOffset() || 0) * 60_000;
}

/** `log_dir_offline` as text with spaces. @param {string} name */
export function spaced(name) {
  return name.replaceAll("_", " ");
}

/** A moment as ISO 8601, or the nearest one that a Date has. @param {number} ms */
export function isoTime(ms) {
  return new Date(Math.min(Math.max(ms, -LATEST_MS), LATEST_MS)).toISOString();
}

function parts(ms) {
  const [day, time] = isoTime(ms + zoneShift(ms)).split("T");
  return { day, time: time.slice(0, 8), millis: time.slice(9, 12) };
}

function two(value) {
  return String(value).padStart(2, "0");
}

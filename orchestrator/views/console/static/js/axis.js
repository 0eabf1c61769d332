/** The timeline's arithmetic: ranges, ticks, bars. Pure. */
import { tickLabel, zoneShift } from "./format.js";

/** @typedef {{from: number, to: number}} Range ms; `from` <= an event < `to` */

export const RANGE_MS_MIN = 1000;

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000,
  300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000,
  86_400_000, 172_800_000, 604_800_000, 1_209_600_000, 2_419_200_000,
];

/** Keep a range within a window, and not shorter than RANGE_MS_MIN. */
export function within(range, window) {
  const span = Math.min(Math.max(range.to - range.from, RANGE_MS_MIN), Math.max(window.to - window.from, RANGE_MS_MIN));
  const from = Math.min(Math.max(range.from, window.from), Math.max(window.from, window.to - span));
  return { from: Math.round(from), to: Math.round(from + span) };
}

/** Zoom by a factor (below 1: in) around a moment. @param {Range} range */
export function zoomed(range, factor, about = (range.from + range.to) / 2) {
  return { from: about - (about - range.from) * factor, to: about + (range.to - about) * factor };
}

/** Move by a share of the visible range. @param {Range} range */
export function panned(range, share) {
  const by = (range.to - range.from) * share;
  return { from: range.from + by, to: range.to + by };
}

/**
 * The positions of the axis lines, at round times of the chosen zone.
 *
 * @param {Range} range @param {number} most the most lines that fit
 */
export function ticks(range, most) {
  const wanted = (range.to - range.from) / Math.max(1, most);
  const step = STEPS_MS.find((each) => each >= wanted) ?? STEPS_MS.at(-1);
  const shift = zoneShift(range.from);
  const first = Math.ceil((range.from + shift) / step) * step - shift;
  const found = [];
  for (let at = first; at < range.to && found.length < 100; at += step) {
    found.push({ at, label: tickLabel(at, step) });
  }
  return found;
}

/**
 * Bars of one lane as one path. Heights are logarithmic: one event must be visible near a thousand.
 *
 * @param {readonly {at_ms: number, count: number}[]} buckets
 * @param {(ms: number) => number} x @param {number} width of a bar
 * @param {number} bottom @param {number} height @param {number} most the highest count
 */
export function bars(buckets, x, width, bottom, height, most) {
  const scale = height / Math.log2(1 + Math.max(1, most));
  return buckets
    .map(({ at_ms: at, count }) => {
      const tall = Math.max(3, Math.log2(1 + count) * scale);
      return `M${x(at).toFixed(1)} ${bottom}v${(-tall).toFixed(1)}h${width.toFixed(1)}v${tall.toFixed(1)}z`;
    })
    .join("");
}

/**
 * Which labels fit: each must end before the next mark and before the end of the drawing.
 *
 * @param {readonly {x: number, width: number}[]} labels left to right @param {number} end
 */
export function roomy(labels, end) {
  return labels.map(({ x, width }, i) => x + width <= (labels[i + 1]?.x ?? end));
}

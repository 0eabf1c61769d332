/** Moving over rows of cells with the keyboard. */
import { useRef, useState } from "./html.js";

/**
 * The cell that has the focus: its drawn position, and its current one, which is ahead of the drawn
 * one while a key repeats faster than the screen is drawn.
 *
 * @param {readonly {cells: readonly unknown[]}[]} rows
 */
export function useCursor(rows) {
  const [, draw] = useState(0);
  const place = useRef([0, 0]);
  const at = [Math.min(place.current[0], rows.length - 1), place.current[1]];
  const move = (event) => {
    const from = [Math.min(place.current[0], rows.length - 1), place.current[1]];
    const to = moved(event.key, event.ctrlKey, from, rows);
    if (!to) return null;
    event.preventDefault();
    place.current = to;
    draw((turn) => turn + 1);
    return to;
  };
  return { at, move };
}

/**
 * The cell that a key moves to; null: the key does not move.
 *
 * @param {string} key @param {boolean} ctrl @param {readonly [number, number]} from row, column
 * @param {readonly {cells: readonly unknown[]}[]} rows
 * @returns {[number, number]|null}
 */
export function moved(key, ctrl, [row, column], rows) {
  const last = (r) => Math.max(0, rows[r].cells.length - 1);
  const clamp = (r, c) => [r, Math.min(c, last(r))];
  switch (key) {
    case "ArrowRight":
      return [row, Math.min(column + 1, last(row))];
    case "ArrowLeft":
      return [row, Math.max(column - 1, 0)];
    case "ArrowDown":
      return clamp(Math.min(row + 1, rows.length - 1), column);
    case "ArrowUp":
      return clamp(Math.max(row - 1, 0), column);
    case "Home":
      return ctrl ? [0, 0] : [row, 0];
    case "End":
      return ctrl ? [rows.length - 1, last(rows.length - 1)] : [row, last(row)];
    case "PageDown":
      return clamp(Math.min(row + 10, rows.length - 1), column);
    case "PageUp":
      return clamp(Math.max(row - 10, 0), column);
    default:
      return null;
  }
}

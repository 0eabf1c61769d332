/** Log directories: the kind of each, and its description. Pure. */
import { count, counted } from "./format.js";

/** @typedef {import("./types.js").Cell} Cell */
/** @typedef {import("./types.js").Disks} Disks */

/** The kinds of a cell, and their meanings; `elsewhere` is drawn after a broker's directories. */
export const KINDS = /** @type {const} */ ({
  assigned: "assigned",
  pending: "some pending",
  elsewhere: "pending, directory not known",
  offline: "offline",
  disk: "on disk only, not in the metadata log",
  unknown: "not known",
  empty: "no replicas",
});

/** @param {Cell} cell @returns {keyof typeof KINDS} */
export function cellKind(cell) {
  if (cell.state !== "online") return cell.state;
  if (cell.pending > 0) return "pending";
  if (cell.assigned > 0) return "assigned";
  if (cell.on_disk > 0) return "disk";
  const none = cell.on_disk === 0 || (cell.assigned === 0 && cell.pending === 0);
  return none ? "empty" : "unknown";
}

/**
 * A broker's directories, each once. While the mapping of ids to paths is unknown, both are
 * listed: an id without replicas then adds no information to a path.
 *
 * @param {readonly Cell[]} cells
 */
export function directories(cells) {
  const paths = cells.filter((cell) => cell.directory === null).length;
  const idle = cells.filter((cell) => cell.path === null && !cell.assigned && cell.state === "online");
  if (!idle.length || idle.length > paths) return cells;
  return cells.filter((cell) => !idle.includes(cell));
}

/** The pending share, 0 to 1; never too small to be visible. @param {Cell} cell */
export function pendingShare(cell) {
  return Math.max(0.12, cell.pending / (cell.pending + (cell.assigned ?? 0)));
}

/** @param {Cell} cell */
export function cellName(cell) {
  return cell.path ?? cell.directory ?? "directory not known";
}

/** @param {Cell} cell */
export function cellText(cell) {
  if (cell.state === "offline" && cell.offline !== null) return `offline: ${counted(cell.offline, "replica")} cannot be reached`;
  const parts = [
    cell.assigned !== null && `${count(cell.assigned)} assigned`,
    cell.pending > 0 && `${count(cell.pending)} pending`,
    cell.on_disk !== null &&
      cell.on_disk !== (cell.assigned ?? 0) + (cell.pending ?? 0) &&
      `${count(cell.on_disk)} on disk`,
  ].filter(Boolean);
  const state = { online: "", offline: "offline: ", unknown: "not known: " }[cell.state];
  return state + (parts.join(", ") || "no data");
}

/** The pending replicas that no known directory holds. @param {number} broker @param {number} many */
export function elsewhereLine(broker, many) {
  return `broker ${broker}: ${counted(many, "pending replica")}, directory not known yet`;
}

/** The cell with its broker, for the line below the heat map. @param {number} broker @param {Cell} cell */
export function cellLine(broker, cell) {
  return `broker ${broker}, ${cellName(cell)}: ${cellText(cell)}`;
}

/** A broker's directories in one sentence. @param {Disks} row */
export function rowText({ broker, cells, silent, pending_elsewhere: elsewhere }) {
  if (!cells.length) return `broker ${broker}: ${silent ?? "directories not known"}`;
  const parts = Object.keys(KINDS)
    .map((kind) => [kind, cells.filter((cell) => cellKind(cell) === kind)])
    .filter(([, found]) => found.length)
    .map(([kind, found]) => `${found.length} ${KINDS[kind]}`);
  if (elsewhere > 0) parts.push(`${counted(elsewhere, "pending replica")}, directory not known yet`);
  return `broker ${broker}, ${counted(cells.length, "directory", "directories")}: ${parts.join(", ")}`;
}

/**
 * Brokers x directories: a cell for each directory, its shape by state. Small clusters get words in
 * their cells; large ones cells of a few pixels, in as many columns as fit, and one line that tells
 * of the cell in focus or under the pointer.
 */
import { html, memo, useMemo, useRef, useState } from "./html.js";
import { CALM } from "./frame.js";
import { Panel } from "./parts.js";
import { go, linkWith } from "./route.js";
import { count, counted } from "./words.js";

/** @typedef {import("./types.js").Cell} Cell */
/** @typedef {import("./types.js").Disks} Disks */

const KINDS = /** @type {const} */ ([
  ["assigned", "all assigned"],
  ["pending", "some pending"],
  ["offline", "offline"],
  ["unknown", "not known"],
  ["empty", "no replicas"],
]);

/** @param {Cell} cell */
export function cellKind(cell) {
  if (cell.state !== "online") return cell.state;
  if (cell.pending > 0) return "pending";
  if (cell.pending === null || cell.assigned === null) return cell.on_disk > 0 ? "unknown" : "empty";
  return cell.assigned > 0 ? "assigned" : "empty";
}

/** @param {Cell} cell */
export function cellText(cell) {
  const told = [
    cell.assigned !== null && `${count(cell.assigned)} assigned`,
    cell.pending > 0 && `${count(cell.pending)} pending`,
    cell.offline > 0 && `${count(cell.offline)} cannot be reached`,
    cell.on_disk !== null && cell.on_disk !== (cell.assigned ?? 0) + (cell.pending ?? 0) && `${count(cell.on_disk)} on disk`,
  ].filter(Boolean);
  const state = cell.state === "online" ? "" : `${cell.state === "offline" ? "offline" : "not known"}: `;
  return state + (told.join(", ") || "nothing told");
}

const FILTERS = [
  ["all", "All"],
  ["unsettled", "Not in order"],
  ["pending", "Pending"],
  ["offline", "Offline"],
  ["unknown", "Not known"],
];

/** @param {{disks: readonly Disks[], brokers: readonly import("./types.js").BrokerRow[]}} properties */
export function Heat({ disks, brokers }) {
  const [filter, setFilter] = useState("all");
  const [told, tell] = useState(null);
  const urgency = useMemo(() => new Map(brokers.map((each) => [each.id, each.urgency])), [brokers]);
  const shown = useMemo(() => {
    const has = (row, kind) => row.cells.some((cell) => cellKind(cell) === kind);
    if (filter === "all") return disks;
    if (filter === "unsettled") return disks.filter((row) => urgency.get(row.broker) < CALM || has(row, "offline"));
    return disks.filter((row) => has(row, filter) || (filter === "pending" && row.pending_elsewhere > 0));
  }, [disks, filter, urgency]);
  const cells = disks.reduce((sum, row) => sum + row.cells.length, 0);
  const note = `${counted(shown.length, "broker")}, ${counted(cells, "directory", "directories")}`;
  return html`<${Panel} id="directories" title="Directories" note=${note} end=${html`<${HeatLegend} />`}>
    <div class="tools" role="group" aria-label="Which brokers">
      <div class="chips">
        ${FILTERS.map(
          ([name, title]) => html`<button key=${name} class="chip" aria-pressed=${filter === name ? "true" : "false"} onClick=${() => setFilter(name)}>${title}</button>`,
        )}
      </div>
    </div>
    <p class="heat-told" data-testid="told">${told ?? html`<span class="soft">Point at a cell, or walk with the arrow keys; Enter opens its broker.</span>`}</p>
    ${shown.length
      ? html`<${Grid} rows=${shown} size=${cells > 240 ? "dense" : cells > 48 ? "middle" : "wide"} tell=${tell} />`
      : html`<p class="empty">${disks.length ? "No broker is like that." : "No directory is known yet."}</p>`}
  <//>`;
}

function HeatLegend() {
  return html`<ul class="legend" aria-label="What the cells show">
    ${KINDS.map(([kind, words]) => html`<li key=${kind}><span class="cell" data-kind=${kind} />${words}</li>`)}
  </ul>`;
}

const Grid = memo(({ rows, size, tell }) => {
  const grid = useRef(null);
  const [at, setAt] = useState([0, 0]);
  const row = Math.min(at[0], rows.length - 1);
  const wide = Math.max(...rows.map((each) => each.cells.length));
  const show = (event) => {
    const cell = event.target.closest?.("[role=gridcell]");
    if (cell) tell(cell.getAttribute("aria-label"));
  };
  const move = (event) => {
    const to = moved(event, [row, at[1]], rows);
    if (!to) return;
    event.preventDefault();
    setAt(to);
    grid.current.querySelectorAll("[role=row]")[to[0]].querySelectorAll("[role=gridcell]")[to[1]]?.focus();
  };
  const open = (event) => {
    const id = event.target.closest?.("[data-broker]")?.dataset.broker;
    if (id) go(linkWith({ broker: id }));
  };
  return html`<div
    ref=${grid}
    class="heat"
    role="grid"
    aria-label="Directories of each broker"
    aria-colcount=${wide + 1}
    data-size=${size}
    data-more=${rows.some((each) => each.pending_elsewhere > 0)}
    style=${{ "--cells": wide }}
    onKeyDown=${(event) => (event.key === "Enter" ? open(event) : move(event))}
    onMouseOver=${show}
    onFocusIn=${show}
    onClick=${open}
  >
    ${rows.map((each, i) => html`<${HeatRow} key=${each.broker} row=${each} size=${size} focus=${i === row ? at[1] : null} />`)}
  </div>`;
});

/** Where an arrow leads; null: nowhere. */
function moved(event, [row, column], rows) {
  const last = (r) => Math.max(0, rows[r].cells.length - 1);
  const clamp = (r, c) => [r, Math.min(c, last(r))];
  switch (event.key) {
    case "ArrowRight":
      return [row, Math.min(column + 1, last(row))];
    case "ArrowLeft":
      return [row, Math.max(column - 1, 0)];
    case "ArrowDown":
      return clamp(Math.min(row + 1, rows.length - 1), column);
    case "ArrowUp":
      return clamp(Math.max(row - 1, 0), column);
    case "Home":
      return event.ctrlKey ? [0, 0] : [row, 0];
    case "End":
      return event.ctrlKey ? [rows.length - 1, last(rows.length - 1)] : [row, last(row)];
    case "PageDown":
      return clamp(Math.min(row + 10, rows.length - 1), column);
    case "PageUp":
      return clamp(Math.max(row - 10, 0), column);
    default:
      return null;
  }
}

const HeatRow = memo(({ row, size, focus }) => {
  const { broker, cells, silent, pending_elsewhere: elsewhere } = row;
  return html`<div role="row" class="heat-row" data-broker=${broker} data-silent=${silent !== null}>
    <span role="rowheader" class="heat-id num">${broker}</span>
    ${cells.map((cell, at) => html`<${HeatCell} key=${cell.directory ?? cell.path ?? at} broker=${broker} cell=${cell} size=${size} focus=${focus === at} />`)}
    ${!cells.length && html`<span role="gridcell" class="heat-none soft" tabindex=${focus === null ? -1 : 0} aria-label=${`broker ${broker}: ${silent ?? "directories not known"}`}>not known</span>`}
    ${elsewhere > 0 && html`<span role="gridcell" class="heat-more" aria-label=${`broker ${broker}: ${counted(elsewhere, "pending replica")} in no directory that is known`}>+${count(elsewhere)}</span>`}
  </div>`;
});

const HeatCell = memo(({ broker, cell, size, focus }) => {
  const kind = cellKind(cell);
  const name = cell.path ?? cell.directory ?? "directory not known";
  const share = kind === "pending" ? cell.pending / (cell.pending + (cell.assigned ?? 0)) : null;
  return html`<span
    role="gridcell"
    class="cell"
    data-kind=${kind}
    tabindex=${focus ? 0 : -1}
    aria-label=${`broker ${broker}, ${name}: ${cellText(cell)}`}
    style=${share === null ? undefined : { "--pending": `${Math.max(12, Math.round(share * 100))}%` }}
  >${size === "wide" ? html`<b class="mono">${shortPath(name)}</b><small>${cellText(cell)}</small>` : size === "middle" ? brief(cell, kind) : null}</span>`;
});

function brief(cell, kind) {
  if (kind === "offline") return count(cell.offline ?? cell.on_disk);
  if (kind === "unknown") return "?";
  return kind === "pending" ? count(cell.pending) : count(cell.assigned);
}

/** The end of a path tells directories apart. */
function shortPath(path) {
  return path.length > 24 ? `…${path.slice(-23)}` : path;
}

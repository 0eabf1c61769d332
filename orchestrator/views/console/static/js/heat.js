/**
 * Brokers x directories: a cell for each directory, its shape by state. Small clusters have text or
 * numbers in their cells; large ones have cells of a few pixels, in as many columns as fit, and one
 * line that describes the cell that has the focus or is under the pointer.
 */
import { html, memo, useMemo, useRef, useState } from "./html.js";
import { KINDS, cellKind, cellLine, cellName, cellText, directories, elsewhereLine, pendingShare, rowText } from "./cells.js";
import { DenseHeat } from "./heat_dense.js";
import { useCursor } from "./heat_keys.js";
import { Panel } from "./parts.js";
import { sheetLink } from "./route.js";
import { isUnsettled } from "./rows.js";
import { count, counted } from "./format.js";

const CELLS_WITH_WORDS_MAX = 48;
const CELLS_WITH_NUMBERS_MAX = 240;

const FILTERS = [
  ["all", "All"],
  ["unsettled", "Not in order"],
  ["pending", "Pending"],
  ["offline", "Offline"],
  ["unknown", "Not known"],
];

/** The same row returns the same object, so that only changed rows are drawn. */
const folded = new WeakMap();

function fold(row) {
  if (!folded.has(row)) folded.set(row, { ...row, cells: directories(row.cells) });
  return folded.get(row);
}

/** @param {{disks: readonly import("./types.js").Disks[], brokers: readonly import("./types.js").BrokerState[]}} properties */
export function Heat({ disks: rows, brokers }) {
  const disks = useMemo(() => rows.map(fold), [rows]);
  const [filter, setFilter] = useState("all");
  const [text, describe] = useState(null);
  const unsettled = useMemo(() => new Set(brokers.filter(isUnsettled).map((each) => each.id)), [brokers]);
  const shown = useMemo(() => {
    const has = (row, kind) => row.cells.some((cell) => cellKind(cell) === kind);
    if (filter === "all") return disks;
    if (filter === "unsettled") return disks.filter((row) => unsettled.has(row.broker) || has(row, "offline"));
    const without = { pending: (row) => row.pending_elsewhere > 0, unknown: (row) => !row.cells.length };
    return disks.filter((row) => has(row, filter) || without[filter]?.(row));
  }, [disks, filter, unsettled]);
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
    <p class="heat-text" role="status" data-testid="cell-text">${text ?? html`<span class="soft">Point at a cell, or move with the arrow keys; Enter opens its broker.</span>`}</p>
    ${shown.length
      ? html`<${Drawn} rows=${shown} cells=${cells} describe=${describe} />`
      : html`<p class="empty">${disks.length ? "No broker matches." : "No directory is known yet."}</p>`}
  <//>`;
}

function Drawn({ rows, cells, describe }) {
  if (cells > CELLS_WITH_NUMBERS_MAX) return html`<${DenseHeat} rows=${rows} describe=${describe} />`;
  return html`<${CellHeat} rows=${rows} size=${cells > CELLS_WITH_WORDS_MAX ? "middle" : "wide"} describe=${describe} />`;
}

function HeatLegend() {
  return html`<ul class="legend" aria-label="What the cells show">
    ${Object.entries(KINDS).map(([kind, meaning]) => html`<li key=${kind}><span class="cell" data-kind=${kind} />${meaning}</li>`)}
    <li><s class="num">1</s>the broker does not answer</li>
  </ul>`;
}

/** The heat map of a small cluster: a grid of cells that contain text or numbers. */
const CellHeat = memo(({ rows, size, describe }) => {
  const grid = useRef(null);
  const { at, move } = useCursor(rows);
  const wide = Math.max(...rows.map((each) => each.cells.length));
  const show = (event) => {
    const cell = event.target.closest?.("[role=gridcell]");
    if (cell) describe(cell.getAttribute("aria-label"));
  };
  const keys = (event) => {
    const to = move(event);
    if (!to) return;
    grid.current.querySelectorAll("[role=row]")[to[0]].querySelectorAll("[role=gridcell]")[to[1]]?.focus();
  };
  const open = (event) => {
    const id = event.target.closest?.("[data-broker]")?.dataset.broker;
    if (id) location.assign(sheetLink({ broker: id }));
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
    onKeyDown=${(event) => (event.key === "Enter" ? open(event) : keys(event))}
    onMouseOver=${show}
    onFocusIn=${show}
    onClick=${open}
  >
    ${rows.map((each, i) => html`<${HeatRow} key=${each.broker} row=${each} size=${size} focus=${i === at[0] ? at[1] : null} />`)}
  </div>`;
});

const HeatRow = memo(({ row, size, focus }) => {
  const { broker, cells, silent, pending_elsewhere: elsewhere } = row;
  return html`<div role="row" class="heat-row" data-broker=${broker} data-silent=${silent !== null}>
    <span role="rowheader" class="heat-id num">${size === "wide" && html`<small>broker </small>`}${broker}</span>
    ${cells.map((cell, at) => html`<${HeatCell} key=${cell.directory ?? cell.path ?? at} broker=${broker} cell=${cell} size=${size} focus=${focus === at} />`)}
    ${!cells.length && html`<span role="gridcell" class="heat-none soft" tabindex=${focus === null ? -1 : 0} aria-label=${rowText(row)}>not known</span>`}
    ${elsewhere > 0 && html`<span role="gridcell" class="cell" data-kind="elsewhere" tabindex="-1" aria-label=${elsewhereLine(broker, elsewhere)}>
      ${size === "wide" ? html`<b>${count(elsewhere)} pending</b><small>directory not known yet</small>` : count(elsewhere)}
    </span>`}
  </div>`;
});

const HeatCell = memo(({ broker, cell, size, focus }) => {
  const kind = cellKind(cell);
  const name = cellName(cell);
  return html`<span
    role="gridcell"
    class="cell"
    data-kind=${kind}
    tabindex=${focus ? 0 : -1}
    aria-label=${cellLine(broker, cell)}
    style=${kind === "pending" ? { "--pending": `${Math.round(pendingShare(cell) * 100)}%` } : undefined}
  >${size === "wide" ? html`<b class="mono">${shortPath(name)}</b><small>${cellText(cell)}</small>` : brief(cell, kind)}</span>`;
});

function brief(cell, kind) {
  if (kind === "offline") return count(cell.offline ?? cell.on_disk);
  if (kind === "unknown") return "?";
  if (kind === "disk") return count(cell.on_disk);
  return kind === "pending" ? count(cell.pending) : count(cell.assigned);
}

/** The end of a path distinguishes directories. */
function shortPath(path) {
  return path.length > 24 ? `…${path.slice(-23)}` : path;
}

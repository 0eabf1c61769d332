/**
 * Brokers x directories: a cell for each directory, its shape by state. Small clusters have text or
 * numbers in their cells; large ones have cells of a few pixels, in as many columns as fit, and one
 * line that describes the cell that has the focus or is under the pointer.
 */
import { html, useMemo, useState } from "./html.js";
import { KINDS, cellKind, directories } from "./cells.js";
import { CellHeat } from "./heat_cells.js";
import { DenseHeat } from "./heat_dense.js";
import { Panel } from "./parts.js";
import { isUnsettled } from "./rows.js";
import { counted } from "./words.js";

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
export function Heat({ disks: told, brokers }) {
  const disks = useMemo(() => told.map(fold), [told]);
  const [filter, setFilter] = useState("all");
  const [words, tell] = useState(null);
  const unsettled = useMemo(() => new Set(brokers.filter(isUnsettled).map((each) => each.id)), [brokers]);
  const shown = useMemo(() => {
    const has = (row, kind) => row.cells.some((cell) => cellKind(cell) === kind);
    if (filter === "all") return disks;
    if (filter === "unsettled") return disks.filter((row) => unsettled.has(row.broker) || has(row, "offline"));
    return disks.filter((row) => has(row, filter) || (filter === "pending" && row.pending_elsewhere > 0));
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
    <p class="heat-told" role="status" data-testid="told">${words ?? html`<span class="soft">Point at a cell, or move with the arrow keys; Enter opens its broker.</span>`}</p>
    ${shown.length
      ? html`<${Drawn} rows=${shown} cells=${cells} tell=${tell} />`
      : html`<p class="empty">${disks.length ? "No broker matches." : "No directory is known yet."}</p>`}
  <//>`;
}

function Drawn({ rows, cells, tell }) {
  if (cells > CELLS_WITH_NUMBERS_MAX) return html`<${DenseHeat} rows=${rows} tell=${tell} />`;
  return html`<${CellHeat} rows=${rows} size=${cells > CELLS_WITH_WORDS_MAX ? "middle" : "wide"} tell=${tell} />`;
}

function HeatLegend() {
  return html`<ul class="legend" aria-label="What the cells show">
    ${Object.entries(KINDS).map(([kind, words]) => html`<li key=${kind}><span class="cell" data-kind=${kind} />${words}</li>`)}
  </ul>`;
}

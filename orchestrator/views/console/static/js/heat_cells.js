/** The heat map of a small cluster: a grid of cells that contain text or numbers. */
import { html, memo, useRef } from "./html.js";
import { cellKind, cellName, cellText, pendingShare, rowText, toldText } from "./cells.js";
import { useCursor } from "./heat_keys.js";
import { sheetLink } from "./route.js";
import { count, counted } from "./words.js";

export const CellHeat = memo(({ rows, size, tell }) => {
  const grid = useRef(null);
  const { at, move } = useCursor(rows);
  const wide = Math.max(...rows.map((each) => each.cells.length));
  const show = (event) => {
    const cell = event.target.closest?.("[role=gridcell]");
    if (cell) tell(cell.getAttribute("aria-label"));
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
    <span role="rowheader" class="heat-id num">${broker}</span>
    ${cells.map((cell, at) => html`<${HeatCell} key=${cell.directory ?? cell.path ?? at} broker=${broker} cell=${cell} size=${size} focus=${focus === at} />`)}
    ${!cells.length && html`<span role="gridcell" class="heat-none soft" tabindex=${focus === null ? -1 : 0} aria-label=${rowText(row)}>not known</span>`}
    ${elsewhere > 0 && html`<span role="gridcell" class="heat-more" aria-label=${`broker ${broker}: ${counted(elsewhere, "pending replica")} in no directory that is known`}>+${count(elsewhere)}</span>`}
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
    aria-label=${toldText(broker, cell)}
    style=${kind === "pending" ? { "--pending": `${Math.round(pendingShare(cell) * 100)}%` } : undefined}
  >${size === "wide" ? html`<b class="mono">${shortPath(name)}</b><small>${cellText(cell)}</small>` : brief(cell, kind)}</span>`;
});

function brief(cell, kind) {
  if (kind === "offline") return count(cell.offline ?? cell.on_disk);
  if (kind === "unknown") return "?";
  return kind === "pending" ? count(cell.pending) : count(cell.assigned);
}

/** The end of a path distinguishes directories. */
function shortPath(path) {
  return path.length > 24 ? `…${path.slice(-23)}` : path;
}

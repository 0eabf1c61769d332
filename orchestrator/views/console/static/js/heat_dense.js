/**
 * The heat map of a large cluster: a row is one link with a drawing in it, so that thousands of
 * directories need only some hundred elements, and a change draws only the changed rows.
 */
import { html, memo, useRef } from "./html.js";
import { cellKind, pendingShare, rowText, cellLine } from "./cells.js";
import { useCursor } from "./heat_keys.js";
import { sheetLink } from "./route.js";
import { count } from "./format.js";

const STEP = 15;
const SIDE = 13;

/**
 * @param {{rows: readonly import("./types.js").Disks[], describe: (text: string) => void}} properties
 */
export const DenseHeat = memo(({ rows, describe }) => {
  const list = useRef(null);
  const { at, move } = useCursor(rows);
  const wide = Math.max(...rows.map((each) => each.cells.length));
  const show = (r, c) => {
    const cell = rows[r]?.cells[c];
    describe(cell ? cellLine(rows[r].broker, cell) : rowText(rows[r]));
  };
  const keys = (event) => {
    const to = move(event);
    if (!to) return;
    list.current.children[to[0]].firstElementChild.focus();
    show(...to);
  };
  const point = (event) => {
    const line = event.target.closest("li");
    const drawn = line?.querySelector("svg")?.getBoundingClientRect();
    if (!drawn) return;
    const share = (event.clientX - drawn.left) / drawn.width;
    if (share >= 0 && share < 1) show(Number(line.dataset.row), Math.floor(share * wide));
  };
  return html`<${Patterns} />
    <ul
      ref=${list}
      class="heat dense"
      aria-label="Directories of each broker"
      data-more=${rows.some((each) => each.pending_elsewhere > 0)}
      style=${{ "--cells": wide }}
      onKeyDown=${keys}
      onPointerMove=${point}
    >
      ${rows.map((each, i) => html`<${DenseRow} key=${each.broker} row=${each} at=${i} wide=${wide} cursor=${i === at[0] ? at[1] : null} />`)}
    </ul>`;
});

/** Drawn once and used by every row. */
function Patterns() {
  return html`<svg class="patterns" width="0" height="0" aria-hidden="true">
    <defs>
      <pattern id="pending-fill" width="4.500" height="4.500" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect class="pending-ground" width="4.500" height="4.500" />
        <rect class="pending-stripe" width="1.500" height="4.500" />
      </pattern>
    </defs>
  </svg>`;
}

const DenseRow = memo(({ row, at, wide, cursor }) => {
  const { broker, cells, silent, pending_elsewhere: elsewhere } = row;
  return html`<li class="heat-row" data-row=${at} data-broker=${broker} data-silent=${silent !== null}>
    <a href=${sheetLink({ broker })} tabindex=${cursor === null ? -1 : 0} aria-label=${rowText(row)}>
      <span class="heat-id num">${broker}</span>
      <svg viewBox=${`0 0 ${wide * STEP} ${STEP}`} aria-hidden="true">
        ${paths(cells).map(([kind, d]) => html`<path key=${kind} class=${`k-${kind}`} d=${d} fill=${kind === "pending" ? "url(#pending-fill)" : undefined} />`)}
        ${cursor !== null && html`<rect class="cursor" x=${cursor * STEP + 0.5} y="0.500" width=${STEP - 1} height=${STEP - 1} />`}
      </svg>
      ${elsewhere > 0 && html`<span class="heat-more"><span class="cell" data-kind="elsewhere" />${count(elsewhere)}</span>`}
      ${!cells.length && html`<span class="heat-none">not known</span>`}
    </a>
  </li>`;
});

/** One path for each kind that occurs. @param {readonly import("./types.js").Cell[]} cells */
function paths(cells) {
  const drawn = { assigned: "", pending: "", offline: "", cross: "", disk: "", unknown: "", dot: "", empty: "" };
  cells.forEach((cell, i) => {
    const x = i * STEP + 1;
    const kind = cellKind(cell);
    if (kind === "pending") {
      const part = Math.round(SIDE * pendingShare(cell));
      drawn.assigned += box(x, SIDE - part);
      drawn.pending += box(x + SIDE - part, part);
    } else if (kind === "disk") drawn.disk += `M${x + 0.5} 1.5h${SIDE - 1}v${SIDE - 1}h${1 - SIDE}zm0 4h${SIDE - 1}m0 4h${1 - SIDE}`;
    else if (kind === "unknown" || kind === "empty") drawn[kind] += `M${x + 0.5} 1.5h${SIDE - 1}v${SIDE - 1}h${1 - SIDE}z`;
    else drawn[kind] += box(x, SIDE);
    if (kind === "offline") drawn.cross += `M${x + 2} 3l9 9m0-9l-9 9`;
    if (kind === "unknown") drawn.dot += `M${x + 4} 5h5v5h-5z`;
  });
  return Object.entries(drawn).filter(([, d]) => d);
}

function box(x, width) {
  return width > 0 ? `M${x} 1h${width}v${SIDE}h${-width}z` : "";
}

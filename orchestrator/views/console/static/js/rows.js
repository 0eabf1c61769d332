/** Brokers as rows: which need attention, and their order. Pure. */

/** @typedef {import("./types.js").BrokerRow} BrokerRow */

/** A broker's modes, in the order of the migration. */
export const STEPS = /** @type {const} */ (["zookeeper", "migrating", "kraft"]);

/** The number of unreachable replicas. @param {BrokerRow} row */
export function lacking(row) {
  return (row.replicas?.offline ?? 0) + (row.replicas?.lost ?? 0);
}

/** Whether the broker needs attention; one that has not migrated yet does not. @param {BrokerRow} row */
export function isUnsettled(row) {
  return row.held || row.fenced === true || lacking(row) > 0;
}

const KEYS = {
  urgency: (row) => row.urgency,
  broker: (row) => row.id,
  mode: (row) => STEPS.indexOf(row.mode),
  state: (row) => row.urgency,
  replicas: (row) => row.total ?? -1,
  pending: (row) => row.pending ?? -1,
  rate: (row) => row.rate_per_second ?? -1,
  eta: (row) => row.eta?.at_ms ?? Number.MAX_SAFE_INTEGER,
  progress: (row) => (row.held ? (row.last_progress_ms ?? 0) : Number.MAX_SAFE_INTEGER),
};

/** The sorted rows; equal ones by id. @param {readonly BrokerRow[]} rows */
export function sorted(rows, { by, down }) {
  const key = KEYS[by] ?? KEYS.urgency;
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => sign * (key(a) - key(b)) || a.id - b.id);
}

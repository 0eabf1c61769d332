/** Brokers as rows: which need attention, and their order. Pure. */

/** @typedef {import("./types.js").BrokerState} BrokerRow */
/** @typedef {import("./types.js").EtaState} Eta */

/** A broker's modes, in the order of the migration. */
export const STEPS = /** @type {const} */ (["zookeeper", "migrating", "kraft"]);

/** The number of unreachable replicas. @param {BrokerRow} row */
export function lacking(row) {
  return row.replicas_known ? row.replicas.offline + row.replicas.lost : 0;
}

/** Whether the controllers fence the broker; false if it is not registered. @param {BrokerRow} row */
export function isFenced(row) {
  return row.epoch !== null && row.fenced;
}

/** When an estimate ends: expected, earliest, latest; null: there is no estimate. @param {Eta|null} eta */
export function etaTimes(eta) {
  if (eta === null || eta.seconds === null) return null;
  const [at, earliest, latest] = [eta.seconds, eta.low_seconds, eta.high_seconds].map((seconds) => eta.made_at_ms + Math.round(seconds * 1000));
  return { at, earliest, latest };
}

/** @param {import("./types.js").Head} head */
export function phaseText(head) {
  return head.phase ?? "phase unknown";
}

/** Whether an operator must act. @param {import("./types.js").Next} next */
export function needsOperator(next) {
  return next.need === "wrong" || next.need === "your_turn";
}

/** Whether the broker needs attention. @param {BrokerRow} row */
export function isUnsettled(row) {
  return !row.in_order;
}

const KEYS = {
  urgency: (row) => row.urgency,
  broker: (row) => row.id,
  mode: (row) => STEPS.indexOf(row.mode),
  state: (row) => row.urgency,
  replicas: (row) => row.total ?? -1,
  pending: (row) => row.pending ?? -1,
  rate: (row) => row.progress?.rate_per_second ?? -1,
  eta: (row) => etaTimes(row.eta)?.at ?? Number.MAX_SAFE_INTEGER,
  progress: (row) => (row.held ? (row.last_progress_ms ?? 0) : Number.MAX_SAFE_INTEGER),
};

/** The sorted rows; equal ones by id. @param {readonly BrokerRow[]} rows */
export function sorted(rows, { by, down }) {
  const key = KEYS[by] ?? KEYS.urgency;
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => sign * (key(a) - key(b)) || a.id - b.id);
}

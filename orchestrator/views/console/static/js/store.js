/**
 * The model: the merged messages of the server. Pure functions; an unchanged part stays the same
 * object, so that only changed parts are drawn.
 */

/** @typedef {import("./types.js").State} State */
/** @typedef {import("./types.js").ClusterState} ClusterState */

/** The most events that are stored for lists; the timeline requests others from the server. */
export const EVENTS_MAX = 500;

/**
 * @typedef {ClusterState & {turn: number}} Cluster
 *     `turn` increases with new events: the timeline then requests its data again.
 * @typedef {Omit<State, "clusters"> & {clusters: readonly Cluster[], looked_ms: number}} Model
 */

/**
 * The model from a full state. A Kraftgate that started again has no cluster before its first tick:
 * then the known ones stay, and are stale. @param {State} state @param {Model|null} before
 * @returns {Model}
 */
export function whole(state, before) {
  if (!state.clusters.length && before) return { ...state, clusters: before.clusters, looked_ms: 0 };
  const turn = 1 + Math.max(0, ...(before?.clusters ?? []).map((each) => each.turn));
  return {
    ...state,
    looked_ms: state.at_ms,
    clusters: state.clusters.map((each) => ({ ...each, turn })),
  };
}

/**
 * The model with a change applied.
 *
 * @param {Model} model @param {import("./types.js").Change} change
 * @returns {Model}
 */
export function changed(model, change) {
  const by = new Map(change.clusters.map((each) => [each.name, each]));
  return {
    ...model,
    at_ms: change.at_ms,
    looked_ms: change.at_ms,
    clusters: model.clusters.map((each) => {
      const other = by.get(each.name);
      return other ? clusterChanged(each, other) : each;
    }),
  };
}

/**
 * @param {Cluster} cluster @param {import("./types.js").ClusterChange} change
 * @returns {Cluster}
 */
function clusterChanged(cluster, change) {
  const next = { ...cluster };
  for (const key of ["head", "sources", "walk", "checkpoints", "waits", "hazards", "alerts"]) {
    if (key in change) next[key] = change[key];
  }
  next.brokers = rows(cluster.brokers, change.brokers, change.brokers_gone, (each) => each.id);
  next.disks = rows(cluster.disks, change.disks, change.disks_gone, (each) => each.broker);
  if (change.events?.length || change.events_missed) {
    const known = change.events_missed ? [] : cluster.events;
    // Sources report events with different delays: sort by the cluster's time.
    const all = [...known, ...(change.events ?? [])].sort((one, other) => one.at_ms - other.at_ms);
    next.events = all.slice(-EVENTS_MAX);
    next.turn = cluster.turn + 1;
  }
  return next;
}

/**
 * Rows sorted by their key; the same array if nothing changed.
 *
 * @template T
 * @param {readonly T[]} before @param {readonly T[]|undefined} put
 * @param {readonly number[]|undefined} gone @param {(row: T) => number} key
 */
function rows(before, put, gone, key) {
  if (!put?.length && !gone?.length) return before;
  const by = new Map(before.map((each) => [key(each), each]));
  for (const each of gone ?? []) by.delete(each);
  for (const each of put ?? []) by.set(key(each), each);
  return [...by.values()].sort((a, b) => key(a) - key(b));
}

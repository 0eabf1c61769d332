/**
 * Whether the shown state is current. It is only if that is known: the page must receive messages
 * of the server, the server must poll the cluster, and the cluster's controllers must answer.
 */
import { now, silence } from "./clock.js";

/** The server sends a beat every 5 s; see `orchestrator/api/console/state.py`. */
export const SILENT_AFTER_MS = 15_000;

/**
 * @typedef {"connecting"|"open"|"late"|"lost"|"ended"|"refused"} LinkState
 * @typedef {{state: LinkState, why: string|null, retry_ms: number|null, received_ms: number|null}} Link
 *     `retry_ms`: when the page connects again; `received_ms`: the server's clock in its last message
 * @typedef {{
 *   kind: "present"|"partial"|"reading"|"settled"|"old"|"nothing",
 *   label: string, title: string, text: string, as_of_ms: number|null, cut?: boolean,
 * }} Currency
 *     current, current without a metadata log, reading history, finished, stale, no data at all;
 *     `cut`: what Kraftgate concluded, such as the next action, is stale, too
 */

/**
 * @param {Link} link @param {import("./store.js").Model|null} model
 * @param {import("./store.js").Cluster|null} cluster
 * @returns {Currency}
 */
export function currencyOf(link, model, cluster) {
  if (model === null || cluster === null) return nothing(link);
  if (link.state !== "open" || silence() > SILENT_AFTER_MS) return cutOff(link, model);
  if (now() - model.looked_ms > SILENT_AFTER_MS) {
    const started = model.looked_ms === 0;
    return {
      kind: "old",
      cut: true,
      label: "stale",
      title: "Kraftgate does not poll",
      text: `Kraftgate answers this page, but has not polled its clusters ${started ? "since it started: the data below is older" : "recently"}.`,
      as_of_ms: started ? null : model.looked_ms,
    };
  }
  return beforeControllers(cluster) ?? reported(cluster.head);
}

/**
 * Before the controllers are provisioned there is no metadata log, and that is a phase: the shown
 * state is current, by ZooKeeper and by the disks.
 *
 * @param {import("./store.js").Cluster} cluster @returns {Currency|null}
 */
function beforeControllers({ head, sources }) {
  const zookeeper = sources.find((each) => each.name === "zookeeper");
  if (head.current !== "no_data" || head.phase !== "zookeeper" || !zookeeper?.current) return null;
  return {
    kind: "partial",
    label: "by ZooKeeper",
    title: "No controller yet",
    text: head.current_text,
    as_of_ms: zookeeper.last_reply_ms,
  };
}

/** Sources that are in use and not current: everything derived from them is stale. @param {import("./store.js").Cluster} cluster */
export function silentSources({ head, sources }) {
  return sources.filter(
    (each) => each.configured && each.in_use && !each.current && !(each.name === "metadata_log" && head.current === "no_data"),
  );
}

/** @param {Link} link @returns {Currency} */
function nothing(link) {
  const text = link.state === "open" ? "Kraftgate has not polled a cluster yet." : linkText(link);
  const label = link.state === "open" ? "no data" : "connecting";
  return { kind: "nothing", label, title: "Nothing is known yet", text, as_of_ms: null, cut: link.state !== "open" };
}

const CUT_OFF = {
  ended: { label: "ended", title: "Kraftgate has ended" },
  late: { label: "stale", title: "Messages arrive late" },
  lost: { label: "disconnected", title: "This page receives nothing" },
};

/** @param {Link} link @returns {Currency} */
function cutOff(link, model) {
  return {
    kind: "old",
    cut: true,
    ...(CUT_OFF[link.state] ?? CUT_OFF.lost),
    text: linkText(link),
    as_of_ms: link.received_ms ?? model.at_ms,
  };
}

/** @param {Link} link */
export function linkText(link) {
  if (link.why) return link.why;
  if (link.state === "ended") return "Kraftgate was stopped. Nothing monitors the cluster.";
  if (link.state === "connecting") return "Connecting to Kraftgate.";
  return "The connection to Kraftgate is lost.";
}

/** @param {import("./types.js").Head} head @returns {Currency} */
function reported(head) {
  const rest = { text: head.current_text, as_of_ms: head.last_reply_ms ?? head.observed_ms };
  switch (head.current) {
    case "current":
      return { kind: "present", label: "current", title: "Current", ...rest };
    case "reading":
      return { kind: "reading", label: "reading", title: "Still reading, not current yet", ...rest };
    case "over":
    case "finished":
      return { kind: "settled", label: "over", title: "Nothing more comes", ...rest };
    case "no_data":
      return { kind: "nothing", label: "no data", title: "Nothing is known yet", ...rest };
    case "source_error":
      return { kind: "old", label: "cannot follow", title: "Kraftgate cannot follow", ...rest };
    default:
      return { kind: "old", label: "stale", title: "Not current", ...rest };
  }
}

/** @param {Currency} one */
export function isOld(one) {
  return one.kind === "old" || one.kind === "nothing";
}

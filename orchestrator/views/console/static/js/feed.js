/** The server-sent events, and the detection of a lost connection. */
import { everySecond, now, received, silence, synchronize } from "./clock.js";
import { SILENT_AFTER_MS } from "./currency.js";
import { Failed, read } from "./api.js";

const FIRST_RETRY_MS = 500;
const RETRY_MS_MAX = 10_000;
/** A line whose messages were late twice within this time is current only after it was in time for as long. */
const PROBATION_MS = 60_000;
/**
 * A message that seems to be older is late: it is delayed, or a clock was changed. The state of any other
 * is not stale before the next beat, 5 s later; with more, the page would alternate.
 */
const LATE_AFTER_MS = 5_000;
const LATE = "The connection is slow, this computer slept, or a clock was changed.";

/**
 * @typedef {{
 *   state: (state: import("./types.js").State) => void,
 *   change: (change: import("./types.js").Change) => void,
 *   beat: (beat: import("./types.js").Beat) => void,
 *   link: (link: import("./currency.js").Link) => void,
 *   locked: (why: string|null) => void,
 * }} Listener `locked`: reading needs the token, which is not entered yet; `why`: if only a place needs it
 */

/** Reads the stream; reports a lost connection and reconnects. */
export class Feed {
  /** @param {Listener} listener */
  constructor(listener) {
    this.listener = listener;
    this.source = null;
    this.timer = 0;
    this.delay_ms = FIRST_RETRY_MS;
    this.received_ms = null;
    this.began_ms = 0;
    this.late_ms = null;
    this.slow = false;
    everySecond(() => this.#watch());
    window.addEventListener("online", () => this.source ?? this.connect());
  }

  /** Connect, or reconnect at once. */
  connect() {
    clearTimeout(this.timer);
    this.#close();
    if (this.received_ms === null) this.#report("connecting", null, null);
    const source = new EventSource("api/stream");
    this.source = source;
    this.began_ms = performance.now();
    // The first state has the time of its last change; the first beat has the clock. Of a large state
    // on a slow line, changes may come between them.
    let first = null;
    let early = [];
    let beats = 0;
    source.addEventListener("state", (event) => {
      const state = JSON.parse(event.data);
      if (beats) this.listener.state(state);
      else [first, early] = [state, []];
    });
    source.addEventListener("change", (event) => {
      const change = JSON.parse(event.data);
      if (!beats) return early.push(change);
      this.#received(change.at_ms);
      this.listener.change(change);
    });
    source.addEventListener("beat", (event) => {
      const beat = JSON.parse(event.data);
      if (!beats++) {
        this.#begun(beat.at_ms);
        this.listener.state(first);
        for (const each of early) this.listener.change(each);
      } else if (!this.#received(beat.at_ms)) return this.#late();
      this.listener.beat(beat);
      this.#open();
    });
    source.addEventListener("end", () => this.#again("ended", null, RETRY_MS_MAX));
    source.addEventListener("error", () => this.#failed());
  }

  #begun(at_ms) {
    synchronize(at_ms);
    this.received_ms = at_ms;
    // A first beat that took that long may be as old; the clock that it sets does not show it.
    if (performance.now() - this.began_ms > SILENT_AFTER_MS) {
      this.slow = true;
      this.late_ms = performance.now();
    }
    if (!this.slow) this.delay_ms = FIRST_RETRY_MS;
  }

  #received(at_ms) {
    this.received_ms = at_ms;
    return received(at_ms, LATE_AFTER_MS);
  }

  /** A new connection has nothing queued. If it is late again soon, the line is slow. */
  #late() {
    const at = performance.now();
    this.slow = this.late_ms !== null && at - this.late_ms < PROBATION_MS;
    this.late_ms = at;
    this.#again("late", LATE, this.slow ? RETRY_MS_MAX : this.delay_ms);
  }

  #open() {
    if (this.slow && performance.now() - Math.max(this.late_ms, this.began_ms) > PROBATION_MS) this.slow = false;
    this.#report(this.slow ? "late" : "open", this.slow ? LATE : null, null);
  }

  /** A connection may end without an error, as a VPN's does. A new one has as long for its first message. */
  #watch() {
    const silent = this.received_ms !== null && silence() > SILENT_AFTER_MS;
    if (this.source && silent && performance.now() - this.began_ms > SILENT_AFTER_MS) this.#failed();
  }

  /** EventSource does not report the reason: send a request that does. */
  async #failed() {
    this.#again("lost", null, this.delay_ms);
    try {
      await read("session").then((session) => {
        if (!session.may_read) throw new Failed("token_needed", "The token is needed to read.");
      });
      await this.#reason();
    } catch (error) {
      if (this.source) return; // it reconnected in the meantime
      if (error.code === "token_needed") {
        clearTimeout(this.timer);
        this.#report("refused", error.message, null);
        this.listener.locked(null);
      } else this.#report("lost", error.message, this.retry_ms);
      // The token has places of its own. A page that shows something goes on showing it.
      if (error.code === "too_many" && this.received_ms === null) this.listener.locked(error.message);
    }
  }

  /** Throws the error that the server returns instead of a stream. */
  async #reason() {
    const stop = new AbortController();
    const response = await fetch("api/stream", { signal: stop.signal });
    if (response.ok) return stop.abort();
    const body = await response.json().catch(() => null);
    throw new Failed(body?.error?.code ?? "failed", body?.error?.message ?? "No stream is given.");
  }

  #again(state, why, wait_ms) {
    this.#close();
    clearTimeout(this.timer);
    this.retry_ms = now() + wait_ms;
    this.delay_ms = Math.min(RETRY_MS_MAX, this.delay_ms * 2);
    this.timer = setTimeout(() => this.connect(), wait_ms);
    this.#report(state, why, this.retry_ms);
  }

  #close() {
    this.source?.close();
    this.source = null;
  }

  #report(state, why, retry_ms) {
    this.listener.link({ state, why, retry_ms, received_ms: this.received_ms });
  }
}

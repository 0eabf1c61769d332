/**
 * The operator's actions on the execution, as the commands of the same names. The dialog names the
 * effect, the cluster and the checkpoint; the audit trail records the name and the reason.
 */
import { html, useRef, useState } from "./html.js";
import { of, post, setToken, token } from "./api.js";
import { Icon } from "./icons.js";
import { ACTIONS, baseOf } from "./now.js";
import { Trouble } from "./parts.js";
import { keepWho, lastWho } from "./prefs.js";
import { useModal } from "./sheet.js";

/** The actions on a checkpoint; the others concern the whole execution. */
const OF_CHECKPOINT = ["approve", "done", "repeat", "execute", "skip", "rollback"];
/** They are confirmed with the cluster's name, as the approval of an irreversible or destructive step is. */
const NAMED = ["abort", "skip", "rollback"];

/** The effects of each action on the execution. @type {Record<string, (walk: import("./types.js").ExecutionState, at: object|null) => string[]>} */
const EFFECTS = {
  approve: (walk, at) => [
    walk.execute
      ? `Its step${at?.step ? ` (${at.step})` : ""} may then begin on this cluster, as soon as all guards hold: by its hook, or by hand if it has none.`
      : `Its step${at?.step ? ` (${at.step})` : ""} may then be taken, by hand.`,
    at?.irreversible ? "It cannot be undone: after it there is no rollback to ZooKeeper." : "",
    at?.destructive ? "It cannot be undone: its step destroys data, or what stores it." : "",
    walk.people > 1 ? `${walk.people} people must approve; ${walk.approved_by.length ? `${walk.approved_by.join(", ")} did` : "nobody did yet"}.` : "",
    walk.people > 1 ? "Everybody who uses the console's token counts as one person; the others approve with kraftgate approve." : "",
    "The approval expires when the state changes for which it is given.",
  ],
  done: (walk) => ["Kraftgate takes the step as done and waits for its gate.", walk.asks ? "Check on the host that it really is." : ""],
  repeat: () => ["Guards and approval are checked again, then the hook runs once more."],
  execute: () => ["Guards and approval are checked again, then the hook performs the step instead of an operator."],
  skip: () => ["The execution continues without this checkpoint: neither its step nor its gate is waited for.", "Nothing shows later that it is missing, apart from the audit trail."],
  rollback: (walk) => [`The rollback of ${walk.checkpoint} begins; the checkpoints on the way forward end here.`, "Its steps are shown, or run by hooks, one after the other."],
  begin: () => ["A new execution begins at the runbook's first checkpoint. Gates that hold already open at once."],
  pause: () => ["No further step is begun until an operator resumes.", "The step that is under way goes on."],
  resume: (walk) => ["Steps are begun again as soon as their guards hold.", walk.paused ? `It was paused by ${walk.paused}.` : ""],
  abort: () => [
    "The execution ends at this checkpoint, and nothing is undone. A hook that still runs goes on, and may change the cluster.",
    "Only kraftgate begin starts a new execution, at its first checkpoint.",
  ],
};

/**
 * @param {{action: keyof typeof ACTIONS, cluster: import("./store.js").Cluster,
 *     off: string|null, onClose: () => void, onDone: (output: string) => void}} properties
 *     `off`: why no action is possible
 */
export function ActionDialog({ action, cluster, off, onClose, onDone }) {
  const dialog = useModal();
  const [opened] = useState(() => ({
    checkpoint: cluster.walk.checkpoint,
    title: cluster.walk.title,
    at: cluster.walk.at[action],
    basis: action === "approve" ? cluster.walk.basis : null,
  }));
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const sending = useRef(false); // a double click submits before the button is disabled
  const [sent, setSent] = useState(false);
  const [asksToken, setAsksToken] = useState(() => token() === null);
  const { walk, name } = cluster;
  const row = cluster.checkpoints.find((each) => each.id === baseOf(opened.checkpoint));
  const here = OF_CHECKPOINT.includes(action);
  const elsewhere = here && walk.checkpoint !== opened.checkpoint;
  const moved = elsewhere || (walk.at[action] ?? opened.at) !== opened.at;
  const differs = !moved && opened.basis !== null && (walk.basis ?? opened.basis) !== opened.basis;
  const gone = !walk.can.includes(action);
  const named = NAMED.includes(action) || (action === "approve" && (row?.irreversible === true || row?.destructive === true));

  const submit = async (event) => {
    event.preventDefault();
    if (sending.current) return;
    sending.current = true;
    const given = Object.fromEntries(new FormData(event.target));
    const held = asksToken ? given.token.trim() : token();
    const body = { who: given.who.trim(), reason: given.reason.trim(), at: opened.at, basis: opened.basis };
    if (here) body.checkpoint = opened.checkpoint;
    if (named) body.confirm = given.confirm;
    setBusy(true);
    setError(null);
    try {
      // It is refused here if it is wrong; the page then has one of the places that the token keeps.
      if (asksToken) await post("session", {}, held);
      setToken(held);
      setAsksToken(false);
      setSent(true);
      const done = await post(of(name, action), body, held);
      keepWho(body.who);
      onDone(done.said.join(" "));
    } catch (problem) {
      if (problem.code === "token_wrong" || problem.code === "token_needed") {
        setToken(null);
        setAsksToken(true);
      }
      setSent((was) => was && ["no_answer", "no_message"].includes(problem.code)); // the others refuse it
      setError(problem);
      setBusy(false);
      sending.current = false;
    }
  };
  const target = here ? opened.checkpoint : "the execution";
  const verb = `${ACTIONS[action].label}${action === "rollback" ? " from" : ""}`;
  const label = `${verb} ${target} in ${name}`;
  return html`<dialog ref=${dialog} class="action-dialog" aria-labelledby="action-title" aria-describedby="action-effects" onClose=${onClose}>
    <form onSubmit=${submit}>
      <h2 id="action-title">${verb} ${here ? html`<code>${target}</code>` : target} <span class="soft">of cluster</span> ${name}</h2>
      ${here && opened.title && html`<p><b>${opened.title}</b></p>`}
      <ul id="action-effects" class="effects">${EFFECTS[action](walk, row ?? null).filter(Boolean).map((each) => html`<li key=${each}>${each}</li>`)}</ul>
      <label class="field">Your name<input name="who" required maxlength="100" autocomplete="name" defaultValue=${lastWho()} /></label>
      <label class="field">Why<textarea name="reason" required maxlength="2000" placeholder="Stored in the audit trail"></textarea></label>
      ${named && html`<label class="field">Type the cluster's name, ${name}, to confirm<input name="confirm" required autocomplete="off" pattern=${escaped(name)} title=${`Type ${name}`} /></label>`}
      ${asksToken && html`<label class="field">Token<input name="token" type="password" required autocomplete="off" spellcheck="false" /><small class="soft">It is in the file that kraftgate run named at its start. This tab forgets it when it is closed.</small></label>`}
      ${moved && html`<p class="trouble" role="alert"><${Icon} name="alert" /><span>The execution has moved on since you opened this${elsewhere ? `, to ${walk.checkpoint ?? "its end"}` : ""}. ${sent ? "This was sent: the audit trail shows whether it counts." : "Nothing was sent."} Close this and check again.</span></p>`}
      ${differs && html`<p class="trouble" role="alert"><${Icon} name="alert" /><span>The state has changed since you opened this. Close this, check the state, and approve again.</span></p>`}
      ${!moved && gone && !busy && html`<p class="trouble" role="alert"><${Icon} name="alert" /><span>The execution no longer allows this.</span></p>`}
      ${off && html`<p class="trouble" role="alert"><${Icon} name="cross" /><span>${off}</span></p>`}
      <${Trouble} error=${error} />
      <p class="dialog-end">
        <button type="button" class="button" onClick=${() => dialog.current.close()}>Cancel</button>
        <button class=${`button primary ${ACTIONS[action].danger ? "danger" : ""}`} disabled=${busy || moved || differs || off !== null || gone}>${busy ? "Sending…" : label}</button>
      </p>
    </form>
  </dialog>`;
}

/** A name as a pattern that matches only it, also with the `v` flag. */
function escaped(text) {
  return text.replace(/[\\^$.*+?()[\]{}|/&!#%,:;<=>@`~-]/g, "\\$&");
}

/** If reading, or a place among many readers, needs the token: the page asks for it before it shows anything. */
import { html, useEffect, useState } from "./html.js";
import { post, read, setToken } from "./api.js";
import { InsecureBand } from "./frame.js";
import { Trouble } from "./parts.js";

/** @param {{why: string|null, onOpen: () => void}} properties `why`: reading alone does not need the token */
export function Locked({ why, onOpen }) {
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [insecure, setInsecure] = useState(false);
  useEffect(() => {
    read("session").then((session) => setInsecure(session.insecure), setError);
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    const held = new FormData(event.target).get("token").trim();
    setBusy(true);
    try {
      await post("session", {}, held);
      setToken(held);
      onOpen();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return html`<main class="locked" id="main">
    <${InsecureBand} insecure=${insecure} />
    <h1 class="brand"><img src="static/icon.svg" alt="" width="18" height="18" />Kraftgate</h1>
    <form class="panel" onSubmit=${submit}>
      <h2>${why === null ? "The token is needed to read" : `No place is free: ${why}`}</h2>
      <p class="soft">${why === null ? "This console listens beyond its own host." : "With the token there is one; so is there when other pages are closed."} The token is in the file that kraftgate run named at its start.</p>
      <label class="field">Token<input name="token" type="password" required autocomplete="off" spellcheck="false" /></label>
      <${Trouble} error=${error} />
      <button class="button primary" disabled=${busy}>Open the console</button>
    </form>
  </main>`;
}

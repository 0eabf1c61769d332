/** The icons; each meaning has its own shape, so that none depends on its colour. */
import { html } from "./html.js";

const PATHS = {
  // verdicts
  satisfied: "M6.2 12.6 1.9 8.3l1.6-1.6 2.7 2.7 6.3-6.3 1.6 1.6z",
  waiting: "M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 2a5 5 0 1 1 0 10A5 5 0 0 1 8 3Zm-1 1.8v3.9l3 1.9 1-1.5-2.2-1.4V4.8Z",
  violated: "M5 1h6l4 4v6l-4 4H5l-4-4V5Zm.6 3.2L4.2 5.6 6.6 8l-2.4 2.4 1.4 1.4L8 9.4l2.4 2.4 1.4-1.4L9.4 8l2.4-2.4-1.4-1.4L8 6.6Z",
  unknown: "M6.700 12.600h2.600V15H6.700ZM8 1c3 0 5 1.500 5 4 0 3.400-3.700 3.400-3.700 6H6.700c0-4 3.700-3.900 3.700-5.900C10.400 4 9.500 3.300 8 3.300S5.500 4.200 5.400 5.700H3C3.100 2.800 5 1 8 1Z",
  // states
  alert: "M8 1 .6 14.4h14.8Zm-.9 5h1.8v4H7.1Zm0 5.2h1.8V13H7.1Z",
  held: "M4.5 7V5a3.5 3.5 0 0 1 7 0v2H13v8H3V7Zm2 0h3V5a1.5 1.5 0 0 0-3 0Z",
  fenced: "M2 3h1.6v3h2.6V3h1.6v3h.4V3h1.6v3h2.6V3H14v11h-1.6v-3H9.8v3H8.2v-3h-.4v3H6.2v-3H3.6v3H2Zm1.6 4.6v1.8h8.8V7.6Z",
  dot: "M8 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8Z",
  ring: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Zm0 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6Z",
  half: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3Zm0 2v6a3 3 0 1 1 0-6Z",
  cross: "m3.6 2.2 4.4 4.4 4.4-4.4 1.4 1.4L9.4 8l4.4 4.4-1.4 1.4L8 9.4l-4.4 4.4-1.4-1.4L6.6 8 2.2 3.6Z",
  dash: "M3 7h10v2H3Z",
  pause: "M3.5 2.5h3v11h-3Zm6 0h3v11h-3Z",
  play: "M4 2.5 13 8l-9 5.5Z",
  stop: "M3 3h10v10H3Z",
  key: "M10.5 1.5a4 4 0 0 0-3.8 5.3L1 12.5V15h3v-2h2v-2h1.5l1-1a4 4 0 1 0 2-8.5Zm1 2a1.4 1.4 0 1 1 0 2.8 1.4 1.4 0 0 1 0-2.8Z",
  gear: "M6.8 1h2.4l.4 1.8 1.2.7 1.8-.6 1.2 2.1-1.4 1.2v1.6l1.4 1.2-1.2 2.1-1.8-.6-1.2.7-.4 1.8H6.8l-.4-1.8-1.2-.7-1.8.6L2.2 9l1.4-1.2V6.2L2.2 5l1.2-2.1 1.8.6 1.2-.7ZM8 5a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z",
  more: "m4 5.5 4 4 4-4 1.2 1.2L8 12 2.8 6.7Z",
  left: "M10.3 2.8 5 8l5.3 5.2 1.2-1.2L7.4 8l4.1-4Z",
  right: "M5.7 2.8 11 8l-5.3 5.2L4.500 12 8.600 8 4.500 4Z",
  plus: "M7 3h2v4h4v2H9v4H7V9H3V7h4Z",
  flag: "M3 1h1.6v1H13l-2 3.5L13 9H4.600v6H3Z",
};

/** @param {{name: keyof typeof PATHS, label?: string}} properties `label`: required without adjacent text */
export function Icon({ name, label }) {
  return html`<svg
    class="icon"
    viewBox="0 0 16 16"
    role=${label ? "img" : undefined}
    aria-label=${label}
    aria-hidden=${label ? undefined : "true"}
  >
    <path d=${PATHS[name]} fill-rule="evenodd" />
  </svg>`;
}

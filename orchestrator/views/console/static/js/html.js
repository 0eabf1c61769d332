/** Preact and htm for all modules of the page; `third_party.py` installs them. */
import { Component, h, options, render } from "../vendor/preact.mjs";
import {
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../vendor/hooks.mjs";
import htm from "../vendor/htm.mjs";
import { localTimes } from "./format.js";

export { Component, render, useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState };

export const html = htm.bind(element);

/** Texts of the server have times in UTC; each is drawn in the chosen zone, with UTC. */
function element(type, properties, ...children) {
  return h(type, properties, ...children.map((each) => (typeof each === "string" ? localTimes(each) : each)));
}

// Each frame draws once for any number of changes. A hidden page gets no frames, but its tab shows the
// title and the icon: the timer draws, also if the page was hidden after the request of the frame.
options.debounceRendering = (draw) => {
  const once = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    draw();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, 1000);
};

/**
 * Draws again only when a property changed (by identity).
 *
 * The model reuses unchanged objects, so a change of one broker draws one row.
 */
export function memo(inner) {
  return class Memo extends Component {
    shouldComponentUpdate(next) {
      return !sameProperties(this.props, next);
    }

    render(properties) {
      return h(inner, properties);
    }
  };
}

function sameProperties(a, b) {
  for (const key in a) if (!(key in b)) return false;
  for (const key in b) if (!Object.is(a[key], b[key])) return false;
  return true;
}

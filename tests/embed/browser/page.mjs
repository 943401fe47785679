// Loads one world in the page and again in a worker, and answers when asked. `main.mjs` drives it from outside.

import { answers } from '../js/component.mjs';

const address = new URL(location.href);
const world = address.searchParams.get('world');
const violations = [];
document.addEventListener('securitypolicyviolation', (event) => violations.push(event.effectiveDirective));

let core;
let vectors;
let worker;

/** Messages to the worker are answered one by one. */
function ask(message) {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => ('fault' in data ? reject(new Error(data.fault)) : resolve(data.ok));
    worker.onerror = (event) => reject(new Error(`worker: ${event.message}`));
    worker.postMessage(message);
  });
}

/** Loads everything that the answers need; the time it took in milliseconds. */
globalThis.load = async () => {
  const start = performance.now();
  core = await import(`../out/${world}/${world}.js`);
  const loaded = performance.now() - start;
  vectors = await (await fetch('../vectors.json')).json();
  worker = new Worker('worker.mjs', { type: 'module' });
  await ask({ world });
  return loaded;
};

/** The texts of the answers, from the page or from the worker, and the time they took. */
globalThis.run = async (where) => {
  const start = performance.now();
  const texts = where === 'page' ? answers(core, vectors) : await ask({ vectors });
  return { texts, ms: performance.now() - start };
};

async function fails(action) {
  try {
    await action();
  } catch {
    return true;
  }
  return false;
}

/** What the policy and the network let through, by name; all of it must be true. */
globalThis.probe = async () => ({
  'an inline script did not run': globalThis.inlineRan === undefined,
  'eval is refused': await fails(() => (0, eval)('1')),
  'a function from text is refused': await fails(() => new Function('return 1')()),
  'another origin is out of reach': await fails(() => fetch(address.searchParams.get('elsewhere'))),
});

/** Whether this page's own origin is out of reach. */
globalThis.offline = () => fails(() => fetch(`../vectors.json?again=${performance.now()}`));

/** The directives that were violated since the page was opened. */
globalThis.violated = () => violations;

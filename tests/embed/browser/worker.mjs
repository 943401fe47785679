// The same in a worker: loads a world, then answers vectors.

import { answers } from '../js/component.mjs';

let core;

async function handle({ world, vectors }) {
  if (world) {
    core = await import(`../out/${world}/${world}.js`);
    return 'loaded';
  }
  return answers(core, vectors);
}

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ ok: await handle(data) });
  } catch (fault) {
    self.postMessage({ fault: String(fault) });
  }
};

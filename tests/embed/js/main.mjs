// The vectors through the transpiled component in Node.
//
// Usage: node main.mjs FOLDER NATIVE, where FOLDER has core/core.js and verifier/verifier.js as jco wrote them, and
// NATIVE the lines of python/native.py.

import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { answers } from './component.mjs';
import { Report, readNative, vectors } from './corpus.mjs';

const [folder, native] = process.argv.slice(2);
const all = vectors();
const report = new Report('node', readNative(native));
for (const world of ['core', 'verifier']) {
  const start = performance.now();
  const core = await import(pathToFileURL(resolve(join(folder, world, `${world}.js`))));
  const loaded = performance.now();
  report.world(`world ${world}`, all, answers(core, all));
  const asked = performance.now();
  console.log(`node: world ${world}: loaded in ${Math.round(loaded - start)} ms, asked in ${Math.round(asked - loaded)} ms`);
}
process.exitCode = report.close();

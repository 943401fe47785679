// The programs of spec/embedding.md, as they stand there: in Python, in Node, and as a page in headless Chromium. Each must
// print what the page says.
//
// Usage: node examples.mjs PYTHON CHROMIUM FOLDER, where FOLDER has core.wasm, and core/core.js as jco wrote it.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Chromium } from './chromium.mjs';
import { STRICT, site } from './serve.mjs';

const [python, program, folder] = process.argv.slice(2);
const page = readFileSync(fileURLToPath(new URL('../../../spec/embedding.md', import.meta.url)), 'utf8');
const here = resolve(folder, 'examples');

/** The fenced blocks of a language, in their order. */
function blocks(language) {
  return page.split(`\`\`\`${language}\n`).slice(1).map((rest) => rest.split('```')[0]);
}

const [expected] = blocks('text');
const [node, script] = blocks('js');
rmSync(here, { recursive: true, force: true });
mkdirSync(here, { recursive: true });
cpSync(join(folder, 'core.wasm'), join(here, 'threadmesh.wasm'));
cpSync(join(folder, 'core'), join(here, 'threadmesh'), { recursive: true });
writeFileSync(join(here, 'example.py'), blocks('python')[0]);
writeFileSync(join(here, 'example.mjs'), node);
writeFileSync(join(here, 'page.mjs'), script);
writeFileSync(join(here, 'page.html'), blocks('html')[0]);

/** What the page shows once its script has run. */
async function shown() {
  const browser = new Chromium(program);
  process.once('exit', () => browser.kill());
  const server = await site({ '/': here }, {}, STRICT);
  try {
    const opened = await browser.open(`${server.address}/page.html`);
    const text = await opened.evaluate("import('/page.mjs').then(() => document.querySelector('pre').textContent)");
    return `${text}\n`;
  } finally {
    await browser.close();
    await server.close();
  }
}

const run = (command, file) => execFileSync(command, [file], { cwd: here, encoding: 'utf8' });
const told = {
  Python: () => run(resolve(python), 'example.py'),
  Node: () => run(process.execPath, 'example.mjs'),
  'a page': shown,
};
let failed = 0;
for (const [name, ask] of Object.entries(told)) {
  const text = await Promise.resolve().then(ask).catch((fault) => String(fault.stack));
  if (text === expected) continue;
  failed += 1;
  console.log(`examples: ${name} says\n${text}and not\n${expected}`);
}
console.log(`examples: ${Object.keys(told).length - failed} of ${Object.keys(told).length} print what spec/embedding.md says`);
process.exitCode = failed === 0 ? 0 : 1;

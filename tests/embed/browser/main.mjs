// The vectors through the transpiled component in headless Chromium, in a page and in a worker, under a strict
// content-security policy and with the network off.
//
// Usage: node main.mjs CHROMIUM FOLDER NATIVE, where FOLDER has core/core.js and verifier/verifier.js as jco wrote them,
// and NATIVE the lines of python/native.py.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Chromium } from './chromium.mjs';
import { Report, readNative, vectors } from '../js/corpus.mjs';
import { STRICT, WITHOUT_WASM, elsewhere, site } from './serve.mjs';

const [program, folder, native] = process.argv.slice(2);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const folders = { '/browser/': here('.'), '/js/': here('../js'), '/out/': resolve(folder) };
const all = vectors();
const texts = { '/vectors.json': JSON.stringify(all) };
const report = new Report('chromium', readNative(native));
const open = [];

/** Keeps a server so that it is closed in the end, whatever happens. */
async function served(server) {
  open.push(await server);
  return open.at(-1);
}

/** Opens a world, turns the network off, and only then asks. */
async function runWorld(browser, world) {
  const strict = await served(site(folders, texts, STRICT));
  const other = await served(elsewhere());
  const target = `${strict.address}/browser/page.html?world=${world}&elsewhere=${encodeURIComponent(other.address)}`;
  const page = await browser.open(target);
  console.log(`chromium: world ${world}: loaded in ${Math.round(await page.evaluate('load()'))} ms`);
  const loading = await page.evaluate('violated()');
  report.check('content-security', world, loading.length > 0 && `loading violated ${loading}`);
  for (const [name, holds] of Object.entries(await page.evaluate('probe()'))) {
    report.check('content-security', `${world}: ${name}`, !holds && 'does not hold');
  }
  report.check('content-security', `${world}: another origin`, other.seen.requests > 0 && 'was asked');
  await Promise.all([strict.close(), other.close(), page.goOffline()]);
  report.check('content-security', `${world}: the network is off`, !(await page.evaluate('offline()')) && 'it is not');
  for (const where of ['page', 'worker']) {
    const { texts: told, ms } = await page.evaluate(`run('${where}')`);
    report.world(`world ${world} in a ${where}`, all, told);
    console.log(`chromium: world ${world} in a ${where}: asked in ${Math.round(ms)} ms`);
  }
}

/** Without 'wasm-unsafe-eval' nothing loads: the policy is really in force. */
async function runControl(browser) {
  const barred = await served(site(folders, texts, WITHOUT_WASM));
  const page = await browser.open(`${barred.address}/browser/page.html?world=verifier`);
  const fault = await page.evaluate('load().then(() => "it loaded", (fault) => fault.name)');
  report.check('content-security', 'without wasm-unsafe-eval', fault !== 'CompileError' && fault);
}

const browser = new Chromium(program);
process.once('exit', () => browser.kill());
try {
  const { product } = await browser.send('Browser.getVersion');
  console.log(`chromium: ${product}`);
  for (const world of ['core', 'verifier']) await runWorld(browser, world);
  await runControl(browser);
} catch (fault) {
  report.check('browser', 'the run', fault.stack);
} finally {
  await browser.close();
  await Promise.all(open.map((server) => server.close()));
}
process.exitCode = report.close();

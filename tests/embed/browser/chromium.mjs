// A headless Chromium, driven over a pipe: no port, no driver program, no downloaded browser.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PATIENCE_MS = 120_000;
const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage', '--disable-breakpad', '--no-proxy-server',
  // No name is ever looked up: whatever is not an address on this machine does not exist.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--remote-debugging-pipe',
];

/** A browser of our own with a fresh profile. `close` ends it and removes the profile. */
export class Chromium {
  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), 'threadmesh-chromium-'));
    const env = { ...process.env, XDG_CONFIG_HOME: this.profile, XDG_CACHE_HOME: this.profile };
    this.process = spawn(program, [...FLAGS, `--user-data-dir=${this.profile}`, 'about:blank'], {
      env, detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    });
    this.said = '';
    this.waiting = new Map();
    this.events = [];
    this.sent = 0;
    this.process.stderr.on('data', (part) => { this.said = (this.said + part).slice(-4000); });
    this.ended = new Promise((resolve) => this.process.once('close', resolve));
    this.process.once('error', (error) => this.fail(error));
    this.ended.then((status) => this.fail(new Error(`Chromium ended (${status}): ${this.said}`)));
    this.process.stdio[3].on('error', () => {});
    this.listen(this.process.stdio[4]);
  }

  /** Messages are JSON texts, each ended by a NUL. */
  listen(pipe) {
    let parts = [];
    pipe.on('data', (data) => {
      for (let end = data.indexOf(0); end >= 0; end = data.indexOf(0)) {
        parts.push(data.subarray(0, end));
        this.take(JSON.parse(Buffer.concat(parts).toString()));
        [parts, data] = [[], data.subarray(end + 1)];
      }
      parts.push(data);
    });
  }

  take(message) {
    const key = message.id ?? `${message.sessionId}: ${message.method}`;
    const waiter = this.waiting.get(key);
    this.waiting.delete(key);
    if (waiter === undefined) return;
    if (message.error) waiter.reject(new Error(`${waiter.what}: ${message.error.message}`));
    else waiter.resolve(message.result ?? message.params);
  }

  fail(error) {
    for (const waiter of this.waiting.values()) waiter.reject(error);
    this.waiting.clear();
  }

  /** What comes under a key: the number of a command, or the name of an event of a session. */
  wait(key, what) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${what}: no answer in time`)), PATIENCE_MS);
      const settle = (done) => (value) => {
        clearTimeout(timer);
        done(value);
      };
      this.waiting.set(key, { what, resolve: settle(resolve), reject: settle(reject) });
    });
  }

  /** One command of the debugging protocol. */
  send(method, params = {}, sessionId = undefined) {
    this.sent += 1;
    const answer = this.wait(this.sent, method);
    this.process.stdio[3].write(`${JSON.stringify({ id: this.sent, method, params, sessionId })}\0`);
    return answer;
  }

  /** A new page at an address, loaded. */
  async open(address) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    await this.send('Page.enable', {}, sessionId);
    const loaded = this.wait(`${sessionId}: Page.loadEventFired`, address);
    await this.send('Page.navigate', { url: address }, sessionId);
    await loaded;
    return new Page(this, sessionId);
  }

  async close() {
    if (this.process.exitCode === null) {
      const timer = setTimeout(() => this.kill(), 20_000);
      await this.send('Browser.close').catch(() => this.kill());
      await this.ended;
      clearTimeout(timer);
    }
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /** Ends the process group that was started here, and nothing else. */
  kill() {
    if (this.process.exitCode === null && this.process.pid) process.kill(-this.process.pid, 'SIGKILL');
  }
}

class Page {
  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
  }

  /** The value of an expression in the page, after it has settled. The page's policy binds it too. */
  async evaluate(expression) {
    const params = { expression, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: false };
    const { result, exceptionDetails } = await this.browser.send('Runtime.evaluate', params, this.session);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async goOffline() {
    const conditions = { offline: true, latency: 0, downloadThroughput: -1, uploadThroughput: -1 };
    await this.browser.send('Network.enable', {}, this.session);
    await this.browser.send('Network.emulateNetworkConditions', conditions, this.session);
  }
}

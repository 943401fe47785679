// Serves the page, the harness and the transpiled worlds from the loopback address, on a free port.

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';

export const STRICT = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";
export const WITHOUT_WASM = "default-src 'none'; script-src 'self'; connect-src 'self'";

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

function listen(server) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`));
  });
}

function close(server) {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
}

/** A site of these folders (`{'/name/': path}`) and texts (`{'/name': text}`), every answer with the policy. */
export async function site(folders, texts, policy) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, 'http://127.0.0.1').pathname);
    const type = TYPES[extname(path)];
    const body = type && (texts[path] ?? (await file(folders, path)));
    const headers = { 'content-security-policy': policy, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
    response.writeHead(body === undefined ? 404 : 200, { ...headers, 'content-type': type ?? 'text/plain' });
    response.end(body);
  });
  return { address: await listen(server), close: () => close(server) };
}

async function file(folders, path) {
  const prefix = Object.keys(folders).find((name) => path.startsWith(name));
  if (prefix === undefined) return undefined;
  return readFile(join(folders[prefix], path.slice(prefix.length))).catch(() => undefined);
}

/** Another origin, which anyone may read from and nobody should: it counts who does. */
export async function elsewhere() {
  const seen = { requests: 0 };
  const server = createServer((_, response) => {
    seen.requests += 1;
    response.writeHead(200, { 'access-control-allow-origin': '*', 'content-type': 'text/plain' });
    response.end('here');
  });
  return { address: await listen(server), seen, close: () => close(server) };
}

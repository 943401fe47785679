// The vectors, the native answers, and how a host's answers are judged and counted. For Node only.

import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { unexpected } from './scenario.mjs';
import { canonical } from './text.mjs';

const EMBED = fileURLToPath(new URL('..', import.meta.url));
const CONFORMANCE = join(EMBED, '..', '..', 'spec', 'conformance');
const SHOWN_MAX = 20;
const LETTERS_MAX = 2000;

function files(folder, group) {
  const names = readdirSync(join(folder, group)).filter((name) => name.endsWith('.json'));
  return names.sort().map((name) => [`${group}/${name}`, join(folder, group, name)]);
}

/** Every conformance vector and every case of this folder, in a fixed order, each with its `file`. */
export function vectors() {
  const folders = readdirSync(CONFORMANCE, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const groups = folders.map(({ name }) => name).sort();
  const all = [...groups.flatMap((group) => files(CONFORMANCE, group)), ...files(EMBED, 'cases')];
  return all.flatMap(([file, path]) =>
    JSON.parse(readFileSync(path, 'utf8')).vectors.map((vector) => ({ ...vector, file })),
  );
}

/** The native answers by file and name: their text is cut out, not written again. */
export function readNative(path) {
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return new Map(lines.map((line) => {
    const { file, name } = JSON.parse(line);
    return [`${file}: ${name}`, line.slice('{"answer":'.length, line.lastIndexOf(',"file":'))];
  }));
}

/** The refusal in an answer, if any: of a step or of a frame also one that comes back as a value. */
function refusal(vector, { error, ok }) {
  if (vector.function === 'decide' && ok) return ok.decision?.problem;
  if (vector.function !== 'split' || !ok) return error;
  const response = ok.batch ? undefined : ok.calls[0].response;
  return response && JSON.parse(response).error.data;
}

/** What is wrong with the answer to a vector, or null. */
function fault(vector, text) {
  const answer = JSON.parse(text);
  if (vector.error) {
    const error = refusal(vector, answer);
    const fits = ['code', 'pointer'].every((name) => !(name in vector.error) || error?.[name] === vector.error[name]);
    return fits && error ? null : `expected ${canonical(vector.error)}`;
  }
  if (!('ok' in answer)) return 'expected to be accepted';
  if (vector.function === 'scenario') return unexpected(vector.args, answer.ok);
  if ((vector.ok ?? true) !== true && canonical(vector.ok) !== canonical(answer.ok)) return `expected ${canonical(vector.ok)}`;
  const missing = (vector.contains ?? []).filter((part) => !text.includes(part));
  return missing.length > 0 ? `expected to contain ${missing}` : null;
}

/** Counts what was checked, by group, and says so. */
export class Report {
  passed = new Map();
  failed = new Map();
  left = new Map();

  constructor(host, native) {
    this.host = host;
    this.native = native;
  }

  /** One check: `problem` says what is wrong, or is empty. */
  check(group, name, problem) {
    const counts = problem ? this.failed : this.passed;
    counts.set(group, (counts.get(group) ?? 0) + 1);
    if (problem && sum(this.failed) <= SHOWN_MAX) console.log(`${this.host}: ${name}: ${problem}`.slice(0, LETTERS_MAX));
  }

  /** A world's answers to all vectors: as each expects, and with the same text as the native ones. */
  world(label, vectors, texts) {
    vectors.forEach((vector, index) => {
      const [group, text] = [vector.file.split('/')[0], texts[index]];
      if (text === null) return this.leave(group, `not in ${label}`);
      const known = this.native.get(`${vector.file}: ${vector.name}`);
      const differs = vector.native !== false && text !== known;
      const problem = fault(vector, text) ?? (differs ? `natively ${known}` : null);
      return this.check(group, `${label}: ${vector.file}: ${vector.name}`, problem && `${problem}, answered ${text}`);
    });
  }

  /** A vector that this host is not asked. */
  leave(group, why) {
    const key = `${group}: ${why}`;
    this.left.set(key, (this.left.get(key) ?? 0) + 1);
  }

  /** Prints the numbers; the last line is the sum. Returns the exit status. */
  close() {
    for (const group of [...new Set([...this.passed.keys(), ...this.failed.keys()])].sort()) {
      console.log(`${this.host}: ${group}: ${this.passed.get(group) ?? 0} right, ${this.failed.get(group) ?? 0} wrong`);
    }
    for (const [key, count] of [...this.left].sort()) console.log(`${this.host}: ${count} not asked: ${key}`);
    console.log(`${sum(this.passed)} passed, ${sum(this.failed)} failed`);
    return sum(this.failed) > 0 ? 1 : 0;
  }
}

function sum(counts) {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

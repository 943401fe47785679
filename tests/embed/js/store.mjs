// The smallest host that can be: a store in memory and the loop around `decide`. See python/store.py, which does the same.

import { canonical } from './text.mjs';

const STEPS_MAX = 100;
const bytes = new TextEncoder();

/** Compares strings as the store does: by their UTF-8 bytes, which is by code points and not by UTF-16 units. */
function compare(left, right) {
  const [a, b] = [bytes.encode(left), bytes.encode(right)];
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    if (a[index] !== b[index]) return a[index] - b[index];
  }
  return a.length - b.length;
}

function inside({ start, end }, key) {
  if (end === null || end === undefined) return key === start;
  return compare(start, key) <= 0 && compare(key, end) < 0;
}

/** The first ones, up to the limit; no more bytes of bodies than the bound, but always one. */
function cut(query, found) {
  const page = found.slice(0, query.limit);
  let size = 0;
  const over = page.findIndex(({ row }, count) => {
    size += bytes.encode(row.body).length;
    return query.bytes > 0 && count > 0 && size > query.bytes;
  });
  return over < 0 ? page : page.slice(0, over);
}

/** What a host answers that has no engine for policies. */
function unavailable(asked) {
  return { ...asked, end: 'unavailable', verdict: undefined, facts: [] };
}

export class Store {
  collections = new Map();
  stamp = 0;

  rows(collection) {
    if (!this.collections.has(collection)) this.collections.set(collection, new Map());
    return this.collections.get(collection);
  }

  /** The rows for a query, which is echoed. */
  answer(query) {
    const found = [];
    for (const row of this.rows(query.collection).values()) {
      const named = row.entries.filter(({ index }) => index === query.index).map(({ key }) => key);
      const keys = query.index === '' ? [row.id] : named;
      for (const key of keys.filter((key) => inside(query, key))) found.push({ key, row });
    }
    found.sort((left, right) => compare(left.key, right.key) || left.row.stamp - right.row.stamp);
    if (query.reverse) found.reverse();
    const page = cut(query, found);
    const rows = page.map(({ key, row: { id, revision, body } }) => ({ id, key, revision, body }));
    return { query, rows, more: found.length > page.length };
  }

  /** Applies the writes and keeps the audit records. `revision` is put in place of the next one, where it is given. */
  commit(decision, revision) {
    for (const write of decision.writes) {
      const rows = this.rows(write.collection);
      const known = rows.get(write.id) ?? { revision: 0 };
      if (known.revision !== write.expected) throw new Error(`revision of ${write.collection} ${write.id}`);
      if (write.body === null || write.body === undefined) rows.delete(write.id);
      else this.put(rows, write.id, revision ?? write.expected + 1, write, known);
    }
    const audit = this.rows('audit');
    for (const record of decision.audit) this.put(audit, String(audit.size + 1).padStart(16, '0'), 1, record, {});
  }

  put(rows, id, revision, { body, entries }, known) {
    this.stamp += 1;
    rows.set(id, { id, revision, body, entries, stamp: known.stamp ?? this.stamp });
  }
}

/** The core gave no step: it refused the host, or trapped. */
export class Unanswered extends Error {
  constructor(answer) {
    super(JSON.stringify(answer));
    this.answer = answer;
  }
}

/**
 * Runs one operation to its end, by `call('decide', …)`: what was told in every step. Pages are committed in turn.
 * Before each step but the first the instance is asked to go on by what is new, and must say the same.
 */
export function operate(call, store, args, revision) {
  const steps = [];
  let [answers, evaluated, request, fresh] = [[], args.evaluated ?? [], args.request, null];
  while (steps.length < STEPS_MAX) {
    const resumed = fresh === null ? null : canonical(call('resume', { entropy: args.entropy, ...fresh }));
    const answer = call('decide', { ...args, request, answers, evaluated });
    if (resumed !== null && resumed !== canonical(answer)) {
      throw new Error(`goes on to ${resumed} and decides ${canonical(answer)}`);
    }
    if (!('ok' in answer)) throw new Unanswered(answer);
    const step = answer.ok;
    steps.push(step);
    if (step.kind === 'needs') {
      const [found, ended] = [step.queries.map((query) => store.answer(query)), step.evaluations.map(unavailable)];
      fresh = { found: found.map(({ rows, more }) => ({ rows, more })), evaluated: ended };
      [answers, evaluated] = [[...answers, ...found], [...evaluated, ...ended]];
      continue;
    }
    if (step.kind === 'wait') break;
    store.commit(step.decision, revision);
    const cursor = step.decision.proceed;
    if (cursor === null || cursor === undefined) break;
    // A continuation belongs to no trace.
    [answers, evaluated, request, fresh] = [[], [], { ...request, cursor, context: [] }, null];
  }
  return { rounds: steps.length, steps };
}

/** Performs the calls of a story: an answer whose `ok` has all steps of every call. */
export function story(call, { common, calls }) {
  const store = new Store();
  const perform = (part) => {
    const request = { ...common.request, ...part.request };
    return operate(call, store, { ...common, request }, part.stored_revision);
  };
  try {
    return { ok: calls.map(perform) };
  } catch (fault) {
    if (fault instanceof Unanswered) return fault.answer;
    throw fault;
  }
}

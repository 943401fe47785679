// Performs the scenarios of the conformance vectors, described in spec/conformance/README.md, against a store in memory.
// See python/scenario.py, which does the same.

import { canonical } from './text.mjs';
import { Store, Unanswered, operate } from './store.mjs';

/** Nothing was kept under the name that a step wants. */
class Missing extends Error {}

/** Performs the steps: an answer whose `ok` has, for each, what every `decide` told, or why there was no call. */
export function scenario(call, args) {
  const start = call('parse-time', { text: args.start });
  if (!('ok' in start)) return start;
  const [store, kept] = [new Store(), new Map()];
  let offset = 0;
  const perform = (step, index) => {
    offset = step.at ?? offset;
    const entropy = (index + 1).toString(16).padStart(64, '0');
    const given = { request: requestOf(args, step, kept), now: start.ok + offset, entropy, evaluated: step.evaluated };
    const entry = operate(call, store, given);
    keep(step, entry, kept);
    return entry;
  };
  const skipping = (step, index) => {
    try {
      return perform(step, index);
    } catch (fault) {
      if (fault instanceof Missing) return { skipped: fault.message };
      throw fault;
    }
  };
  try {
    return { ok: args.steps.map(skipping) };
  } catch (fault) {
    if (fault instanceof Unanswered) return fault.answer;
    throw fault;
  }
}

function requestOf(args, step, kept) {
  const params = step.text ?? canonical(substitute(step.params, kept), true);
  const request = { operation: step.method, params, instance: step.instance ?? 'host-1', context: step.context ?? [] };
  if (step.as === undefined || step.as === null) return request;
  const principal = { tenant: 'default', authentication: `authn_${step.as}-session`, ...args.principals[step.as] };
  return { ...request, principal };
}

/** The value with every `{"$var": name}` replaced by what was kept under the name. */
function substitute(value, kept) {
  if (Array.isArray(value)) return value.map((item) => substitute(item, kept));
  if (value === null || typeof value !== 'object') return value;
  if (typeof value.$var === 'string') {
    if (!kept.has(value.$var)) throw new Missing(value.$var);
    return kept.get(value.$var);
  }
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, substitute(part, kept)]));
}

/** The first decision of a call: what its caller was answered with. */
function decision(entry) {
  return entry.steps?.find(({ kind }) => kind === 'ready')?.decision;
}

function keep(step, entry, kept) {
  const answered = decision(entry);
  for (const [name, pointer] of Object.entries(step.keep ?? {})) {
    const found = answered && look(JSON.parse(answered.response), pointer);
    if (found !== undefined && found !== null) kept.set(name, found);
  }
}

/** What a JSON Pointer leads to, or undefined. */
function look(value, pointer) {
  const parts = pointer.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts.reduce((found, part) => found?.[part], value);
}

/** The first step whose caller was answered with another status, code or pointer than expected, or null. */
export function unexpected(args, told) {
  const faulty = args.steps.findIndex((step, index) => !expected(step, decision(told[index])));
  return faulty < 0 ? null : `step ${faulty + 1}: ${decision(told[faulty])?.response}`;
}

function expected(step, answered) {
  if (answered === undefined) return false;
  const refused = answered.status === 'refused';
  if (refused !== 'error' in step) return false;
  const data = refused ? JSON.parse(answered.response).data : {};
  return ['code', 'pointer'].every((name) => !refused || !(name in step.error) || data[name] === step.error[name]);
}

// Answers conformance calls through the transpiled component: the same module in Node and in a browser.

import { Refused, canonical, numberOf, textOf, wellFormed } from './text.mjs';
import { scenario } from './scenario.mjs';
import { story } from './store.mjs';

const U32_MAX = 2 ** 32 - 1;
const TEXT = '(text)';
const NOW = '(now)';

// function of the vectors: [interface, function of the interface, arguments]
const FUNCTIONS = {
  canonicalize: ['canonicalJson', 'canonicalize', [TEXT]],
  digest: ['canonicalJson', 'digest', [TEXT]],
  'parse-time': ['canonicalJson', 'parseTime', [TEXT]],
  check: ['documents', 'check', ['kind', TEXT]],
  describe: ['about', 'describe', []],
  kinds: ['documents', 'kinds', []],
  verify: ['attestation', 'verify', ['document', 'anchors', 'expected', NOW]],
  'check-anchors': ['attestation', 'checkAnchors', ['anchors']],
  'verify-disposition': ['attestation', 'verifyDisposition', ['document', 'anchors', NOW]],
  step: ['lifecycle', 'step', ['machine', 'state', 'event']],
  'check-reason': ['lifecycle', 'checkReason', ['state', 'reason']],
  'check-combination': ['lifecycle', 'checkCombination', ['states']],
  decide: ['coordinator', 'decide', ['request', 'answers', 'evaluated', NOW, 'entropy']],
  resume: ['coordinator', 'resume', ['entropy', 'found', 'evaluated']],
  'check-principal': ['coordinator', 'checkPrincipal', ['principal']],
  operations: ['coordinator', 'operations', []],
  split: ['coordinator', 'split', [TEXT]],
};

// What is made of several calls of `decide`.
const PERFORMED = { scenario, story };

/** Whether a world has what a function of the vectors needs. */
export function has(core, name) {
  const [face, method] = FUNCTIONS[name in PERFORMED ? 'decide' : name] ?? [];
  return face !== undefined && typeof core[face]?.[method] === 'function';
}

/** Answers a call with `{ok}`, `{error}` or `{trap}`. */
export function call(core, name, args) {
  const [face, method, parameters] = FUNCTIONS[name];
  try {
    const given = parameters.map((parameter) => guard(argument(parameter, args)));
    const found = core[face][method](...given);
    if (name === 'check-principal') return found ? { error: found } : { ok: true };
    return { ok: found ?? null };
  } catch (fault) {
    if (fault instanceof Refused) return fault.answer;
    // The glue throws an error whose payload is the error record; anything else is a trap or a fault of the glue.
    const error = fault.payload;
    if (typeof error?.code !== 'string') return { trap: String(fault) };
    const { group, code, retryable, pointer, detail } = error;
    return { error: { group, code, retryable, pointer, detail } };
  }
}

function argument(parameter, args) {
  if (parameter === TEXT) return textOf(args);
  return parameter === NOW ? numberOf(args.now) : complete(parameter, args[parameter]);
}

/** An argument with what a vector may leave out: the glue takes no list for one that is not there. */
function complete(name, value) {
  if (name === 'evaluated') return (value ?? []).map((one) => ({ facts: [], ...one }));
  if (name === 'request') return { context: [], ...value };
  if (name !== 'answers') return value;
  return value.map((answer) => ({ more: false, ...answer, query: { bytes: 0, reverse: false, ...answer.query } }));
}

/** Refuses what the glue would change without a word: ill-formed strings, and revisions and limits that do not fit. */
function guard(value) {
  if (typeof value === 'string') return wellFormed(value);
  if (value === null || typeof value !== 'object') return value;
  for (const [name, part] of Object.entries(value)) {
    guard(part);
    const counted = name === 'revision' || name === 'limit' || name === 'bytes';
    if (counted && !(Number.isInteger(part) && part >= 0 && part <= U32_MAX)) {
      throw new Refused('host-misuse', `${part} is no 32-bit number`);
    }
  }
  return value;
}

/** The canonical texts of a world's answers to a list of vectors; null for a function that it does not have. */
export function answers(core, vectors) {
  const step = (name, args) => call(core, name, args);
  return vectors.map(({ function: name, args }) => {
    if (!has(core, name)) return null;
    return canonical(name in PERFORMED ? PERFORMED[name](step, args) : step(name, args));
  });
}

// How texts are given and answers written down: the same in Node and in a browser. See python/corpus.py for the rules
// of the canonical text.

/** What a host refuses before it calls the core, with the core's own code. */
export class Refused extends Error {
  constructor(code, detail = '') {
    super(detail || code);
    const group = code === 'host-misuse' ? 'host' : 'input';
    this.answer = { error: { group, code, retryable: false, pointer: '', detail } };
  }
}

/** The canonical text of an answer or of a part of one; with `nulls`, members that are null are kept. */
export function canonical(value, nulls = false) {
  if (Array.isArray(value)) return `[${value.map((part) => canonical(part, nulls)).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const names = Object.keys(value).filter((name) => nulls || (value[name] !== null && value[name] !== undefined)).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name], nulls)}`).join(',')}}`;
}

/** A string that the component may be given: JavaScript would put U+FFFD for a lone surrogate without a word. */
export function wellFormed(text) {
  if (!text.isWellFormed()) throw new Refused('json-encoding');
  return text;
}

/** The text that a vector gives as a string, as bytes or as a repetition. */
export function textOf(args) {
  if ('bytes_base64url' in args) return decode(args.bytes_base64url);
  if ('text_repeat' in args) {
    const { head = '', unit, times, tail = '' } = args.text_repeat;
    return head + unit.repeat(times) + tail;
  }
  return args.text;
}

function decode(base64url) {
  const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refused('json-encoding');
  }
}

/** A number, or one that JSON cannot write: `{"$number": "NaN"}`. */
export function numberOf(value) {
  return typeof value === 'object' ? Number(value.$number) : value;
}

// Forms and queries: text to members of the request document and back (SPEC.md 2.1).

import { bare, isObject, own } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";

/** A request as a document. */
export interface Request {
  /** In capitals. */
  method: string;
  /** Without the query. */
  path: string;
  query: JsonObject;
  headers: JsonObject;
  body: Json;
  /** Whether the body is sent as a form, where every scalar is text. */
  form?: boolean;
}

export const segments = (name: string): string[] => {
  const head = name.indexOf("[");
  return head < 0 ? [name] : [name.slice(0, head), ...[...name.slice(head).matchAll(/\[([^[\]]*)\]/g)].map((found) => found[1]!)];
};

/** Query parameters under the names they were sent by; one that was sent several times is a list. */
export function byName(pairs: Iterable<[string, string]>): JsonObject {
  const out = bare();
  for (const [name, value] of pairs) {
    const held = out[name];
    out[name] = held === undefined ? value : Array.isArray(held) ? [...held, value] : [held, value];
  }
  return out;
}

/** Decode `a[b]=1`, `a[]=1` and `a[0][b]=1`: members numbered from 0 without a gap become arrays. */
export function nested(pairs: Iterable<[string, string]>): JsonObject {
  const out = bare();
  for (const [name, value] of pairs) {
    const parts = segments(name).slice(0, 20);
    let here = out;
    for (const part of parts.slice(0, -1)) {
      const slot = slotIn(here, part);
      const inner = here[slot];
      here = isObject(inner) ? inner : ((here[slot] = bare()) as JsonObject);
    }
    here[slotIn(here, parts.at(-1)!)] = value;
  }
  for (const name of Object.keys(out)) out[name] = arrays(out[name]!);
  return out;
}

const slotIn = (here: JsonObject, part: string): string => (part === "" ? String(Object.keys(here).length) : part);

function arrays(value: Json): Json {
  if (!isObject(value)) return value;
  const names = Object.keys(value);
  if (names.length > 0 && names.every((_, index) => own(value, String(index)))) return names.map((_, index) => arrays(value[String(index)]!));
  for (const name of names) value[name] = arrays(value[name]!);
  return value;
}

const scalar = (value: Json): string => (value === null ? "" : String(value));

/** Flatten a document into form fields: `{"a": {"b": [1]}}` gives `["a[b][0]", "1"]`. */
export function* formPairs(value: Json, name = ""): Generator<[string, string]> {
  if (Array.isArray(value)) for (const [index, inner] of value.entries()) yield* formPairs(inner, name ? `${name}[${index}]` : String(index));
  else if (isObject(value)) for (const key of Object.keys(value)) yield* formPairs(value[key]!, name ? `${name}[${key}]` : key);
  else yield [name, scalar(value)];
}

/** The query's pairs as they are sent: a list is a repeated name. */
export function* queryPairs(query: JsonObject): Generator<[string, string]> {
  for (const name of Object.keys(query)) {
    const value = query[name]!;
    if (Array.isArray(value) && !value.some((inner) => Array.isArray(inner) || isObject(inner))) {
      for (const inner of value) yield [name, scalar(inner)];
    } else yield* formPairs(value, name);
  }
}

/** A text with its percent escapes undone once. Bytes that are no UTF-8 stay escapes, in capitals. */
export const unescaped = (text: string): string => text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => {
  const bytes = Uint8Array.from(run.slice(1).split("%"), (hex) => parseInt(hex, 16));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return [...bytes].map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase()}`)).join("");
  }
});

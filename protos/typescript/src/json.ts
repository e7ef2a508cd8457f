// JSON that keeps what JavaScript would lose: large integers are bigints, objects have no prototype. And JSON as a line for a reader.

export type Json = null | boolean | number | bigint | string | Json[] | JsonObject;
export interface JsonObject {
  [name: string]: Json;
}

/** The rawJSON and the source text of numbers, which the types of TypeScript do not have yet. */
type WithSource = {
  parse(text: string, reviver: (name: string, value: Json, context: { source?: string }) => Json): Json;
  rawJSON(text: string): Json;
  stringify(value: Json | undefined, replacer: (name: string, value: Json) => Json): string;
};
const native = JSON as unknown as WithSource;

export const own = (value: unknown, name: string): boolean =>
  value !== null && typeof value === "object" && Object.hasOwn(value, name);

export const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === "object" && !Array.isArray(value);

export const bare = (members: object = {}): JsonObject => Object.assign(Object.create(null), members);

/** Parse a text: integers beyond 2^53 become bigints. Throws SyntaxError. */
export function parseJson(text: string): Json {
  return native.parse(text, (_, value, { source }) => {
    if (typeof value === "number" && source !== undefined && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)) return BigInt(source);
    return isObject(value) ? bare(value) : value;
  });
}

export const writeJson = (value: Json): string =>
  native.stringify(value, (_, inner) => (typeof inner === "bigint" ? native.rawJSON(String(inner)) : inner));

export function clone(value: Json): Json {
  if (Array.isArray(value)) return value.map(clone);
  if (!isObject(value)) return value;
  const copy = bare();
  for (const name of Object.keys(value)) copy[name] = clone(value[name]!);
  return copy;
}

/** The value behind some names; undefined where one is missing. */
export function at(value: unknown, ...names: string[]): Json | undefined {
  return names.reduce<unknown>((inner, name) => (own(inner, name) ? (inner as JsonObject)[name] : undefined), value) as Json | undefined;
}

/** Characters of a value that is shown whole. */
export const LONGEST = 1000;
// Controls, formats (zero-width, bidirectional, tags), what is not assigned or private, selectors, fillers: nobody sees them, a model does.
const INVISIBLE = /(?!\n|\p{Extended_Pictographic})[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Variation_Selector}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/gu;
// Emoji and scripts keep the one that shapes what stands beside it.
const SHAPING = /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})|(?<=(?![\u0000-\u00a8])\p{Extended_Pictographic})\ufe0f|\ufe0f(?=\u20e3)|(?<=[\u0600-\u1fff])[\u200c\u200d](?=[\u0600-\u1fff])/gu;

function unseen(text: string, replaced: (one: string) => string): string {
  const kept = new Set([...text.matchAll(SHAPING)].map(({ index }) => index));
  return text.replaceAll(INVISIBLE, (one, at: number) => (kept.has(at) ? one : replaced(one)));
}

/** A text without what nobody sees. */
export const seen = (text: string): string => unseen(text, () => "");

/** JSON in which what nobody sees is escaped, so that it stays the same value. */
const escaped = (text: string): string =>
  unseen(text, (one) => one.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`));

export const plain = (text: string): string => text.split(/\s+/).filter(Boolean).join(" ");

/** A name, a place or a path: as JSON where it has what could be taken for more text, or what nobody sees. */
export const named = (text: string): string =>
  (/^[\p{L}\p{M}\p{N}_.~/@$*+=,:()[\]%&!'-]+$/u.test(text) && seen(text) === text ? text : escaped(writeJson(text)));

const whole = (value: Json | undefined): string => (value === undefined ? "" : escaped(writeJson(value)));

/** How many characters a value takes where it is shown. */
export const literalLength = (value: Json): number => whole(value).length;

/** JSON on one line; what is cut says so. */
export function literal(value: Json | undefined): string {
  const text = whole(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}... (cut, ${text.length} characters)`;
}

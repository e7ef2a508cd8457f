// JSON that keeps what JavaScript would lose: large integers are bigints, objects have no prototype.

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

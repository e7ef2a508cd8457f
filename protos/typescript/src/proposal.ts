// What would be sent, as text: what a person agrees to.

import type { Next } from "./apply.ts";
import type { Request } from "./edit.ts";
import { LONGEST, literal, literalLength, named } from "./explain.ts";
import { isObject, writeJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";

/** How many places that change, or that requests which come first set, a person can be shown. */
const MOST = 40;

/** The steps, the method and the path, and each value that changes; or why a person cannot be shown all of it. */
export function proposed({ request, steps, waitSeconds }: Next, before: Request): { text: string } | { problem: string } {
  const lines = [Number(waitSeconds) > 0 ? `To be sent after ${waitSeconds} s:` : "To be sent:"];
  const values = steps.flatMap(({ query, headers, body }): Json[] => [query, headers, body]);
  for (const step of steps) lines.push(`  first ${line(step)}`);
  const [call, called] = [request, before].map(({ method, path }) => `${named(method)} ${named(path)}`) as [string, string];
  lines.push(call === called ? `  ${call}` : `  ${call}, instead of ${called}`);
  const [old, now] = [before, request].map((one) => new Map(leaves(content(one), ""))) as [Map<string, Json>, Map<string, Json>];
  const changes: string[] = [];
  const change = (place: string, was: Json | undefined, is: Json | undefined): void => {
    values.push(was ?? null, is ?? null);
    changes.push(`    ${named(place)}: ${was === undefined ? "" : `${literal(was)} `}-> ${is === undefined ? "(removed)" : literal(is)}`);
  };
  for (const [place, value] of now) if (!old.has(place) || writeJson(old.get(place)!) !== writeJson(value)) change(place, old.get(place), value);
  const filled = [...now.keys()];
  for (const [place, value] of old) {
    const isFilled = typeof value === "object" && value !== null && filled.some((other) => other.startsWith(`${place}/`));
    if (!now.has(place) && !isFilled) change(place, value, undefined);
  }
  const places = changes.length + steps.reduce((sum, step) => sum + [...leaves(content(step), "")].length, 0);
  if (places > MOST) return { problem: `the correction changes ${places} places, more than the ${MOST} that a person can be shown` };
  const cut = values.map(literalLength).find((length) => length > LONGEST);
  if (cut !== undefined) return { problem: `the correction has a value of ${cut} characters, more than the ${LONGEST} that a person can be shown` };
  return { text: [...lines, ...changes].join("\n") };
}

const content = ({ query, headers, body }: Request): JsonObject => ({ query, headers, body });

/** A request as one line. */
export function line({ method, path, query, headers, body }: Pick<Request, "method" | "path" | "query" | "headers" | "body">): string {
  const asked = Object.keys(query).length > 0 ? ` query ${literal(query)}` : "";
  const headed = Object.keys(headers).length > 0 ? ` headers ${literal(headers)}` : "";
  return `${named(method)} ${named(path)}${asked}${headed}${body === null ? "" : ` body ${literal(body)}`}`;
}

function* leaves(value: Json, place: string): Generator<[string, Json]> {
  if (isObject(value) && (Object.keys(value).length > 0 || ["", "/query", "/headers"].includes(place))) {
    for (const name of Object.keys(value)) yield* leaves(value[name]!, `${place}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  } else if (Array.isArray(value) && value.length > 0) {
    for (const [index, item] of value.entries()) yield* leaves(item, `${place}/${index}`);
  } else if (value !== null || place !== "/body") yield [place, value];
}

// What would be sent, as text: what a person agrees to.

import type { Next } from "./apply.ts";
import type { Request } from "./edit.ts";
import { KEY, literal, plain } from "./explain.ts";
import { isObject, writeJson } from "./json.ts";
import type { Json } from "./json.ts";

/** What a person can be shown: places that change, and characters of a value. */
const MOST = 40;
const LONGEST = 1000;

/** The steps, the method and the path, and each value that changes; or why a person cannot be shown all of it. */
export function proposed({ request, steps, waitSeconds }: Next, before: Request): { text: string } | { problem: string } {
  const lines = [Number(waitSeconds) > 0 ? `To be sent after ${waitSeconds} s:` : "To be sent:"];
  const values: Json[] = steps.flatMap(({ path, query, body }) => [path, query, body]);
  for (const step of steps) lines.push(`  first ${line(step)}`);
  const [call, called] = [request, before].map(({ method, path }) => `${plain(method)} ${plain(path)}`) as [string, string];
  lines.push(call === called ? `  ${call}` : `  ${call}, instead of ${called}`);
  const [old, now] = [before, request].map(({ query, headers, body }) => new Map(leaves({ query, headers, body }, ""))) as [Map<string, Json>, Map<string, Json>];
  const changes: string[] = [];
  const change = (place: string, was: Json | undefined, is: Json | undefined): void => {
    if (place === KEY) return; // no person decides about it
    values.push(was ?? null, is ?? null);
    changes.push(`${place}: ${was === undefined ? "" : `${literal(was)} `}-> ${is === undefined ? "(removed)" : literal(is)}`);
  };
  for (const [place, value] of now) if (!old.has(place) || writeJson(old.get(place)!) !== writeJson(value)) change(place, old.get(place), value);
  for (const [place, value] of old) if (!now.has(place)) change(place, value, undefined);
  if (changes.length > MOST) return { problem: `the correction changes ${changes.length} places, more than the ${MOST} that a person can be shown` };
  const longest = Math.max(...values.map((value) => writeJson(value).length), 0);
  if (longest > LONGEST) return { problem: `the correction has a value of ${longest} characters, more than the ${LONGEST} that a person can be shown` };
  return { text: [...lines, ...changes.map((one) => `    ${plain(one)}`)].join("\n") };
}

/** A request as one line. */
export function line({ method, path, query, body }: Pick<Request, "method" | "path" | "query" | "body">): string {
  const asked = Object.keys(query).length > 0 ? ` query ${literal(query)}` : "";
  return `${plain(method)} ${plain(path)}${asked}${body === null ? "" : ` body ${literal(body)}`}`;
}

function* leaves(value: Json, place: string): Generator<[string, Json]> {
  if (isObject(value) && (Object.keys(value).length > 0 || place === "")) {
    for (const name of Object.keys(value)) yield* leaves(value[name]!, `${place}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  } else if (Array.isArray(value) && value.length > 0) {
    for (const [index, item] of value.entries()) yield* leaves(item, `${place}/${index}`);
  } else if (!(isObject(value) && place.lastIndexOf("/") === 0) && !(value === null && place === "/body")) yield [place, value];
}

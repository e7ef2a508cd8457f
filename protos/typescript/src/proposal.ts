// What would be sent, as text: what a person agrees to.

import type { Next } from "./apply.ts";
import type { Request } from "./edit.ts";
import { literal, plain } from "./explain.ts";
import { isObject } from "./json.ts";
import type { Json } from "./json.ts";

const MOST = 12;

/** The steps, the method and the path, and each value that changes. */
export function proposed({ request, steps, waitSeconds }: Next, before: Request): string {
  const lines = [Number(waitSeconds) > 0 ? `To be sent after ${waitSeconds} s:` : "To be sent:"];
  for (const step of steps) lines.push(`  first ${line(step)}`);
  lines.push(`  ${plain(request.method)} ${plain(request.path)}`);
  const [old, now] = [before, request].map(({ query, headers, body }) => new Map(leaves({ query, headers, body }, ""))) as [Map<string, Json>, Map<string, Json>];
  const changes: string[] = [];
  for (const [place, value] of now) {
    if (!old.has(place)) changes.push(`${place}: -> ${literal(value)}`);
    else if (literal(old.get(place)) !== literal(value)) changes.push(`${place}: ${literal(old.get(place))} -> ${literal(value)}`);
  }
  for (const [place, value] of old) if (!now.has(place)) changes.push(`${place}: ${literal(value)} -> (removed)`);
  lines.push(...changes.slice(0, MOST).map((change) => `    ${plain(change)}`));
  if (changes.length > MOST) lines.push(`    and ${changes.length - MOST} more`);
  return lines.join("\n");
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

// Edits of the request document (SPEC.md, section 2 and 4.6 to 4.9).

import type { Request } from "./form.ts";
import { isPath } from "./guard.ts";
import { bare, clone, isObject, own } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Operation, Suggestion } from "./read.ts";

/** An edit does not fit the request. */
export class Inapplicable extends Error {}

const ROUTING = ["host", "content-length", "transfer-encoding", "connection", "upgrade"]; // [4.9]
const SECRET = ["authorization", "cookie", "proxy-authorization"];
const MOST_COPIED = 50_000;
/** Characters of a text that count as one more value. */
const LONG = 64;

/** How many values a copy writes. Throws Inapplicable beyond a limit: copies of copies double. */
function size(value: Json, most: number): number {
  const waiting = [value];
  let count = 0;
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    count += 1 + (typeof one === "string" ? Math.floor(one.length / LONG) : 0);
    if (isObject(one)) count += Math.floor(Object.keys(one).reduce((sum, name) => sum + name.length, 0) / LONG);
    fits(count <= most, "too many values are copied");
    if (Array.isArray(one)) for (const inner of one) waiting.push(inner);
    else if (isObject(one)) for (const name of Object.keys(one)) waiting.push(one[name]!);
  }
  return count;
}

const isMethod = (method: string): boolean => /^([A-Z][A-Z-]{0,19}|\/[A-Za-z_][\w.]*\/[A-Za-z_]\w*)$/.test(method);

export function fits(holds: boolean, why: string): asserts holds {
  if (!holds) throw new Inapplicable(why);
}

function tokens(pointer: string): string[] {
  fits(pointer === "" || (pointer.startsWith("/") && !/~(?![01])/.test(pointer)), `${pointer} is no pointer`);
  const parts = pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (parts[0] === "headers" && parts.length > 1) parts[1] = parts[1]!.toLowerCase(); // [2.1]
  return parts;
}

function index(part: string, length: number): number {
  fits(/^(0|[1-9]\d*)$/.test(part) && Number(part) < length, `${part} is no index there`);
  return Number(part);
}

function step(value: Json, part: string): Json {
  if (Array.isArray(value)) return value[index(part, value.length)]!;
  fits(own(value, part), `${part} is not there`);
  return (value as JsonObject)[part]!;
}
const read = (root: Json, parts: string[]): Json => parts.reduce(step, root);

function put(root: Json, parts: string[], value: Json, replacing: boolean): void {
  const last = parts.at(-1);
  fits(last !== undefined, "the document cannot be replaced");
  const holder = read(root, parts.slice(0, -1));
  if (replacing) read(holder, [last]);
  if (Array.isArray(holder)) {
    if (replacing) holder[index(last, holder.length)] = value;
    else holder.splice(last === "-" ? holder.length : index(last, holder.length + 1), 0, value);
  } else {
    fits(isObject(holder), "nothing can be put there");
    holder[last] = value;
  }
}

function take(root: Json, parts: string[]): Json {
  const last = parts.at(-1);
  fits(last !== undefined, "the document cannot be removed");
  const holder = read(root, parts.slice(0, -1));
  const value = step(holder, last);
  if (Array.isArray(holder)) holder.splice(Number(last), 1);
  else delete (holder as JsonObject)[last];
  return value;
}

function same(one: Json, other: Json, byText: boolean): boolean { // [4.8]
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && one.length === other.length && one.every((v, i) => same(v, other[i]!, byText));
  }
  if (isObject(one) || isObject(other)) {
    if (!isObject(one) || !isObject(other)) return false;
    const names = Object.keys(one);
    return names.length === Object.keys(other).length && names.every((n) => own(other, n) && same(one[n]!, other[n]!, byText));
  }
  if (byText) return String(one ?? "") === String(other ?? "");
  const numbers = [one, other].every((v) => typeof v === "number" || typeof v === "bigint");
  return numbers ? one == other : one === other;
}

function patched(operations: Operation[], request: Request): Request {
  const secrets = bare();
  const before = bare();
  for (const name of Object.keys(request.headers)) {
    const low = name.toLowerCase();
    (SECRET.includes(low) ? secrets : before)[low] = request.headers[name]!;
  }
  const document = bare({ method: request.method, path: request.path, query: clone(request.query), headers: clone(before), body: clone(request.body) });
  let copied = 0;
  for (const { verb, path, from, hasValue, value } of operations) {
    const parts = tokens(path);
    fits(hasValue || !["add", "replace", "test"].includes(verb), `${verb} needs a value`);
    if (verb === "test") {
      const byText = parts[0] === "query" || (parts[0] === "body" && request.form === true);
      fits(same(read(document, parts), value, byText), `${path} is something else`);
    } else if (verb === "remove") take(document, parts);
    else if (verb === "move" || verb === "copy") {
      fits(from !== undefined, `${verb} needs from`);
      fits(verb === "copy" || !`${path}/`.startsWith(`${from}/`) || path === from, "nothing moves into itself");
      if (verb === "copy") copied += size(read(document, tokens(from)), MOST_COPIED - copied);
      put(document, parts, verb === "move" ? take(document, tokens(from)) : clone(read(document, tokens(from))), false);
    } else put(document, parts, clone(value), verb === "replace");
  }
  for (const name of Object.keys(document)) fits(["method", "path", "query", "headers", "body"].includes(name), `${name} is no member`);
  const { method, path, query = bare(), headers = bare(), body = null } = document;
  fits(typeof method === "string" && (method === request.method || isMethod(method)), "no method");
  fits(typeof path === "string" && (path === request.path || isPath(path)), "no path on the host");
  fits(isObject(query) && isObject(headers), "no query or headers");
  const merged = bare();
  for (const name of Object.keys(headers)) {
    const value = headers[name]!;
    const textual = ["number", "boolean", "bigint"].includes(typeof value) ? String(value) : value;
    if (textual !== before[name]) checkHeader(name, textual);
    merged[name] = textual;
  }
  return { ...request, method, path, query, headers: Object.assign(merged, secrets), body };
}

function checkHeader(name: string, value: Json): void {
  fits(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name), "no header name");
  fits(!SECRET.includes(name.toLowerCase()), "credentials are the caller's");
  fits(!ROUTING.includes(name.toLowerCase()), "where a request goes is the sender's");
  fits(typeof value === "string" && !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value), "no header value");
}

function merge(target: Json | undefined, patch: Json): Json { // RFC 7396
  if (!isObject(patch)) return clone(patch);
  const out = isObject(target) ? bare(target) : bare();
  for (const name of Object.keys(patch)) {
    if (patch[name] === null) delete out[name];
    else out[name] = merge(own(out, name) ? out[name] : undefined, patch[name]!);
  }
  return out;
}

/** The request after a suggestion's own edit. Throws Inapplicable. */
export function edited(suggestion: Suggestion, request: Request): Request {
  if (suggestion.patch.length > 0) return patched(suggestion.patch, request);
  if (suggestion.kind === "wait_and_retry" || Object.keys(suggestion.parameters).length === 0) return request;
  if (request.body === null && ["GET", "HEAD", "DELETE"].includes(request.method)) {
    return { ...request, query: merge(request.query, suggestion.parameters) as JsonObject };
  }
  fits(request.body === null || isObject(request.body), "the body is no object");
  return { ...request, body: merge(request.body, suggestion.parameters) };
}

/** The requests to send first, with the caller's credentials [4.9]. Throws Inapplicable. */
export function stepsOf(suggestion: Suggestion, request: Request): Request[] {
  return suggestion.steps.map(({ method, path, query, headers, body }) => {
    fits(isMethod(method) && isPath(path), "a step leaves the host");
    const all = bare();
    for (const name of Object.keys(headers)) {
      checkHeader(name, headers[name]!);
      all[name.toLowerCase()] = headers[name]!;
    }
    for (const name of Object.keys(request.headers)) {
      if (SECRET.includes(name.toLowerCase())) all[name.toLowerCase()] = request.headers[name]!;
    }
    return { method, path, query, headers: all, body };
  });
}

// What no correction does, whoever agreed: touch a credential, or send by another method or path than it shows. And what is another call,
// though its method and path stay.

import { LONG, SHORTEST, finder, readings } from "./credentials.ts";
import { seen } from "./explain.ts";
import { segments, unescaped } from "./form.ts";
import type { Request } from "./edit.ts";
import { at, isObject, own, writeJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { isCondition, isOfForm, isSecretHeader, isSecretName, isSecretParameter, isTrial, isUndocumented, letters, overridesHeader, overridesMethod } from "./names.ts";

/** A request as it is written on the wire. */
export interface Written {
  url: string;
  headers: [string, string][];
  body: Json;
  form: boolean;
}

/** A place (`/query/api_key`), the text there, and the credentials that it has: itself or parts of it. */
interface Leaf {
  place: string[];
  text: string;
  secrets: string[];
}

const DECODINGS = 3;
const SHORTEST_ALONE = 3; // of a value that is looked for as a whole text
/** Members of an object with the name of a credential that describe it: `imagePullSecrets: [{name: ...}]`. */
const DESCRIBING = new Set(["kind", "method", "scheme", "scope", "scopes", "provider", "algorithm", "name", "namespace"]);
/** Members that name what another one holds: `{name: "DB_PASSWORD", value: ...}`. */
const NAMING = ["name", "key", "field", "header", "parameter", "param", "variable", "k", "n"];
const NAMED = /^(values?|val|v|content|data|text|default|default_?value)$/i;
const ASSIGNED = /([?&;]|--)?([\p{L}\p{N}_.-]+)/gu;
const SIGN = /["'\s\\]*([=:>]|(?<=\s))["'\s\\]*/y;
const VALUE = /[^"'\s\\&;,<>{}]{0,500}/y;
/** Empty segments, controls, backslashes, look-alikes of slashes and dots, an escape that not all servers know. */
const UNCLEAR = /\/{2}|[\u0000-\u001f\u007f-\u009f\\\ufffd\u2044\u2215\u2216\u2571\u2572\u27cb\u29f5\u29f8\u29f9\u3002]|%u/i;
/** A dot segment, also before what some servers take for its end, or blanks alone. */
const DOTS = /^\.+([;,&?#].*)?$|^\s+$/;
const METHOD = /^(get|head|options|post|put|patch|delete|create|update|upsert|merge)$/i;
const ADDRESS = /^(ur[il]|path|href|relative_?ur[il]|resource|endpoint)$/i;
const GRAPHQL = /^(\s*#[^\n]*\n)*\s*((query|mutation|subscription|fragment)\b[^{]*)?\{/;
const OF_GRAPHQL = ["query", "operationName", "operation_name", "documentId", "doc_id", "extensions"];
/** Parameters of a query or a form that say what is to be done. */
const ACTING = /^(action|operation|operationname|method|cmd|command|func|function|procedure)$/i;
const OFF = ["", "0", "false", "no", "off", "none", "null", "[]"];

/** Names of credentials in the parts of a request: the usual ones, and those that the caller lists. */
export class Guard {
  readonly #listed: ReadonlySet<string>;

  constructor(listed: readonly string[] = []) {
    this.#listed = new Set(listed.map(letters));
  }

  isHeader(name: string): boolean {
    return isSecretHeader(name) || this.#listed.has(letters(name));
  }

  /** Whether a header is no part of the request document. */
  isKept(name: string): boolean {
    return isUndocumented(name) || this.#listed.has(letters(name));
  }

  isParameter(name: string): boolean {
    return [name, ...segments(name)].some((part) => isSecretParameter(part) || this.#listed.has(letters(part)));
  }

  /** Why a correction is not sent, whoever agreed; an empty text if it does nothing of the kind. */
  problem(before: Written, after: Written): string {
    const [old, now] = [[...this.#leaves(before)], [...this.#leaves(after)]];
    const [kept, left] = [old, now].map((all) => all.filter(({ secrets }) => secrets.length > 0).map(spelled).sort()) as [string[], string[]];
    const other = [...kept.filter((one) => !left.includes(one)), ...left.filter((one) => !kept.includes(one))][0];
    if (other !== undefined || kept.length !== left.length) {
      return `the correction changes a credential, which is the caller's own (${(other ?? kept[0] ?? "").split("\n")[0]})`;
    }
    const copied = this.#copied(old, now);
    if (copied !== "") return `the correction copies a credential to ${copied}`;
    const [was, is] = [overridesOf(before), overridesOf(after)];
    return was.join() === is.join() ? "" : "the correction changes an override, by which a server does something else than it shows";
  }

  /** Why a request that would come first is not sent. It is looked at before the caller's credentials are in it. */
  stepProblem(step: Written, caller: Written): string {
    const leaves = [...this.#leaves(step)];
    const secret = leaves.find(({ secrets }) => secrets.length > 0);
    if (secret !== undefined) return `a request that has to come first sets a credential (/${secret.place.join("/")})`;
    if (overridesOf(step).length > 0) return "a request that has to come first has an override, which is another call than it shows";
    const copied = this.#copied([...this.#leaves(caller)].filter(({ secrets }) => secrets.length > 0), leaves);
    return copied === "" ? "" : `a request that has to come first copies a credential to ${copied}`;
  }

  /** Return the values of credentials, which no text shows. */
  values(request: Written): string[] {
    return [...this.#leaves(request)].flatMap((leaf) => [...this.#parts(leaf)]).filter(([value, least]) => value.length >= least).map(([value]) => value);
  }

  #copied(before: Leaf[], after: Leaf[]): string {
    const values = [...new Set(before.flatMap((leaf) => [...this.#parts(leaf, false)].map(([value]) => value)))];
    const short = values.filter((one) => one.length >= SHORTEST_ALONE && one.length < SHORTEST);
    const find = finder(values.filter((one) => one.length >= SHORTEST));
    const old = new Map(before.map(({ place, text }) => [place.join("\0"), text]));
    for (const { place, text, secrets } of values.length > 0 ? after : []) {
      const was = old.get(place.join("\0"));
      if (was === text || secrets.length > 0) continue;
      const isThere = short.includes(text) || find(text).length > find(was ?? "").length
        || (was === undefined && place.slice(1).some((name) => short.includes(name) || find(name).length > 0));
      if (isThere) return `/${place.join("/")}`;
    }
    return "";
  }

  /** A credential, without its scheme, and what Basic and cookies hold; each with the length from which texts are without it. */
  *#parts({ place, text, secrets }: Leaf, isShown = true): Generator<[string, number]> {
    if (place[1] === "cookie" && place[0] === "headers") {
      yield [text, LONG];
      for (const pair of text.split(";")) {
        const [name = "", ...rest] = pair.trim().split("=");
        const value = rest.join("=");
        if (this.isParameter(name) || value.length >= LONG) yield [value, SHORTEST]; // `theme=default` is none
      }
      return;
    }
    for (const secret of secrets) {
      yield [secret, SHORTEST];
      if (place[0] !== "headers") continue;
      const rest = secret.replace(/^\S+\s+/, "").trim();
      yield [rest, SHORTEST];
      if (!/^basic\s/i.test(secret)) continue;
      try {
        const decoded = new TextDecoder().decode(Uint8Array.from(atob(rest), (one) => one.charCodeAt(0)));
        yield [decoded, SHORTEST];
        yield [decoded.slice(decoded.indexOf(":") + 1), SHORTEST_ALONE];
        if (isShown) yield [decoded.split(":")[0]!, SHORTEST]; // a user's name may stand elsewhere
      } catch { /* no Basic */ }
    }
  }

  *#leaves({ url, headers, body }: Written): Generator<Leaf> {
    const { pathname, searchParams } = new URL(url);
    yield { place: ["path"], text: unescaped(pathname), secrets: [] };
    yield* this.#inPath(unescaped(pathname));
    for (const [name, value] of headers) {
      const low = name.toLowerCase();
      yield { place: ["headers", low], text: value, secrets: this.isHeader(low) ? [value] : this.#told(value) };
    }
    for (const [name, value] of searchParams) yield { place: ["query", name], text: value, secrets: this.isParameter(name) ? [value] : this.#told(value) };
    yield* this.#within(body, ["body"], false, false);
  }

  *#inPath(path: string): Generator<Leaf> { // `/apikey/123abc`, `;jsessionid=123abc`, `/bot123456:abc`
    const parts = path.split("/");
    for (const [index, part] of parts.entries()) {
      const before = parts[index - 1] ?? "";
      const plain = part.split(";")[0]!;
      const isKey = /^.{0,40}s$/.test(before) ? false : isSecretName(before) || letters(before) === "key";
      const secrets = (isKey && plain.length >= 8 && /\d/.test(plain)) || /^[a-z]*\d{5,}:[\w-]{8,}$/i.test(plain) ? [plain] : [];
      for (const pair of part.split(";").slice(1)) {
        const [name = "", ...rest] = pair.split("=");
        if (this.isParameter(name)) secrets.push(rest.join("="));
      }
      if (plain.includes("=")) secrets.push(...this.#told(plain));
      if (secrets.length > 0) yield { place: ["path", before], text: secrets.join("\n"), secrets };
    }
  }

  *#within(value: Json, place: string[], secret: boolean, isText: boolean): Generator<Leaf> {
    if (isObject(value) && Object.keys(value).length > 0) {
      const isNamed = NAMING.some((name) => typeof value[name] === "string" && this.#names(value[name] as string, true));
      const isStored = value["kind"] === "Secret";
      for (const name of Object.keys(value)) {
        const held = (isNamed && NAMED.test(name)) || (isStored && /^(data|stringData)$/.test(name));
        const inner = held || this.#names(name, false) || (secret && (!DESCRIBING.has(name.toLowerCase()) || isObject(value[name]!)));
        yield* this.#within(value[name]!, [...place, name], inner, this.#names(name, true));
      }
    } else if (Array.isArray(value) && value.length > 0) {
      const isPair = value.length === 2 && typeof value[0] === "string" && this.#names(value[0], true); // `["Authorization", ...]`
      for (const [index, inner] of value.entries()) yield* this.#within(inner, [...place, String(index)], secret || (isPair && index === 1), isText);
    } else if (typeof value === "string") yield { place, text: value, secrets: secret || isText ? [value] : this.#told(value) };
    else if (typeof value === "number" || typeof value === "bigint") yield { place, text: String(value), secrets: secret ? [String(value)] : [] };
    else yield { place, text: "", secrets: [] }; // whether there is one is no credential
  }

  #names(name: string, isText: boolean): boolean {
    return isSecretName(name, isText) || this.#listed.has(letters(name));
  }

  /** The credentials in a text that has a form of its own: a form, XML, JSON in text, a command, an address with a password. */
  #told(text: string): string[] {
    const told: string[] = [];
    for (const reading of /[=:>@]|--/.test(text) || /[\\%&]/.test(text) ? readings(text) : []) {
      for (const [, all = ""] of reading.matchAll(/\/\/([^/@\s]{1,500})@/g)) if (all.includes(":") || reading.includes("://")) told.push(all, all.slice(all.indexOf(":") + 1));
      for (const { 0: whole, 1: start, 2: name = "", index } of reading.matchAll(ASSIGNED)) {
        SIGN.lastIndex = index + whole.length;
        const sign = SIGN.exec(reading)?.[1];
        if (sign === undefined || (sign === "" && start !== "--")) continue;
        const isParameter = start !== undefined && start !== "--" && sign === "=" && this.isParameter(name);
        VALUE.lastIndex = SIGN.lastIndex;
        if (isParameter || this.#names(name.replace(/^-+/, ""), false)) told.push(VALUE.exec(reading)?.[0] || text);
      }
    }
    return told;
  }
}

const spelled = ({ place, text, secrets }: Leaf): string => `/${place.join("/")}\n${text}\n${secrets.length > 0}`;

function overridesOf({ url, headers, body, form }: Written): string[] {
  const found = headers.filter(([name]) => overridesHeader(name)).map(([name, value]) => `${name.toLowerCase()}=${value}`);
  for (const [name, value] of new URL(url).searchParams) if (overridesMethod(name, true)) found.push(`${name}=${value}`);
  const waiting = [body];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    for (const name of isObject(one) ? Object.keys(one) : []) {
      if (overridesMethod(name, form)) found.push(`${name}=${writeJson((one as JsonObject)[name]!)}`);
      if (form) waiting.push((one as JsonObject)[name]!);
    }
    if (form && Array.isArray(one)) for (const inner of one) waiting.push(inner);
  }
  return found.sort();
}

/** What the content of a request tells the server to do, beside its method and path. */
interface Sign {
  kind: "operation" | "trial" | "condition";
  place: string;
  value: string;
}

/** Why a person has to agree to what a correction does to headers, operations in the content, trials and conditions; empty if it need not. */
export function anotherContent(before: Request, after: Request): string {
  for (const name of Object.keys({ ...before.headers, ...after.headers })) {
    const [was, is] = [before.headers[name], after.headers[name]];
    if (was !== is && !isOfForm(name) && !(name === "idempotency-key" && was === undefined)) return `it changes the header ${name}`;
  }
  const [old, now] = [before, after].map((one) => new Map([...signsOf(one)].map((sign) => [`${sign.place} ${sign.kind}`, sign]))) as [Map<string, Sign>, Map<string, Sign>];
  for (const [place, { kind, place: where, value }] of old) {
    if (kind === "operation" && now.get(place)?.value !== value) return `it changes ${where}, which says what is to be done`;
    if (kind === "trial" && now.get(place)?.value !== value) return `it changes ${where}, without which the server does more than try`;
    if (kind === "condition" && !now.has(place)) return `it removes ${where}, a condition`;
  }
  const added = [...now].find(([place, { kind }]) => kind === "operation" && !old.has(place));
  return added === undefined ? "" : `it changes ${added[1].place}, which says what is to be done`;
}

/** Whether the content of a request that comes first says what is to be done, or a header is more than its form. */
export const isPlain = (step: Request): boolean =>
  Object.keys(step.headers).every(isOfForm) && [...signsOf(step)].every(({ kind }) => kind !== "operation");

function* signsOf({ query, body, form = false }: Request): Generator<Sign> {
  yield* signs(query, "/query", true);
  if (typeof body === "string") yield { kind: "operation", place: "/body", value: body }; // SOAP, a bulk of lines, GraphQL
  else yield* signs(body, "/body", form);
}

function* signs(value: Json, place: string, isForm: boolean): Generator<Sign> {
  if (Array.isArray(value)) for (const [index, inner] of value.entries()) yield* signs(inner, `${place}/${index}`, false);
  if (!isObject(value)) return;
  const names = Object.keys(value);
  const operating = new Set(isForm ? names.filter((name) => ACTING.test(name)) : []);
  const called = names.find((name) => /^(http)?_?(method|verb)$/i.test(name) && typeof value[name] === "string" && METHOD.test(value[name] as string));
  if (called !== undefined) for (const name of names.filter((one) => one === called || ADDRESS.test(one))) operating.add(name);
  if (own(value, "jsonrpc")) operating.add("method");
  if (/^(add|remove|replace|move|copy|test)$/.test(String(at(value, "op")))) for (const name of ["op", "path", "from"]) operating.add(name);
  const isGraphql = typeof value["query"] === "string" && GRAPHQL.test(value["query"]);
  if (isGraphql || own(value, "operationName") || own(at(value, "extensions"), "persistedQuery")) for (const name of OF_GRAPHQL) operating.add(name);
  for (const name of names) {
    const [inner, here] = [value[name]!, `${place}/${name}`];
    if (operating.has(name)) yield { kind: "operation", place: here, value: writeJson(inner) };
    if (isTrial(name) && !OFF.includes(String(inner).toLowerCase())) yield { kind: "trial", place: here, value: writeJson(inner) };
    if (isCondition(name)) yield { kind: "condition", place: here, value: "" };
    yield* signs(inner, here, false);
  }
  for (const name of own(value, "jsonrpc") ? ["name", "uri"] : []) {
    const inner = at(value, "params", name);
    if (inner !== undefined) yield { kind: "operation", place: `${place}/params/${name}`, value: writeJson(inner) };
  }
}

/** A path with its escapes undone never, once, and so on; empty if it is unclear what a server makes of it. */
function decodings(path: string): string[] {
  const found = [path];
  for (let round = 0; round < DECODINGS; round += 1) found.push(unescaped(found.at(-1)!).normalize("NFKC"));
  const isClear = (one: string): boolean => !UNCLEAR.test(one) && seen(one) === one && !one.split("/").some((part) => DOTS.test(part) || DOTS.test(part.replace(/\s/g, "")));
  return !/%[0-9a-f]{2}/i.test(found.at(-1)!) && found.every(isClear) ? found : [];
}

/** Whether it is one place on the host, however often its escapes are undone. gRPC has the empty path. */
export const isPath = (path: string): boolean => path === "" || (/^\/[^?#]*$/.test(path) && decodings(path).length > 0);

/** Whether a call is one of the operations (`GET /v1/charges/{charge}`), however often its escapes are undone. */
export function isListed(operations: readonly string[], method: string, path: string): boolean {
  const templates = operations.filter((one) => one.startsWith(`${method} `)).map((one) => one.slice(method.length + 1));
  const read = decodings(path);
  return read.length > 0 && read.every((one) => !/[;?#]/.test(one) && templates.some((template) => fitsTemplate(template.split("/"), one.split("/"))));
}

const fitsTemplate = (template: string[], path: string[]): boolean =>
  template.length === path.length && template.every((part, index) => fitsSegment(part.split(/\{[^{}]+\}/), path[index]!));

/** Whether a segment has these texts with something between them. From the end, each text is the last: the work is linear. */
function fitsSegment(literals: string[], part: string): boolean {
  const [first, last] = [literals[0]!, literals.at(-1)!];
  if (literals.length === 1) return part === first;
  if (part.length < first.length + last.length || !part.startsWith(first) || !part.endsWith(last)) return false;
  let end = part.length - last.length;
  for (const literal of literals.slice(1, -1).reverse()) {
    const start = part.slice(0, end - 1).lastIndexOf(literal);
    if (start < first.length + 1) return false;
    end = start;
  }
  return end > first.length;
}

/** Whether two paths are spellings of one: escapes, and a slash at the end. Bytes that are no UTF-8 are compared as bytes. */
export function samePlace(one: string, other: string): boolean {
  const plain = (path: string) => withoutSlash(path).split("/").map(unescaped).join("\0");
  return plain(one) === plain(other);
}

/** A path without the slashes at its end. */
export function withoutSlash(path: string): string {
  let end = path.length;
  while (path[end - 1] === "/") end -= 1;
  return path.slice(0, end);
}

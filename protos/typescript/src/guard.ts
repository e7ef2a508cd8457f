// What no correction does, whoever agreed: touch a credential, or send by another method or path than it shows. And what is another call,
// though its method and path stay.

import { LONG, SHORTEST, finder, readings } from "./credentials.ts";
import { segments, unescaped } from "./form.ts";
import type { Request } from "./form.ts";
import { isObject, own, seen, writeJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import {
  counts, isCoding, isCondition, isOfForm, isOfParts, isReal, isSecretHeader, isSecretName, isSecretParameter, isTrial, isUndocumented, letters, overridesHeader,
  overridesMethod,
} from "./names.ts";

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
/** Members of an object with the name of a credential that name it: `imagePullSecrets: [{name: ...}]`; that describe it in a word. */
const NAMING = /^(name|namespace)$/i;
const DESCRIBING = /^(type|kind|method|scheme|scopes?|provider|algorithm)$/i;
const WORD = /^[A-Za-z]{1,20}([ _./:-]?[A-Za-z]{1,20}){0,5}[-_]?\d{0,3}$/;
/** Members whose value names what stands beside it: `{name: "DB_PASSWORD", value: ...}`, `{kind: "Secret", data: ...}`. */
const PAIRED = ["name", "key", "kind", "type", "field", "header", "parameter", "param", "variable", "property", "label", "id", "k"];
const VALUES = /^((binary|current|default|new|secure|string)?_?(contents?|data|text|values?)|default|plaintext|secret|string|val|v)$/i;
/** A segment of a path that says that the next one is a credential; how that looks; a segment that is one. */
const OF_PATHS = /^((access|api|auth|bearer|csrf|refresh|session)?token|(access|api|auth)key|password|jwt)$/;
const OPAQUE = /^((?=\D*\d).{8,}|.{20,})$/;
const BOT = /^[A-Za-z]*\d+:[\w-]{16,}$/;
const ASSIGNED = /([?&;]|--)?([\p{L}\p{N}_.-]+)/gu;
const SIGN = /["'\s\\]*([=:>]|(?<=\s))["'\s\\]*/y;
const VALUE = /[^"'\s\\&;,<>{}]{0,500}/y;
/** Empty segments, controls, backslashes, look-alikes of slashes and dots, an escape that not all servers know. */
const UNCLEAR = /\/{2}|\/[;?#]|[\u0000-\u001f\u007f-\u009f\\\ufffd\u06d4\u0701\u0702\u2044\u2215\u2216\u2571\u2572\u27cb\u29f5\u29f8\u29f9\u3002\uff61]|%u[0-9a-f]{4}/i;
/** A dot segment, also before what some servers take for its end, or blanks alone. */
const DOTS = /^\.{1,2}([;,&?#].*)?$|^\s+$/;
/** Members of a body and parameters that say what is done; a method beside an address; what `params` of a call may name. */
const ACTING = /^(action|cmd|command|do|function|op|operation|operationid|operationname|procedure)$/;
const METHODS = /^(method|httpmethod|requestmethod|verb)$/;
const HTTP = /^\s*(get|head|options|post|put|patch|delete|query|search)\s*$/i;
const ADDRESS = /^(endpoint|href|path|relativeurl|resource|target|to|ur[il])$/;
const TARGET = /^(action|command|method|name|operation|tool|uri)$/;
/** Lists of calls: an element says what is done by a member, or by its only member (`{"delete": {...}}`). */
const BATCHES = /(actions|batch|calls|commands|mutations|operations|ops|requests|transactitems)$/;
/** Members that hold GraphQL or a statement of a database, and no words that are looked for. */
const QUERIES = /^(query|mutation|sql|statement|stmt|cypher|gremlin|script|documentid|docid)$/;
const STATEMENT = /\{|^\s*(alter|call|create|delete|drop|exec|grant|insert|match|merge|select|truncate|update|with)\b/i;
const LONGEST_WORD = 40;
const TRIAL_OF_PREFER = /tx=rollback|dry-?run|(validate|test)-?only|return=preview/gi;
const OFF = ["", "0", "false", "n", "no", "off", "none", "null", "[]", "{}"];
const ON = ["1", "true", "y", "yes", "on", "all"];

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
    return isSecretParameter(name) || this.#isListed(name);
  }

  /** Why a correction is not sent, whoever agreed; an empty text if it does nothing of the kind. */
  problem(before: Written, after: Written): string {
    const codings = [before, after].map(({ headers }) => JSON.stringify(headers.filter(([name]) => isCoding(name))));
    if (codings[0] !== codings[1]) return "the correction changes how the body is encoded";
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
    const called = [...this.#leaves(caller)];
    const own = called.filter(({ place, secrets }) => place[0] === "path" && secrets.length > 0).map(spelled); // `/bot123:.../getMe`
    const secret = leaves.find((leaf) => leaf.secrets.length > 0 && !own.includes(spelled(leaf)));
    if (secret !== undefined) return `a request that has to come first sets a credential (/${secret.place.join("/")})`;
    if (step.headers.some(([name]) => isCoding(name))) return "a request that has to come first says in which coding its body is, so that it is not read";
    if (overridesOf(step).length > 0) return "a request that has to come first has an override, which is another call than it shows";
    const copied = this.#copied(called, leaves);
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
    const changed = after.filter(({ place, text, secrets }) => secrets.length === 0 && old.get(place.join("\0")) !== text);
    if (short.length === 0 && find(changed.flatMap(({ place, text }) => [text, ...place.slice(1)]).join("\n")).length === 0) return "";
    for (const { place, text } of changed) {
      const was = old.get(place.join("\0"));
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
    yield* this.#within(body, ["body"], false);
  }

  *#inPath(path: string): Generator<Leaf> { // `/apikey/123abc`, `;jsessionid=123abc`, `/bot123456:abc`
    let before = "";
    for (const part of path.split("/")) {
      const [here = "", ...pairs] = part.split(";");
      for (const [name = "", ...rest] of pairs.map((pair) => pair.split("="))) {
        if (this.isParameter(name)) yield { place: ["path", name.toLowerCase()], text: rest.join("="), secrets: [rest.join("=")] };
      }
      if (BOT.test(here) || (OF_PATHS.test(before) && OPAQUE.test(here))) yield { place: ["path", before], text: here, secrets: [here, here.slice(here.indexOf(":") + 1)] };
      before = letters(part);
    }
  }

  *#within(value: Json, place: string[], secret: boolean): Generator<Leaf> {
    if (isObject(value) && Object.keys(value).length > 0) {
      const isPaired = Object.keys(value).some((name) => PAIRED.includes(name.toLowerCase()) && this.#namesOne(value[name]!));
      for (const name of Object.keys(value)) {
        const inner = value[name]!;
        const isOther = isObject(inner) ? isOfParts(name) : counts(name) && typeof inner !== "string" && !Array.isArray(inner);
        const isKey = name.toLowerCase() === "key" && /^(api|auth|authentication)$/i.test(place.at(-1)!);
        const isNamed = isKey || (isSecretName(name) && !isOther) || this.#isListed(name);
        const isOwn = secret && !NAMING.test(name) && !(DESCRIBING.test(name) && [inner].flat().every((one) => typeof one !== "string" || WORD.test(one)));
        yield* this.#within(inner, [...place, name], isNamed || isOwn || (isPaired && VALUES.test(name)));
      }
    } else if (Array.isArray(value) && value.length > 0) {
      const isEntry = value.length === 2 && /^\d+$/.test(place.at(-1)!); // `[["Authorization", ...]]`, `["--password", ...]`
      for (const [index, inner] of value.entries()) {
        const before = value[index - 1];
        const isNamed = typeof before === "string" && (isEntry || before.startsWith("-")) && this.#namesOne(before);
        yield* this.#within(inner, [...place, String(index)], secret || isNamed);
      }
    } else if (typeof value === "string") yield { place, text: value, secrets: secret ? [value] : this.#told(value) };
    else if (typeof value === "number" || typeof value === "bigint") yield { place, text: String(value), secrets: secret ? [String(value)] : [] };
    else yield { place, text: "", secrets: [] }; // whether there is one is no credential
  }

  #names(name: string): boolean {
    return isSecretName(name) || this.#isListed(name);
  }

  #isListed(name: string): boolean {
    return this.#listed.size > 0 && [name, ...segments(name)].some((part) => this.#listed.has(letters(part)));
  }

  #namesOne(value: Json): boolean {
    return typeof value === "string" && /^[^\s=<>]{1,80}$/.test(value) && this.#names(value); // `Forgot password` is a title
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
        if (isParameter || (this.#names(name) && !counts(name))) told.push(VALUE.exec(reading)?.[0] || text);
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
      waiting.push((one as JsonObject)[name]!);
    }
    if (Array.isArray(one)) for (const inner of one) waiting.push(inner);
  }
  return found.sort();
}

/** What the content of a request tells the server to do, beside its method and path; or under what it does nothing, or less. */
interface Sign {
  place: string;
  value: string;
  why: string;
}

const DONE = "which says what is done";
const SAFEGUARD = "without which the server does more";

/** Why a person has to agree to what a correction does to headers, operations in the content, trials and conditions; empty if it need not. */
export function anotherContent(before: Request, after: Request): string {
  for (const name of Object.keys({ ...before.headers, ...after.headers })) {
    const [was, is] = [before.headers[name], after.headers[name]];
    if (was !== is && !isOfForm(name)) return `it changes the header ${name}`;
  }
  const kept = trialsOfPrefer(after);
  if (trialsOfPrefer(before).some((one) => !kept.includes(one))) return "it changes the header prefer, without which the server does more than try";
  const isMended = typeof before.body === "string" && typeof after.body === "object" && after.body !== null
    && String(said(before.body)) === String(said(writeJson(after.body))); // the signs between the words of JSON
  const [old, now] = [isMended ? { ...before, body: after.body } : before, after].map((one) => new Map([...signsOf(one)].map((sign) => [sign.place, sign]))) as [Map<string, Sign>, Map<string, Sign>];
  const changed = [...old.values()].find(({ place, value }) => now.get(place)?.value !== value);
  const one = changed ?? [...now.values()].find(({ place, why }) => why === DONE && !old.has(place));
  return one === undefined ? "" : `it changes ${one.place}, ${one.why}`;
}

const said = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}_.+-]+/gu) ?? [];
const VERBS = /^(?:add|copy|create|delete|get|index|insert|merge|move|patch|put|remove|replace|set|unset|update|upsert|\w*(?:check|request))$/;

const trialsOfPrefer = ({ headers }: Request): string[] => String(headers["prefer"] ?? "").toLowerCase().match(TRIAL_OF_PREFER) ?? [];

/** Whether a request that comes first has no header beyond its form, and nothing that says what is done. */
export const isPlain = (step: Request): boolean =>
  Object.keys(step.headers).every(isOfForm) && [...signsOf(step)].every(({ why }) => why === SAFEGUARD);

function* signsOf({ query, body }: Request): Generator<Sign> {
  yield* signs(query, "/query");
  if (typeof body === "string") yield { place: "/body", value: body, why: DONE }; // XML, lines of JSON, GraphQL
  else yield* signs(body, "/body");
}

function* signs(value: Json, place: string): Generator<Sign> {
  if (Array.isArray(value)) for (const [index, inner] of value.entries()) yield* signs(inner, `${place}/${index}`);
  if (!isObject(value)) return;
  const names = new Map(Object.keys(value).map((name) => [name, letters(segments(name).findLast((part) => part !== "") ?? "")]));
  const called = [...names].find(([, plain]) => METHODS.test(plain))?.[0];
  const method = called === undefined ? undefined : value[called];
  const isCall = typeof method === "string" && ["jsonrpc", "params", "args", "arguments"].some((name) => own(value, name));
  const hasAddress = [...names.values()].some((plain) => ADDRESS.test(plain));
  const isInner = typeof method === "string" && HTTP.test(method) && hasAddress;
  const [holder = "", index = ""] = place.split("/").slice(-2);
  const isPart = /^\d+$/.test(index) && (holder === "body" || BATCHES.test(letters(holder)));
  const isWhole = isPart || place === "/query" || place === "/body";
  if (isPart && [...names.values()].some((plain) => VERBS.test(plain)) && Object.values(value).every(isObject)) yield { place, value: [...names.keys()].sort().join(" "), why: DONE };
  for (const [name, plain] of names) {
    const [inner, here] = [value[name]!, `${place}/${name}`];
    const isStated = (QUERIES.test(plain) && typeof inner === "string" && STATEMENT.test(inner)) || (plain === "extensions" && own(inner, "persistedQuery"));
    const acts = typeof inner !== "object" && (plain === "operationname" || (isWhole && ACTING.test(plain)) || (hasAddress && plain === "op") // JSON Patch
      || (METHODS.test(plain) && (isCall || isInner || place === "/query")) || (isInner && ADDRESS.test(plain)));
    const decides = isTrial(name) || isReal(plain);
    const word = acts || decides ? (typeof inner === "object" ? writeJson(inner) : String(inner).trim()).toLowerCase() : "";
    if (isStated || acts) yield { place: here, value: acts ? word : writeJson(inner), why: DONE };
    else if (decides) {
      if (!OFF.includes(word)) yield { place: here, value: ON.includes(word) ? "on" : word, why: isReal(plain) ? DONE : SAFEGUARD };
    } else if (typeof inner === "string" && inner.length < LONGEST_WORD && isTrial(inner)) yield { place: here, value: letters(inner), why: SAFEGUARD };
    else if (isCondition(name)) yield { place: here, value: writeJson(inner), why: SAFEGUARD };
    yield* signs(inner, here);
    if (plain !== "params" || !isCall || !isObject(inner)) continue;
    for (const target of Object.keys(inner)) {
      if ((method.includes("/") ? TARGET : ACTING).test(letters(target))) yield { place: `${here}/${target}`, value: writeJson(inner[target]!), why: DONE };
    }
  }
}

/** A path with its escapes undone never, once, and so on; empty if it is unclear what a server makes of it. */
function decodings(path: string): string[] {
  const found = [path];
  for (let round = 0; round < DECODINGS; round += 1) found.push(unescaped(found.at(-1)!).normalize("NFKC"));
  const isClear = (one: string): boolean => !UNCLEAR.test(one) && seen(one) === one && !/[./\\%?#;]/.test(one.replace(/[^\u0080-\uffff]+/g, "").normalize("NFKC"))
    && !one.split("/").some((part) => DOTS.test(part) || DOTS.test(part.replace(/\s/g, "")));
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

/** Whether a path has a segment of dots alone, which some servers resolve as `..`. */
export const hasDots = (path: string): boolean => decodings(path).some((one) => one.split("/").some((part) => /^[.\s]+$/.test(part)));

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

// What no correction does, whoever agreed: touch a credential, or send by another method or path than it shows.
// Names are compared as lenient servers read them: in any case, with `-`, `_` and `.` alike, with their escapes undone.

import { segments } from "./form.ts";
import { isObject } from "./json.ts";
import type { Json } from "./json.ts";

/** A request as it is written on the wire. */
export interface Written {
  url: string;
  headers: [string, string][];
  body: Json;
}

/** A place (`/query/api_key`) and the text there. */
interface Leaf {
  place: string[];
  text: string;
  secret: boolean;
}

const DECODINGS = 3;
const SHORTEST = 6; // of a value that is looked for inside of other texts
const SHORTEST_ALONE = 3; // of one that is looked for as a whole text
const LONG = 16; // of a cookie's value that identifies somebody, whatever its name
const WORDS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const SECRET = new RegExp("^(passw(or)?d|pwd|pass|passphrase|passcode|secrets?|credentials?|authorization|jwt|bearer|assertion|signature|sig|hmac|t?otp|pin"
  + "|[cx]srf|api(key|token|secret)|access(key|token)|(auth|bearer|client|csrf|id|private|refresh|session|signing)token"
  + "|(auth|private|secret|signing)key|clientsecret)$");
const JOINED = new RegExp("(password|passwd|passphrase|passcode|secret|credentials?|authorization|signature|api(key|token)|access(key|token)"
  + "|(auth|bearer|csrf|refresh|session)token|(auth|private|secret|signing)key)$");
/** What stands before `key` in the name of a credential. A `key` alone is one in a query: in a body it names an entry. */
const OF_KEYS = new RegExp("^(api|app|application|access|account|admin|auth|client|consumer|encryption|functions|license|master|private|secret"
  + "|security|server|service|session|shared|signing|ssh|storage|subscription|vault)$");
const OF_TOKENS = /^(access|api|auth|bearer|id|refresh|secret|session)$/;
/** What stands before `token` in the name of no credential. */
const OF_PAGES = new RegExp("(page|paging|pagination|next|prev|previous|cursor|continuation|continue|sync|start|starting|end|resume|scroll|max|min"
  + "|eos|bos|pad|stop|idempotency)$");
const QUALIFIER = new RegExp("^(\\d+|confirm|confirmation|confirmed|again|repeat|repeated|new|old|current|value|hash|hashed|digest|plain|plaintext"
  + "|text|string|b64|base|encoded|encrypted|verify|header|v)$");
const OF_QUERIES = /^(key|sid|(php|j)?sess(ion)?id|session(id|key))$/;
const DESCRIBING = new Set(["type", "kind", "method", "scheme", "scope", "scopes", "provider", "algorithm", "name", "ref", "namespace"]);
const OVERRIDING = ["method", "override", "rewrite", "forwarded", "impersonate", "destination"];
const OVERRIDES = ["xhttpmethodoverride", "xhttpmethod", "xmethodoverride", "httpmethodoverride"];
const UNCLEAR = /\/{2}|[\u0000-\u001f\u007f\\;?#]|(^|\/)\.{1,2}(\/|$)/;

/** A text with its escapes undone once; those that are none stay. */
export const unescaped = (text: string): string =>
  text.replace(/(%[0-9a-f]{2})+/gi, (run) => new TextDecoder().decode(Uint8Array.from(run.slice(1).split("%"), (hex) => parseInt(hex, 16))));

function words(name: string): string[] {
  let plain = name;
  for (let round = 0; round < DECODINGS; round += 1) plain = unescaped(plain);
  const found = (plain.normalize("NFKC").split("\0")[0]!.match(WORDS) ?? []).map((word) => word.toLowerCase());
  while (found.length > 1 && QUALIFIER.test(found.at(-1)!)) found.pop();
  return found;
}

/** Whether a member of a body has the name of a credential. */
export function isSecretName(name: string): boolean {
  const found = words(name);
  const [last = "", before = ""] = [found.at(-1), found.at(-2)];
  if (SECRET.test(last) || SECRET.test(before + last) || JOINED.test(found.join(""))) return true;
  if (last.endsWith("token")) return !OF_PAGES.test(last === "token" ? before : last.slice(0, -5));
  if (last === "tokens") return OF_TOKENS.test(before);
  if (last === "id" && before === "key") return OF_KEYS.test(found.at(-3) ?? "");
  return last === "key" && OF_KEYS.test(before);
}

/** Names of credentials in the parts of a request. `usual` knows those of headers, and those that the caller lists. */
export class Guard {
  readonly #usual: (name: string) => boolean;
  readonly #listed: ReadonlySet<string>;

  constructor(usual: (name: string) => boolean, listed: readonly string[] = []) {
    this.#usual = usual;
    this.#listed = new Set(listed.map((name) => name.toLowerCase()));
  }

  isHeader(name: string): boolean {
    const found = words(name);
    if (this.#usual(name) || isSecretName(name)) return true;
    if (["auth", "session"].includes(found.at(-1) ?? "")) return true;
    return found.at(-1) === "key" && !["idempotency", "cache", "surrogate"].includes(found.at(-2) ?? "");
  }

  isParameter(name: string): boolean {
    const low = name.toLowerCase();
    return this.#usual(name) || low.startsWith("x-amz-") || low.startsWith("x-goog-") || OF_QUERIES.test(words(name).join("")) || isSecretName(name);
  }

  /** Why a correction is not sent, whoever agreed; an empty text if it does nothing of the kind. */
  problem(before: Written, after: Written): string {
    const [old, now] = [[...this.#leaves(before)], [...this.#leaves(after)]];
    const [kept, left] = [old, now].map((all) => all.filter((leaf) => leaf.secret).map(spelled).sort()) as [string[], string[]];
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
    const own = [...this.#leaves(step)];
    const secret = own.find((leaf) => leaf.secret);
    if (secret !== undefined) return `a request that has to come first sets a credential (/${secret.place.join("/")})`;
    if (overridesOf(step).length > 0) return "a request that has to come first has an override, which is another call than it shows";
    const copied = this.#copied([...this.#leaves(caller)].filter((leaf) => leaf.secret), own);
    return copied === "" ? "" : `a request that has to come first copies a credential to ${copied}`;
  }

  /** Return the values of credentials in the query and the body, which no text shows. */
  values(request: Written): string[] {
    return [...this.#leaves(request)].filter(({ secret, place, text }) => secret && place[0] !== "headers" && text.length >= SHORTEST).map(({ text }) => text);
  }

  #copied(before: Leaf[], after: Leaf[]): string {
    const values = new Set(before.filter((leaf) => leaf.secret).flatMap((leaf) => [...this.#parts(leaf)]).filter((one) => one.length >= SHORTEST_ALONE));
    const old = new Map(before.filter((leaf) => !leaf.secret).map(({ place, text }) => [place.join("\0"), text]));
    for (const { place, text, secret } of values.size > 0 ? after : []) {
      const was = old.get(place.join("\0"));
      if (secret || was === text) continue;
      for (const value of values) {
        const isThere = value.length < SHORTEST ? text === value && was !== value
          : text.split(value).length > (was ?? "").split(value).length || place.slice(1).some((name) => name.includes(value));
        if (isThere) return `/${place.join("/")}`;
      }
    }
    return "";
  }

  *#parts({ place, text }: Leaf): Generator<string> { // without the scheme; what Basic and cookies hold
    yield text;
    if (place[0] !== "headers") return;
    if (place[1] === "cookie") {
      for (const pair of text.split(";")) {
        const [name = "", ...rest] = pair.trim().split("=");
        const value = rest.join("=");
        if (this.isParameter(name) || value.length >= LONG) yield value; // `theme=default` is none
      }
      return;
    }
    const rest = text.replace(/^\S+\s+/, "").trim();
    yield rest;
    if (/^basic\s/i.test(text)) {
      try {
        const decoded = atob(rest);
        yield decoded;
        yield decoded.slice(decoded.indexOf(":") + 1);
      } catch { /* no Basic */ }
    }
  }

  *#leaves({ url, headers, body }: Written): Generator<Leaf> {
    const { pathname, searchParams } = new URL(url);
    yield { place: ["path"], text: unescaped(pathname), secret: this.#tells(unescaped(pathname)) };
    for (const [name, value] of headers) {
      const low = name.toLowerCase();
      yield { place: ["headers", low], text: value, secret: this.isHeader(low) || this.#tells(value) };
    }
    for (const [name, value] of searchParams) {
      yield { place: ["query", name], text: value, secret: [name, ...segments(name)].some((part) => this.isParameter(part)) || this.#tells(value) };
    }
    yield* this.#within(body, ["body"], false);
  }

  *#within(value: Json, place: string[], secret: boolean): Generator<Leaf> {
    if (isObject(value) && Object.keys(value).length > 0) {
      for (const name of Object.keys(value)) {
        const named = isSecretName(name) || this.#listed.has(name.toLowerCase());
        yield* this.#within(value[name]!, [...place, name], named || (secret && !DESCRIBING.has(name.toLowerCase())));
      }
    } else if (Array.isArray(value) && value.length > 0) {
      for (const [index, inner] of value.entries()) yield* this.#within(inner, [...place, String(index)], secret);
    } else if (typeof value === "string") yield { place, text: value, secret: secret || this.#tells(value) };
    else if (typeof value === "number" || typeof value === "bigint") yield { place, text: String(value), secret };
    else yield { place, text: "", secret: false }; // whether there is one is no credential
  }

  /** Whether a text holds a credential in a form of its own: a form, XML, JSON in text, an address with a password. */
  #tells(text: string): boolean {
    if (!/[=:>@]/.test(text)) return false;
    if (/:\/\/[^/@\s]{0,500}@/.test(text)) return true;
    for (const { 0: name, index } of text.matchAll(/[\p{L}\p{N}_.-]+/gu)) {
      const following = text.slice(index + name.length, index + name.length + 4).replace(/^["' \\]+/, "")[0];
      if (following !== undefined && "=:>".includes(following) && (this.#listed.has(name.toLowerCase()) || isSecretName(name))) return true;
    }
    return false;
  }
}

const spelled = ({ place, text }: Leaf): string => `/${place.join("/")}\n${text}`;

/** Whether a header has the request handled as another one: by method, path, host or caller. */
export function overridesHeader(name: string): boolean {
  const found = name.toLowerCase().split(/[-_.]/);
  return OVERRIDING.some((word) => found.includes(word)) || (found.includes("original") && ["url", "uri", "path", "host"].some((word) => found.includes(word)));
}

function overrides(name: string, isText: boolean): boolean {
  let plain = name;
  for (let round = 0; round < DECODINGS; round += 1) plain = unescaped(plain);
  plain = segments(plain.trim())[0]!.trim().toLowerCase();
  const letters = plain.replace(/[^a-z]/g, "");
  if (["method", "methodoverride", "httpmethod"].includes(letters) && !/^\p{L}/u.test(plain)) return true;
  return OVERRIDES.includes(letters) || (isText && ["httpmethod", "methodoverride"].includes(letters));
}

function overridesOf({ url, headers, body }: Written): string[] {
  const found = headers.filter(([name]) => overridesHeader(name)).map(([name, value]) => `${name.toLowerCase()}=${value}`);
  for (const [name, value] of new URL(url).searchParams) if (overrides(name, true)) found.push(`${name}=${value}`);
  for (const name of isObject(body) ? Object.keys(body) : []) if (overrides(name, false)) found.push(`${name}=${String((body as Record<string, Json>)[name])}`);
  return found.sort();
}

/** A path with its escapes undone never, once, and so on; empty if it is unclear what a server makes of it. */
function decodings(path: string): string[] {
  const found = [path];
  for (let round = 0; round < DECODINGS; round += 1) found.push(unescaped(found.at(-1)!).normalize("NFKC"));
  return unescaped(found.at(-1)!) !== found.at(-1) || found.some((one) => UNCLEAR.test(one)) ? [] : found;
}

const pattern = (template: string): RegExp =>
  new RegExp(`^${template.split(/\{[^{}/]+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("[^/]+")}$`);

/** Whether a call is one of the operations (`GET /v1/charges/{charge}`), however often its escapes are undone. */
export function isListed(operations: readonly string[], method: string, path: string): boolean {
  const templates = operations.filter((one) => one.startsWith(`${method} `)).map((one) => pattern(one.slice(method.length + 1)));
  const read = decodings(path);
  return read.length > 0 && read.every((one) => templates.some((template) => template.test(one)));
}

/** Whether two paths are spellings of one: escapes, and a slash at the end. */
export function samePlace(one: string, other: string): boolean {
  const plain = (path: string) => path.replace(/\/+$/, "").split("/").map(unescaped).join("\0");
  return plain(one) === plain(other);
}

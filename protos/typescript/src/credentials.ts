// The caller's credentials in a request: no correction reads, changes or shows them, however they are written.

import { seen } from "./explain.ts";

const ALWAYS = new Set(["authorization", "cookie", "proxy-authorization"]);
/** The usual names of credentials in headers and queries: `X-Shop-Api-Key`, `access_token`. */
const USUAL =
  /(^|[_.-])(api|access|auth|private|session|secret|security|csrf|xsrf|bearer|vault)[_-]?(key|token|secret)$|(^|[_.-])(apikey|authorization|passw(or)?d|secret)$/i;
const LISTED = ["x-amz-security-token", "x-goog-api-key"];
const HIDDEN = "(hidden)";
/** Characters of a value that is looked for in texts: a shorter one is part of other words. */
const SHORTEST = 6;
/** Characters of a cookie's value that identifies somebody, whatever its name. */
const LONG = 16;
/** Characters of a password, which is looked for as a word of its own where it is shorter than other values. */
const SHORTEST_PASSWORD = 3;
/** Where a text says that it was cut: the start of a credential may stand before it. */
const CUT = "... (cut";
const LEAST_PART = 4;
const BEFORE_CUT = 2048;
/** How often escapes are undone: JSON inside JSON inside JSON. */
const ROUNDS = 3;
const ESCAPE =
  /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|\\([nrt])|\\([^\w\s])|((?:%[0-9a-f]{2})+)|&#([0-9]{1,7});?|&#x([0-9a-f]{1,6});?|&(amp|lt|gt|quot|apos|sol|plus|equals|num|period|colon|lowbar|hyphen|commat);/gi;
const BROKEN_ESCAPE = /(?:\\(?:u[0-9a-f]{0,3}|x[0-9a-f]?)?|%[0-9a-f]?|&#?[0-9a-z]{0,8})$/i;
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", sol: "/", plus: "+", equals: "=", num: "#",
  period: ".", colon: ":", lowbar: "_", hyphen: "-", commat: "@" };

/** Names of credentials: the usual ones, and those that the caller lists. */
export class Credentials {
  #more: Set<string>;

  constructor(more: readonly string[] = []) {
    this.#more = new Set(more.map((name) => name.toLowerCase()));
  }

  /** Whether a header, or a parameter of the query, is one by its usual name, or listed. */
  has(name: string): boolean {
    const low = name.toLowerCase();
    return ALWAYS.has(low) || LISTED.includes(low) || this.#more.has(low) || USUAL.test(low);
  }

  /** Return a function that takes the values of a request's credentials out of a text. */
  hiding(request: Request, more: readonly string[] = []): (text: string) => string {
    const values = [...more];
    for (const [name, value] of request.headers) {
      if (name === "cookie") values.push(...this.#inCookies(value));
      else if (ALWAYS.has(name)) values.push(value.replace(/^\S+\s+/, "").trim()); // the scheme is no secret
      else if (this.has(name)) values.push(value.trim());
    }
    for (const [name, value] of new URL(request.url).searchParams) if (this.has(name)) values.push(value);
    const basic = /^basic\s+(\S+)/i.exec(request.headers.get("authorization") ?? "")?.[1];
    const url = new URL(request.url);
    const userInfo = [decoded(basic ?? ""), `${url.username}:${url.password}`, percent(`${url.username}:${url.password}`)];
    const passwords = userInfo.map((one) => one.slice(one.indexOf(":") + 1)).filter((one) => one.length >= SHORTEST_PASSWORD);
    values.push(...userInfo.flatMap((one) => [one, one.split(":")[0]!]));
    const written = spellings([...values.filter((value) => value.length >= SHORTEST), ...passwords]);
    return (text) => (written.length === 0 ? text : without(written, text));
  }

  #inCookies(cookies: string): string[] {
    return cookies.split(";").flatMap((pair) => {
      const [name = "", ...rest] = pair.split("=");
      const value = rest.join("=").trim();
      return this.has(name.trim()) || value.length >= LONG ? [value] : []; // `theme=default` is none
    });
  }
}

/** A text as somebody reads it, and where each of its UTF-16 units comes from. */
interface View {
  text: string;
  starts: number[];
  ends: number[];
}

function without(written: string[], text: string): string {
  const spans: [number, number][] = [];
  for (const view of views(text)) spans.push(...found(view, written));
  spans.sort(([one, first], [other, second]) => one - other || first - second);
  let [out, at] = ["", 0];
  for (const [start, end] of spans) {
    if (end <= at) continue;
    if (start >= at) out += text.slice(at, start) + HIDDEN;
    at = end;
  }
  return out + text.slice(at);
}

/** The text as it is, and with its escapes undone once, twice, and so on. */
function* views(text: string): Generator<View> {
  let view: View = { text, starts: [...Array(text.length).keys()], ends: [...Array(text.length).keys()].map((at) => at + 1) };
  yield view;
  for (let round = 0; round < ROUNDS; round += 1) {
    const next: View = { text: "", starts: [], ends: [] };
    let at = 0;
    const keep = (until: number): void => {
      next.text += view.text.slice(at, until);
      for (; at < until; at += 1) {
        next.starts.push(view.starts[at]!);
        next.ends.push(view.ends[at]!);
      }
    };
    for (const match of view.text.matchAll(ESCAPE)) {
      keep(match.index);
      const plain = unescaped(match);
      at += match[0].length;
      next.text += plain;
      for (let unit = 0; unit < plain.length; unit += 1) {
        next.starts.push(view.starts[match.index]!);
        next.ends.push(view.ends[at - 1]!);
      }
    }
    if (at === 0) return;
    keep(view.text.length);
    view = next;
    yield view;
  }
}

function unescaped([, point, unit, byte, control, escaped, run, decimal, hex, name]: RegExpExecArray): string {
  if (control !== undefined) return "\n";
  if (escaped !== undefined) return escaped;
  if (run !== undefined) return percent(run);
  if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? "";
  const code = decimal !== undefined ? Number(decimal) : parseInt(point ?? unit ?? byte ?? hex ?? "0", 16);
  return code < 0x110000 ? String.fromCodePoint(code) : "";
}

const percent = (text: string): string =>
  text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (run) => new TextDecoder().decode(Uint8Array.from(run.slice(1).split("%"), (hex) => parseInt(hex, 16))));

function decoded(base64: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (one) => one.charCodeAt(0)));
  } catch {
    return "";
  }
}

function* found(view: View, written: string[]): Generator<[number, number]> {
  yield* spansOf(only(view, (one) => seen(one) !== ""), written);
  const long = written.filter((one) => one.length >= LONG);
  if (long.length > 0 && /\s/.test(view.text)) yield* spansOf(only(view, (one) => seen(one) !== "" && one.trim() !== ""), long);
}

/** A view of only those characters. */
function only(view: View, keeps: (one: string) => boolean): View {
  const left = new Set([...new Set(view.text)].filter((one) => !keeps(one)));
  if (left.size === 0) return view;
  const out: View = { text: "", starts: [], ends: [] };
  let at = 0;
  for (const one of view.text) {
    if (!left.has(one)) {
      out.text += one;
      out.starts.push(...view.starts.slice(at, at + one.length));
      out.ends.push(...view.ends.slice(at, at + one.length));
    }
    at += one.length;
  }
  return out;
}

const isWord = (one: string | undefined): boolean => one !== undefined && /[\p{L}\p{N}]/u.test(one);

function* spansOf({ text, starts, ends }: View, written: string[]): Generator<[number, number]> {
  const low = lower(text);
  for (const spelling of written) {
    for (let start = low.indexOf(spelling); start >= 0; start = low.indexOf(spelling, start + spelling.length)) {
      const end = start + spelling.length;
      if (spelling.length >= SHORTEST || !(isWord(low[start - 1]) || isWord(low[end]))) yield [starts[start]!, ends[end - 1]!];
    }
  }
  for (let cut = low.indexOf(CUT); cut >= 0; cut = low.indexOf(CUT, cut + 1)) {
    const from = Math.max(0, cut - BEFORE_CUT);
    const whole = low.slice(from, cut);
    const left = whole.replace(BROKEN_ESCAPE, "");
    for (const before of new Set([whole, left, left.slice(0, -1)])) for (const spelling of written) {
      let size = Math.min(spelling.length - 1, before.length);
      while (size >= LEAST_PART && !before.endsWith(spelling.slice(0, size))) size -= 1;
      if (size >= LEAST_PART) yield [starts[from + before.length - size]!, ends[cut - 1]!];
    }
  }
}

const lower = (text: string): string => text.replaceAll(/[A-Z]+/g, (run) => run.toLowerCase());

/** How values are written, in lower case: themselves, in hexadecimal, in base64 at each of three places. */
function spellings(values: string[]): string[] {
  const written = new Set(values);
  for (const value of values) {
    const data = [...new TextEncoder().encode(value)];
    if (data.length < SHORTEST) continue;
    written.add(data.map((byte) => byte.toString(16).padStart(2, "0")).join("")).add(value.replaceAll(" ", "+"));
    for (const shift of [0, 1, 2]) {
      const encoded = btoa(String.fromCharCode(...Array<number>(shift).fill(0), ...data));
      // Characters that hold bits of what stands before or after say nothing for certain.
      const sure = encoded.slice(Math.floor((shift * 8 + 5) / 6), Math.floor(((shift + data.length) * 8) / 6));
      written.add(sure).add(sure.replaceAll("+", "-").replaceAll("/", "_"));
    }
  }
  return [...written].map(lower).filter((one) => one !== "").sort((one, other) => other.length - one.length);
}

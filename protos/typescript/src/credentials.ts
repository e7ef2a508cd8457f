// Values of credentials in texts, however they are written: escaped, in base64 or hexadecimal, between what nobody sees.

import { unescaped } from "./form.ts";
import { seen } from "./json.ts";

const HIDDEN = "(hidden)";
/** Characters of a value that is looked for in texts: a shorter one is part of other words. */
export const SHORTEST = 6;
/** Characters of a value that identifies somebody, whatever its name; of one that spaces may break. */
export const LONG = 16;
/** Of a value that is looked for whole: of a longer one, the start is. */
const LONGEST = 8192;
/** Where a text says that it was cut: the start of a credential may stand before it. */
const CUT = "... (cut";
const LEAST_PART = 4;
const BEFORE_CUT = 2048;
/** How often escapes are undone: JSON inside JSON inside JSON. */
const ROUNDS = 3;
const ESCAPE = new RegExp(String.raw`\\u\{([0-9A-Fa-f]{1,6})\}|\\U([0-9A-Fa-f]{8})|[\\%]u([0-9A-Fa-f]{4})|\\x([0-9A-Fa-f]{2})|\\([0-7]{1,3})|\\([nrt])`
  + String.raw`|\\([^\w\s])|((?:%[0-9A-Fa-f]{2})+)|&#([0-9]{1,7});?|&#[xX]([0-9A-Fa-f]{1,6});?|&([A-Za-z]{2,16});`, "g");
/** Of mail (RFC 2045): in other texts it is a value after a name, so that it is a reading of its own. */
const QUOTED = /=\r?\n|=([0-9a-f]{2})/gi;
const BROKEN_ESCAPE = /(?:\\(?:u[0-9a-f]{0,7}|x[0-9a-f]?|[0-7]{0,2})?|%[0-9a-f]?|&#?[0-9a-z]{0,8})$/i;
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", sol: "/", plus: "+", equals: "=", num: "#",
  period: ".", colon: ":", lowbar: "_", underbar: "_", hyphen: "-", dash: "-", commat: "@", tab: "", newline: "", nbsp: " ", shy: "", zwj: "", zwnj: "",
  zerowidthspace: "", excl: "!", dollar: "$", percnt: "%", lpar: "(", rpar: ")", ast: "*", midast: "*", comma: ",", semi: ";", quest: "?", lsqb: "[",
  lbrack: "[", rsqb: "]", rbrack: "]", bsol: "\\", hat: "^", grave: "`", lcub: "{", lbrace: "{", rcub: "}", rbrace: "}", verbar: "|", vert: "|" };

/** A text as somebody reads it, and where each of its UTF-16 units comes from. */
interface View {
  text: string;
  starts: number[];
  ends: number[];
}

/** Return a function that says where a text has one of the values, in order and apart. */
export function finder(values: readonly string[]): (text: string) => [number, number][] {
  const written = spellings(values);
  return (text) => {
    if (written.length === 0 || text === "") return [];
    const all: [number, number][] = [];
    for (const view of views(text)) all.push(...found(view, written));
    all.sort(([one, first], [other, second]) => one - other || first - second);
    const apart: [number, number][] = [];
    for (const [start, end] of all) {
      const last = apart.at(-1);
      if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end);
      else apart.push([start, end]);
    }
    return apart;
  };
}

/** Return a function that takes values out of a text. */
export function hiding(values: readonly string[]): (text: string) => string {
  const find = finder(values);
  return (text) => {
    let [out, at] = ["", 0];
    for (const [start, end] of find(text)) {
      out += text.slice(at, start) + HIDDEN;
      at = end;
    }
    return out + text.slice(at);
  };
}

/** A text, and how it reads with its escapes undone once, twice, and so on, without what nobody sees. The last one is the plainest. */
export function readings(text: string): string[] {
  const all = [text];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const next = seen(all.at(-1)!.replaceAll(ESCAPE, unescape).normalize("NFKC"));
    if (next === all.at(-1)) break;
    all.push(next);
  }
  return all;
}

/** The text as it is, and with its escapes undone once, twice, and so on. */
function* views(text: string): Generator<View> {
  const first: View = { text, starts: [...Array(text.length).keys()], ends: [...Array(text.length).keys()].map((at) => at + 1) };
  yield first;
  for (const escape of [ESCAPE, QUOTED]) {
    let view = first;
    for (let round = 0; round < ROUNDS; round += 1) {
      const next = rewritten(view, escape, escape === ESCAPE ? unescape : (_, byte?: string) => (byte === undefined ? "" : unescaped(`%${byte}`)));
      if (next === view) break;
      view = next;
      yield view;
    }
  }
}

function rewritten(view: View, pattern: RegExp, replaced: (...match: string[]) => string): View {
  const next: View = { text: "", starts: [], ends: [] };
  let at = 0;
  const keep = (until: number): void => {
    next.text += view.text.slice(at, until);
    for (; at < until; at += 1) {
      next.starts.push(view.starts[at]!);
      next.ends.push(view.ends[at]!);
    }
  };
  for (const match of view.text.matchAll(pattern)) {
    keep(match.index);
    const plain = replaced(...match);
    at += match[0].length;
    next.text += plain;
    for (let unit = 0; unit < plain.length; unit += 1) {
      next.starts.push(view.starts[match.index]!);
      next.ends.push(view.ends[at - 1]!);
    }
  }
  if (at === 0) return view;
  keep(view.text.length);
  return next;
}

function unescape(...[whole, point, long, unit, byte, octal, control, escaped, run, decimal, hex, name]: string[]): string {
  if (control !== undefined) return "\n";
  if (escaped !== undefined) return escaped;
  if (run !== undefined) return unescaped(run);
  if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole!;
  if (octal !== undefined) return String.fromCodePoint(parseInt(octal, 8));
  const code = decimal !== undefined ? Number(decimal) : parseInt(point ?? long ?? unit ?? byte ?? hex ?? "0", 16);
  return code < 0x110000 ? String.fromCodePoint(code) : "";
}

function* found(view: View, written: string[]): Generator<[number, number]> {
  const folded = rewritten(view, /[^\n\u0020-\u007e]/gu, (one) => seen(one!.normalize("NFKC")));
  yield* spansOf(folded, written);
  const long = written.filter((one) => one.length >= LONG);
  if (long.length > 0 && /\s/.test(folded.text)) yield* spansOf(rewritten(folded, /\s/g, () => ""), long);
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
    for (const before of new Set([whole, left, left.slice(0, -1)])) {
      const tail = before.slice(-LEAST_PART);
      for (const spelling of written.filter((one) => one.includes(tail))) {
        let size = Math.min(spelling.length - 1, before.length);
        while (size >= LEAST_PART && !before.endsWith(spelling.slice(0, size))) size -= 1;
        if (size >= LEAST_PART) yield [starts[from + before.length - size]!, ends[cut - 1]!];
      }
    }
  }
}

const lower = (text: string): string => text.replaceAll(/[A-Z]+/g, (run) => run.toLowerCase());

/** How values are written, in lower case: themselves, in hexadecimal, in base64 at each of three places. */
function spellings(values: readonly string[]): string[] {
  const starts = values.map((value) => value.slice(0, LONGEST));
  const written = new Set(starts);
  for (const value of starts) {
    const data = [...new TextEncoder().encode(value)];
    if (data.length < SHORTEST) continue;
    const hex = data.map((byte) => byte.toString(16).padStart(2, "0"));
    written.add(hex.join("")).add(hex.join(":")).add(value.replaceAll(" ", "+"));
    for (const shift of [0, 1, 2]) {
      const encoded = btoa(String.fromCharCode(...Array<number>(shift).fill(0), ...data));
      // Characters that hold bits of what stands before or after say nothing for certain.
      const sure = encoded.slice(Math.floor((shift * 8 + 5) / 6), Math.floor(((shift + data.length) * 8) / 6));
      written.add(sure).add(sure.replaceAll("+", "-").replaceAll("/", "_"));
    }
  }
  return [...written].map(lower).filter((one) => one !== "").sort((one, other) => other.length - one.length);
}

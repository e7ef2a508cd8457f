// A `fetch` that reads feedback, and sends corrected requests where its policy allows that.

import { apply } from "./apply.ts";
import type { Next, Outcome } from "./apply.ts";
import { hiding } from "./credentials.ts";
import type { Request as Document } from "./form.ts";
import { explain, proposed } from "./explain.ts";
import { find } from "./find.ts";
import { byName, formPairs, nested, queryPairs } from "./form.ts";
import { Guard, anotherContent, hasDots, isListed, isPlain, samePlace, withoutSlash } from "./guard.ts";
import type { Written } from "./guard.ts";
import { bare, isObject, parseJson, writeJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { readFeedback } from "./read.ts";
import type { Feedback, Suggestion } from "./read.ts";

type Fetch = typeof globalThis.fetch;

const MOST_STEPS = 16;
const SAFE = ["GET", "HEAD", "OPTIONS"];
const DOCUMENT = /^\/\.well-known\/recovery-feedback\/[A-Za-z0-9_=-]{1,200}$/;
/** Characters that a person can be shown on a screen. */
const LONGEST_PROPOSAL = 8 << 10;
/** Of an answer or a document, in bytes, unpacked: no proxy adds feedback to a larger one. */
const LONGEST = 1 << 20;
const MOST_SUGGESTIONS = 64;
/** Edits, steps and placeholders of all suggestions together. */
const MOST_PARTS = 1000;
/** Only the sender can change a request that is signed, or a body that has a checksum. */
const SIGNATURES = /(^|[-_])(signatures?|sig|hmac|jws|dpop|signature-input)([-_]|$)|signature$|[-_](sign|mac)$/i;
const CHECKSUMS = /(^|[-_])(checksum|crc32c?|digest|hash|md5|sha-?\d+)([-_]|$)/i;
const SIGNING = /^[^\s:]*(acs\d|aws|digest|dpop|eg1|goog\d|hawk|hmac|sha-?\d|sharedkey|sign|tc3)|^mac\s/i;
const PLAIN = /^(basic|bearer|\S*(key|token))\s/i;
const SIGNED = /[\s,&][\w.-]*(signature|sig|mac)\s*=|^(\S+\s+)?[\w.-]+:([\w+/-]{20,}={1,2}|([0-9a-f]{8}){4,16})$/i;
const SIGNED_NAME = /(^|[-_])(signature|sig|hmac|jws)$|signature$/i;
const UNREAD = /^(multipart\/|(application|text)\/(x-)?yaml|application\/apply-patch\+yaml)/i;
const CHARSET = /;\s*charset\s*=\s*["']?(?!(utf-?8|us-ascii)\b)/i;
const MEDIA = /^([\w.+-]+\/[\w.+-]+\s*(;[^,]*)?)?$/;
/** Media types in which a body that is no text is read: a correction names no other one. */
const READ = /^(|[\w.-]+\/([\w.-]+[+-])?json([+-][\w.-]+)?|application\/x-www-form-urlencoded)\s*(;|$)/i;
const FORM = "application/x-www-form-urlencoded";
const isForm = (media: string): boolean => media.split(";")[0]!.trim().toLowerCase() === FORM;

export interface Policy {
  /**
   * explain: nothing is sent again. repair: what is proved to work and changes nothing of the wish is sent. confirm: as repair, and
   * `confirm` is asked about the rest.
   */
  onRefusal?: "explain" | "repair" | "confirm";
  /**
   * Asked before anything is sent that is not sure, changes the intent or loses a value. `text` explains the whole, and shows the call that
   * would be sent: method, path, and what changes.
   */
  confirm?: (suggestion: Suggestion, text: string) => boolean | Promise<boolean>;
  /** How often one call is corrected at most. */
  maxCorrections?: number;
  /** The longest wait in seconds: a call that would have to wait longer is not sent again. */
  maxWait?: number;
  /** The least sure applicability that is sent unasked. MAYBE_INCORRECT is a deliberate choice. */
  cap?: "MACHINE_APPLICABLE" | "MAYBE_INCORRECT";
  /**
   * What may be sent instead of the operation that was called, or before it: `GET /v1/charges/{charge}`, with the whole path. By default, any.
   * It allows nothing unasked that is a write.
   */
  operations?: readonly string[];
  /**
   * Names of headers, of parameters of the query and of members of bodies that no correction changes, and whose values no text shows, besides
   * the usual ones (`Authorization`, `X-Api-Key`, `password`).
   */
  credentials?: readonly string[];
}

/** A policy, and what it knows of credentials. */
interface Settled {
  onRefusal: Policy["onRefusal"];
  confirm: Policy["confirm"];
  cap: string;
  operations: readonly string[] | undefined;
  guard: Guard;
}

/** The document of a request, and whether it can be written again: else it is only explained. */
interface Read {
  document: Document;
  editable: boolean;
}

/** What a refused answer says about the next request. */
export interface Recovery {
  feedback: Feedback;
  outcome: Outcome;
  /** A short text for a model or a person. */
  text: string;
}

export type CorrectedResponse = Response & { recovery?: Recovery };

/** Return a `fetch` like the given one. A refused answer that is not corrected has `recovery`. */
export function correcting(
  fetch: Fetch = globalThis.fetch,
  { onRefusal = "explain", confirm, maxCorrections = 2, maxWait = 60, credentials, cap = "MACHINE_APPLICABLE", operations }: Policy = {},
): (input: string | URL | Request, init?: RequestInit) => Promise<CorrectedResponse> {
  const guard = new Guard(credentials);
  const policy: Settled = { onRefusal, confirm, cap, operations, guard };
  return async (input, init) => {
    let sending = new Request(input, init);
    const kept = init?.body instanceof ReadableStream ? undefined : sending.clone();
    let response: CorrectedResponse = await fetch(sending);
    if (kept === undefined || response.status < 400) return response;
    const read = await attempt(() => documentOf(kept, guard));
    let document = read?.document;
    const shown = await attempt(() => hiding(guard.values(written(sending, document?.body ?? null))));
    if (shown === undefined) return response;
    for (let corrections = 0; document !== undefined && response.status >= 400; corrections += 1) {
      if (response.redirected && new URL(response.url).origin !== new URL(sending.url).origin) break; // another host does not correct this one
      const recovery = await recoveryOf(response, document, sending, fetch, shown, onRefusal === "repair" ? cap : "MAYBE_INCORRECT");
      if (recovery === undefined) break;
      response.recovery = recovery;
      const stop = (reason: string): void => {
        if (onRefusal !== "explain" && reason !== "") recovery.text += `\nNot sent: ${shown(reason)}.`;
      };
      const most = Math.min(maxCorrections, (recovery.feedback.maxAttempts ?? Infinity) - 1);
      const prefix = withoutSlash(response.headers.get("recovery-feedback-prefix") ?? "");
      const toSend = await decided(recovery, read!, document, sending, { ...policy, prefix }, shown);
      if (typeof toSend === "string") { stop(toSend); break; }
      const { next, requests } = toSend;
      if (corrections >= most) { stop(`it has been sent again ${corrections} times`); break; }
      if (Number(next.waitSeconds) > maxWait) { stop(`a wait of ${next.waitSeconds} s is longer than the ${maxWait} s that are allowed`); break; }
      await new Promise((resolve) => setTimeout(resolve, Number(next.waitSeconds) * 1000));
      if (!(await sendSteps(requests.slice(0, -1), fetch))) { stop("what has to come first was refused"); break; }
      document = toSend.document;
      sending = requests.at(-1)!;
      response = await fetch(sending.clone());
    }
    return response;
  };
}

/** What is to be sent: the correction, as documents and as requests. */
interface Decided {
  next: Next;
  document: Document;
  requests: Request[];
}

/** Return what to send, or why nothing is sent: an empty text where the explanation says it. */
async function decided(
  { feedback, text }: Recovery, read: Read, document: Document, sending: Request, policy: Settled & { prefix: string }, shown: (text: string) => string,
): Promise<Decided | string> {
  const { onRefusal, confirm, cap, operations } = policy;
  if (onRefusal === "explain") return "";
  const [only] = feedback.suggestions;
  const isOnlyChoice = feedback.type === "intent_disambiguation" && feedback.suggestions.length === 1 && only!.confirm && only!.placeholders.length === 0;
  const wanted = apply(feedback, document, isOnlyChoice ? { confirm: true, pick: 0 } : { confirm: true }); // of one, somebody agrees or not
  if (wanted.kind === "terminal") return "";
  if (wanted.kind === "needs_input") return missing(wanted.placeholders.length > 0, feedback);
  if (feedback.suggestions.some(isPending) && wanted.applied.some((index) => !feedback.suggestions[index]!.group)) return missing(true, feedback);
  const sure = apply(feedback, document, { cap, confirm: true });
  const groups = (one: Next): string => JSON.stringify(one.applied.map((index) => feedback.suggestions[index]!.group ?? null));
  const next = sure.kind === "next" && groups(sure) === groups(wanted) ? sure : wanted;
  const byItself = sure.kind === "next" ? sure.applied : [];
  for (const one of [...next.steps, next.request]) {
    const isCalled = one.method === document.method && one.path === document.path;
    if (operations !== undefined && !isCalled && !isListed(operations, one.method, one.path)) {
      return `${one.method} ${one.path} is none of the operations that may be called here`;
    }
  }
  const outside = isBelow(document.path, policy.prefix) ? [...next.steps, next.request].find((one) => !isBelow(one.path, policy.prefix)) : undefined;
  if (outside !== undefined) return `${outside.method} ${outside.path} is not below ${policy.prefix}, where the API is that refused the request`;
  if (!read.editable) return "the request is signed, or its body is not edited";
  const hasChecksum = Object.keys(document.headers).some((name) => CHECKSUMS.test(name));
  if (hasChecksum && writeJson(next.request.body) !== writeJson(document.body)) return "the body has a checksum, so that only its sender can change it";
  if (next.steps.length > MOST_STEPS) return `${next.steps.length} requests have to come first, more than ${MOST_STEPS}`;
  const corrected = { ...withKey(next, document), form: isForm(String(next.request.headers["content-type"] ?? "")) };
  const called = sending.headers.get("content-type") ?? "";
  const steps = next.steps.map((step) => ({ ...step, form: isObject(step.body) && isForm(String(step.headers["content-type"] ?? called)) }));
  const requests = await attempt(() => [...steps, corrected].map((one) => requestOf(one, document, sending, policy.guard, one !== corrected)));
  const last = requests?.at(-1);
  if (requests === undefined || last === undefined) return "the corrected request cannot be sent as it should be";
  const problem = await attempt(() => problemOf(corrected, steps, last, document, sending, policy.guard));
  if (problem !== "") return problem ?? "the corrected request cannot be sent as it should be";
  const repeats = next.steps.length === 0 && writeJson(content(next.request)) === writeJson(content(document));
  if (repeats && !mayRepeat(feedback, document)) {
    const waits = next.applied.every((index) => feedback.suggestions[index]!.kind === "wait_and_retry");
    return waits ? "it is not known whether the same request may be sent again" : "the correction has no edit of the request: somebody has to do what it says";
  }
  const another = await attempt(() => anotherCall(next, document, operations));
  if (another === undefined) return "the corrected request cannot be sent as it should be";
  for (const index of next.applied) {
    const suggestion = feedback.suggestions[index]!;
    if ((byItself.includes(index) || onlyWaits(suggestion, feedback)) && !suggestion.confirm && another === "") continue;
    if (onRefusal !== "confirm" || confirm === undefined) return another || unasked(suggestion, cap);
    const proposal = proposed(next, document);
    if ("problem" in proposal) return proposal.problem;
    if (shown(proposal.text) !== proposal.text) return "the correction has a text that is hidden as a credential, so that nobody could see what it changes";
    const whole = `${text}\n${proposal.text}`;
    if (whole.length > LONGEST_PROPOSAL) return `the correction takes ${whole.length} characters to show, more than the ${LONGEST_PROPOSAL} of a screen`;
    if (!(await confirm(suggestion, whole))) return "the correction was not confirmed";
  }
  return { next, document: corrected, requests };
}

/** Why it is not sent, whoever agreed: what would be sent is read as the request before it. */
async function problemOf(corrected: Document, steps: Document[], last: Request, document: Document, sending: Request, guard: Guard): Promise<string> {
  const before = written(sending, document.body);
  const first = steps.map((step) => guard.stepProblem(alone(step, sending), before)).find((one) => one !== "");
  if (first !== undefined) return first;
  const [was, media] = [document, corrected].map(({ headers }) => String(headers["content-type"] ?? "")) as [string, string];
  const isText = typeof document.body === "string";
  const isSameText = isText && corrected.body === document.body; // in whatever format
  if (media !== was && document.body !== null) {
    const isRead = isSameText || (isText ? !UNREAD.test(media) : READ.test(media) && (media !== "" || !isForm(was)));
    if (!isRead || !MEDIA.test(media) || CHARSET.test(media)) return "the correction names a media type in which the body is not read";
  }
  const body = reading(await last.clone().text(), media) ?? (isSameText ? document.body : null);
  const headers = [...Object.entries(corrected.headers) as [string, string][], ...[...sending.headers].filter(([name]) => guard.isKept(name))];
  return guard.problem(before, { url: last.url, headers, body, form: isForm(media) });
}

const isBelow = (path: string, prefix: string): boolean => `${path}/`.startsWith(`${prefix}/`);

/** Which condition of the policy is missing, and what would meet it. */
function unasked(suggestion: Suggestion, cap: string): string {
  if (suggestion.confirm) {
    const reason = suggestion.changesIntent ? "it changes what was asked for" : suggestion.loses.length > 0 ? "it loses a value" : "it requires a confirmation";
    return `the user has to agree first, since ${reason}: \`onRefusal: "confirm"\` asks, no \`cap\` sends it unasked`;
  }
  const ways = '`cap: "MAYBE_INCORRECT"` or `onRefusal: "confirm"` would send it';
  const is = suggestion.applicability.toUpperCase();
  if (is === "MACHINE_APPLICABLE") {
    return "it is not proven that the corrected request will be accepted: the correction is called MACHINE_APPLICABLE, and counts as "
      + `MAYBE_INCORRECT without a dry run or a look-up; ${ways}`;
  }
  return `the correction is not certain enough to send it unasked: cap is ${cap}, the correction is ${is}; ${ways}`;
}

/** Why a person has to agree to what is another call. Unasked, the only write that is sent is the one that was called. */
function anotherCall(next: Next, before: Document, operations: readonly string[] | undefined): string {
  const { request, steps } = next;
  const named = `${request.method} ${request.path} instead of ${before.method} ${before.path}: \`onRefusal: "confirm"\` asks`;
  if (request.method !== before.method) return `it is another call, ${named}`;
  if (!SAFE.includes(request.method) && !samePlace(request.path, before.path)) return `it is another write, ${named}`;
  for (const step of steps) if (!SAFE.includes(step.method)) return `a write has to come first, ${step.method} ${step.path}: \`onRefusal: "confirm"\` asks`;
  const content = anotherContent(before, withKey(next, before, before.headers[KEY]));
  if (content !== "") return `${content}: \`onRefusal: "confirm"\` asks`;
  const step = steps.find((one) => !isPlain(one));
  if (step !== undefined) return `${step.method} ${step.path} has to come first, which may be more than a read: \`onRefusal: "confirm"\` asks`;
  const beginning = (path: string) => /^\/([^/]*)\/./.exec(path)?.[1] ?? ""; // behind one proxy each API has one of its own
  const other = operations === undefined ? [request, ...steps].find((one) => beginning(one.path) !== beginning(before.path)) : undefined;
  return other === undefined ? "" : `${other.method} ${other.path} is at another beginning than ${before.path}, and may be another API: `
    + '`operations: [...]` allows it, `onRefusal: "confirm"` asks';
}

/** Whether it waits for a value, and is no alternative to another suggestion. */
const isPending = ({ placeholders, group }: Suggestion): boolean => placeholders.length > 0 && group?.relation !== "one_of";

function missing(value: boolean, { type }: Feedback): string {
  if (type === "confidence_signal") return "nothing has to be corrected";
  if (type === "intent_disambiguation") return "somebody has to choose first";
  return value ? "a value is missing, which has to be given first" : "no correction fits this request";
}

/** Whether it is the same request later, and that is known to be safe. */
function onlyWaits(suggestion: Suggestion, { sameRequest }: Feedback): boolean {
  const isWait = suggestion.kind === "wait_and_retry" && suggestion.patch.length === 0 && suggestion.steps.length === 0;
  return !suggestion.confirm && isWait && sameRequest === true;
}

/** Whether the same content may be sent again: it is safe, the feedback says so, or the key changes. */
function mayRepeat({ sameRequest, key }: Feedback, { method, headers }: Document): boolean {
  return SAFE.includes(method) || sameRequest === true || (key === "new" && headers["idempotency-key"] !== undefined);
}

const content = ({ method, path, query, headers, body }: Document): JsonObject => ({ method, path, query, headers, body });

/** What a refused answer says; undefined without feedback that can be read. The body of the answer stays unread. */
async function recoveryOf(response: Response, document: Document, sent: Request, fetch: Fetch, shown: (text: string) => string, cap: string): Promise<Recovery | undefined> {
  return attempt(async () => {
    const feedback = (await inBody(response)) ?? (await linked(response, sent, fetch));
    if (feedback === undefined || !isBounded(feedback)) return undefined;
    return { feedback, outcome: apply(feedback, document, { cap }), text: shown(explain(feedback, document)) };
  });
}

/** What cannot be read or made, for whatever reason, is no reason to fail: the caller gets the answer as it is. */
async function attempt<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch {
    return undefined;
  }
}

async function inBody(response: Response): Promise<Feedback | undefined> {
  if (!(response.headers.get("content-type") ?? "").includes("json")) return undefined;
  const text = await textOf(response.clone());
  return text === undefined ? undefined : find(parseJson(text), response.status);
}

/** The text of an answer, which is unpacked as it is read; undefined, and no more of it is read, if it is longer than the limit. */
async function textOf(response: Response): Promise<string | undefined> {
  const [parts, decoder] = [[] as string[], new TextDecoder()];
  const reader = response.body?.getReader();
  for (let size = 0; reader !== undefined; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.byteLength;
    if (size > LONGEST) {
      void reader.cancel().catch(() => undefined); // of a clone: the caller's own answer goes on
      return undefined;
    }
    parts.push(decoder.decode(value, { stream: true }));
  }
  return parts.join("") + decoder.decode();
}

/** Whether there are few enough parts to be worked on. */
function isBounded({ suggestions }: Feedback): boolean {
  const parts = suggestions.reduce((sum, { patch, steps, placeholders }) => sum + patch.length + steps.length + placeholders.length, 0);
  return suggestions.length <= MOST_SUGGESTIONS && parts <= MOST_PARTS;
}

/** The document that a `Link` points to (RFC 8288), if a proxy keeps it where the request went. The link's token is all that it needs. */
async function linked(response: Response, sent: Request, fetch: Fetch): Promise<Feedback | undefined> {
  const [, target, parameters = ""] = /<([^<>]*)>\s*(;[^,]*\brel="?recovery-feedback"?[^,]*)/.exec(response.headers.get("link") ?? "") ?? [];
  if (target === undefined) return undefined;
  const url = new URL(target, sent.url);
  if (url.origin !== new URL(sent.url).origin || !DOCUMENT.test(url.pathname) || url.search !== "") return undefined;
  const token = /;\s*token="?([\w=-]{1,200})/.exec(parameters)?.[1];
  const headers = { accept: "application/json", ...(token !== undefined && { "recovery-feedback-token": token }) };
  const answer = await fetch(`${url.origin}${url.pathname}`, { headers, redirect: "error", credentials: "omit" });
  const text = answer.ok ? await textOf(answer) : undefined;
  return text ? readFeedback(parseJson(text)) : undefined;
}

async function documentOf(request: Request, guard: Guard): Promise<Read> {
  const url = new URL(request.url);
  const headers = bare(Object.fromEntries([...request.headers].filter(([name]) => !guard.isKept(name))));
  const media = request.headers.get("content-type") ?? "";
  const bytes = await request.arrayBuffer();
  const coded = !["", "identity"].includes(request.headers.get("content-encoding") ?? "");
  const text = coded ? undefined : await attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  const body = text === undefined ? undefined : reading(text, media);
  const form = isForm(media);
  const isWhole = !form || [...formPairs(body ?? null)].length === [...new URLSearchParams(text)].length; // no name was sent twice
  const editable = !isSigned(request, body) && isWhole && text !== undefined && body !== undefined && (form || typeof body === "string" || isExact(text, body));
  return { document: { method: request.method, path: url.pathname, query: byName(url.searchParams), headers, body: body ?? null, form }, editable };
}

/** What the text of a body says in a media type; undefined if it is not read. */
function reading(text: string, media: string): Json | undefined {
  if (UNREAD.test(media) || CHARSET.test(media)) return undefined;
  return text === "" ? null : isForm(media) ? nested(new URLSearchParams(text)) : jsonOrText(text);
}

function isSigned({ url, headers }: Request, body: Json | undefined): boolean {
  const authorization = headers.get("authorization") ?? "";
  const isNamed = (name: string, value: unknown): boolean =>
    typeof value === "string" && (SIGNED_NAME.test(name) || (/^sign$/i.test(name) && value.length >= 16));
  return [...headers.keys()].some((name) => SIGNATURES.test(name) && !name.startsWith("accept"))
    || [...new URL(url).searchParams].some(([name, value]) => isNamed(name, value))
    || SIGNING.test(authorization) || (!PLAIN.test(authorization) && SIGNED.test(authorization))
    || (isObject(body) && Object.keys(body).some((name) => isNamed(name, body[name]) && /^[\w+/=-]{24,}$/.test(body[name] as string)));
}

/** Whether JSON says the same if it is read and written again: no number loses digits, no object has two members of one name. */
function isExact(text: string, body: Json): boolean {
  const bones = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const numbers = bones.match(/-?\d[\d.eE+-]*/g) ?? [];
  return (bones.match(/:/g) ?? []).length === members(body) && numbers.every((source) => {
    const digits = source.replace(/[eE].*$/, "").replace(/[-.]/g, "").replace(/^0+/, "");
    return Number.isFinite(Number(source)) && (/^-?\d+$/.test(source) || digits.length <= 15);
  });
}

const members = (value: Json): number =>
  Array.isArray(value) ? value.reduce<number>((sum, inner) => sum + members(inner), 0)
    : isObject(value) ? Object.keys(value).reduce((sum, name) => sum + 1 + members(value[name]!), 0) : 0;

function jsonOrText(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

const written = ({ url, headers }: Request, body: Json): Written => ({ url, headers: [...headers], body, form: isForm(headers.get("content-type") ?? "") });

/** A step as the feedback has it, without the caller's credentials. */
function alone({ path, query, headers, body, form = false }: Document, sent: Request): Written {
  const url = new URL(sent.url);
  url.pathname = path;
  url.search = new URLSearchParams([...queryPairs(query)]).toString();
  return { url: url.href, headers: Object.entries(headers) as [string, string][], body, form };
}

const isBodiless = ({ method, body }: Document): boolean => body === null || method === "GET" || method === "HEAD";

function requestOf(document: Document, before: Document, sent: Request, guard: Guard, isStep: boolean): Request {
  const { method, path, query, headers, body, form = false } = document;
  const url = new URL(sent.url);
  url.pathname = path;
  if (path !== before.path && (hasDots(path) || (path !== "" && !samePlace(url.pathname, path)))) throw new TypeError("the address has another path");
  if ("expect" in headers) throw new TypeError("fetch sends no Expect");
  const keys = isStep ? [...url.searchParams].filter(([name]) => guard.isParameter(name)) : [];
  url.search = new URLSearchParams([...queryPairs(query), ...keys]).toString();
  const all = new Headers(Object.entries(headers) as [string, string][]);
  all.delete("content-length");
  for (const [name, value] of sent.headers) if (isStep ? guard.isHeader(name) : guard.isKept(name)) all.set(name, value);
  const bodiless = isBodiless(document);
  if (bodiless) all.delete("content-type");
  else if (!all.has("content-type")) all.set("content-type", form ? FORM : "application/json");
  const isText = typeof body === "string" && typeof before.body === "string" && !isStep;
  const text = form && isObject(body) ? new URLSearchParams([...formPairs(body)]).toString() : isText ? body : writeJson(body);
  return new Request(url, { method, headers: all, body: bodiless ? null : text, signal: sent.signal, redirect: sent.redirect, credentials: sent.credentials });
}

async function sendSteps(steps: Request[], fetch: Fetch): Promise<boolean> {
  for (const step of steps) if (!(await fetch(step)).ok) return false;
  return true;
}

const KEY = "idempotency-key";

/** The request with another key where there was one and the feedback wants a new one: an API does not choose it. */
function withKey({ request, newIdempotencyKey }: Next, before: Document, key: Json = crypto.randomUUID()): Document {
  if (!newIdempotencyKey || before.headers[KEY] === undefined) return request;
  return { ...request, headers: bare({ ...request.headers, [KEY]: key }) };
}

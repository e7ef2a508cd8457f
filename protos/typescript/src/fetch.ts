// A `fetch` that reads feedback, and sends corrected requests where its policy allows that.

import { apply } from "./apply.ts";
import type { Next, Outcome } from "./apply.ts";
import { Credentials } from "./credentials.ts";
import type { Request as Document } from "./edit.ts";
import { explain, seen } from "./explain.ts";
import { find } from "./find.ts";
import { byName, formPairs, nested, queryPairs } from "./form.ts";
import { bare, isObject, parseJson, writeJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { proposed } from "./proposal.ts";
import { readFeedback } from "./read.ts";
import type { Feedback, Suggestion } from "./read.ts";

type Fetch = typeof globalThis.fetch;

const MOST_STEPS = 16;
/** Of an answer or a document, in bytes, unpacked: no proxy adds feedback to a larger one. */
const LONGEST = 1 << 20;
const MOST_SUGGESTIONS = 64;
/** Edits, steps and placeholders of all suggestions together. */
const MOST_PARTS = 1000;
/** Only the sender can change a request that is signed or has a checksum. */
const SIGNATURES = ["signature", "signature-input", "content-md5", "digest", "content-digest", "repr-digest", "x-amz-content-sha256"];
const SIGNING = /^(aws4-hmac-sha256|digest|signature|oauth|hawk|sharedkey)\b/i;
const UNREAD = /^(multipart\/|(application|text)\/(x-)?yaml|application\/apply-patch\+yaml)/i;

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
  /** Names of headers and of parameters of the query whose values no text shows, besides the usual ones (`Authorization`, `X-Api-Key`). */
  credentials?: readonly string[];
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
  { onRefusal = "explain", confirm, maxCorrections = 2, maxWait = 60, credentials }: Policy = {},
): (input: string | URL | Request, init?: RequestInit) => Promise<CorrectedResponse> {
  const secrets = new Credentials(credentials);
  return async (input, init) => {
    let sending = new Request(input, init);
    const kept = init?.body instanceof ReadableStream ? undefined : sending.clone();
    let response: CorrectedResponse = await fetch(sending);
    if (kept === undefined || response.status < 400) return response;
    const shown = secrets.hiding(sending);
    const read = await attempt(() => documentOf(kept, secrets));
    let document = read?.document;
    for (let corrections = 0; document !== undefined && response.status >= 400; corrections += 1) {
      if (response.redirected && new URL(response.url).origin !== new URL(sending.url).origin) break; // another host does not correct this one
      const recovery = await recoveryOf(response, document, sending, fetch, shown, onRefusal === "repair" ? "MACHINE_APPLICABLE" : "MAYBE_INCORRECT");
      if (recovery === undefined) break;
      response.recovery = recovery;
      const stop = (reason: string): void => {
        if (onRefusal !== "explain" && reason !== "") recovery.text += `\nNot sent: ${shown(reason)}.`;
      };
      const most = Math.min(maxCorrections, (recovery.feedback.maxAttempts ?? Infinity) - 1);
      const next = await decided(recovery, document, onRefusal, confirm, shown);
      if (typeof next === "string") { stop(next); break; }
      if (!read?.editable) { stop("the request is signed, or its body is not edited"); break; }
      if (corrections >= most) { stop(`it has been sent again ${corrections} times`); break; }
      if (Number(next.waitSeconds) > maxWait) { stop(`a wait of ${next.waitSeconds} s is longer than the ${maxWait} s that are allowed`); break; }
      if (next.steps.length > MOST_STEPS) { stop(`${next.steps.length} requests have to come first, more than ${MOST_STEPS}`); break; }
      const [corrected, before] = [withKey(next, document), sending];
      const toSend = [...stepsOf(next, document), corrected];
      const requests: Request[] | undefined = await attempt(() => toSend.map((one) => requestOf(one, before, secrets)));
      const last = requests?.pop();
      if (requests === undefined || last === undefined) { stop("the corrected request cannot be sent as it should be"); break; }
      await new Promise((resolve) => setTimeout(resolve, Number(next.waitSeconds) * 1000));
      if (!(await sendSteps(requests, fetch))) { stop("what has to come first was refused"); break; }
      document = corrected;
      sending = last;
      response = await fetch(sending.clone());
    }
    return response;
  };
}

/** Return what to send, or why nothing is sent: an empty text where the explanation says it. */
async function decided(
  { feedback, text }: Recovery,
  document: Document,
  onRefusal: Policy["onRefusal"],
  confirm: Policy["confirm"],
  shown: (text: string) => string,
): Promise<Next | string> {
  if (onRefusal === "explain") return "";
  const wanted = apply(feedback, document, { confirm: true });
  if (wanted.kind === "terminal") return "";
  if (wanted.kind === "needs_input") return missing(wanted.placeholders.length > 0, feedback);
  const sure = apply(feedback, document, { cap: "MACHINE_APPLICABLE" });
  const asks = onRefusal === "confirm" && confirm !== undefined;
  let next: Next = wanted;
  if (sure.kind === "next" && (!asks || sure.applied.join() === wanted.applied.join())) next = sure;
  else {
    for (const index of wanted.applied) {
      const suggestion = feedback.suggestions[index]!;
      if (onlyWaits(suggestion, feedback)) continue;
      if (!asks) return suggestion.confirm ? "the user has to agree first" : "the correction is not certain enough to send it unasked";
      if (!(await confirm(suggestion, shown(seen(`${text}\n${proposed(wanted, document)}`))))) return "the correction was not confirmed";
    }
  }
  const repeats = next.steps.length === 0 && writeJson(content(next.request)) === writeJson(content(document));
  return repeats && !mayRepeat(feedback, document) ? "it is not known whether the same request may be sent again" : next;
}

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
  return ["GET", "HEAD", "OPTIONS"].includes(method) || sameRequest === true || (key === "new" && headers["idempotency-key"] !== undefined);
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

/** The document that a `Link` points to, if it is on the host that the request went to (RFC 8288). */
async function linked(response: Response, sent: Request, fetch: Fetch): Promise<Feedback | undefined> {
  const target = /<([^>]*)>\s*;[^,]*\brel="?recovery-feedback"?/.exec(response.headers.get("link") ?? "")?.[1];
  if (target === undefined) return undefined;
  const url = new URL(target, sent.url);
  if (url.origin !== new URL(sent.url).origin) return undefined;
  const answer = await fetch(url, { headers: sent.headers, redirect: "error" });
  const text = answer.ok ? await textOf(answer) : undefined;
  return text ? readFeedback(parseJson(text)) : undefined;
}

/** The document of a request, and whether it can be written again: else it is only explained. */
async function documentOf(request: Request, secrets: Credentials): Promise<{ document: Document; editable: boolean }> {
  const url = new URL(request.url);
  const headers = bare(Object.fromEntries(request.headers));
  const media = request.headers.get("content-type") ?? "";
  const bytes = await request.arrayBuffer();
  const coded = !["", "identity"].includes(request.headers.get("content-encoding") ?? "");
  const text = coded || UNREAD.test(media) ? undefined : await attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  const signed = SIGNATURES.some((name) => request.headers.has(name)) || SIGNING.test(request.headers.get("authorization") ?? "");
  for (const name of Object.keys(headers)) if (secrets.has(name)) delete headers[name];
  const form = media.includes("x-www-form-urlencoded");
  const body = text === undefined || text === "" ? null : form ? nested(new URLSearchParams(text)) : jsonOrText(text);
  const editable = !signed && text !== undefined && (form || typeof body === "string" || isExact(text));
  return { document: { method: request.method, path: url.pathname, query: byName(url.searchParams), headers, body, form }, editable };
}

/** Whether no number loses digits if JSON is read and written again. */
function isExact(text: string): boolean {
  const numbers = text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? [];
  return numbers.every((source) => {
    const digits = source.replace(/[eE].*$/, "").replace(/[-.]/g, "").replace(/^0+/, "");
    return Number.isFinite(Number(source)) && (/^-?\d+$/.test(source) || digits.length <= 15);
  });
}

function jsonOrText(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function requestOf({ method, path, query, headers, body, form }: Document, sent: Request, secrets: Credentials): Request {
  const url = new URL(sent.url);
  url.pathname = path;
  url.search = new URLSearchParams([...queryPairs(query)]).toString();
  const all = new Headers(Object.entries(headers) as [string, string][]);
  all.delete("content-length");
  for (const name of Object.keys(headers)) if (secrets.has(name)) throw new TypeError("a correction sets a credential, which is the caller's own");
  for (const [name, value] of sent.headers) if (secrets.has(name)) all.set(name, value);
  const bodiless = body === null || method === "GET" || method === "HEAD";
  if (bodiless) all.delete("content-type");
  else if (!all.has("content-type")) all.set("content-type", "application/json");
  const text = form && isObject(body) ? new URLSearchParams([...formPairs(body)]).toString() : typeof body === "string" ? body : writeJson(body);
  return new Request(url, { method, headers: all, body: bodiless ? null : text, signal: sent.signal, redirect: sent.redirect, credentials: sent.credentials });
}

function stepsOf({ steps }: Next, document: Document): Document[] {
  return steps.map((step) => ({ ...step, form: document.form === true && isObject(step.body) }));
}

async function sendSteps(steps: Request[], fetch: Fetch): Promise<boolean> {
  for (const step of steps) if (!(await fetch(step)).ok) return false;
  return true;
}

function withKey({ request, newIdempotencyKey }: Next, before: Document): Document {
  const name = "idempotency-key";
  if (!newIdempotencyKey || request.headers[name] === undefined || request.headers[name] !== before.headers[name]) return request;
  return { ...request, headers: bare({ ...request.headers, [name]: crypto.randomUUID() }) };
}

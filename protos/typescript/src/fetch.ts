// A `fetch` that reads feedback, and sends corrected requests where its policy allows that.

import { apply } from "./apply.ts";
import type { Next, Outcome } from "./apply.ts";
import type { Request as Document } from "./edit.ts";
import { explain } from "./explain.ts";
import { find } from "./find.ts";
import { byName, formPairs, nested, queryPairs } from "./form.ts";
import { bare, isObject, parseJson, writeJson } from "./json.ts";
import type { Json } from "./json.ts";
import { readFeedback } from "./read.ts";
import type { Feedback, Suggestion } from "./read.ts";

type Fetch = typeof globalThis.fetch;

const MOST_STEPS = 16;
/** Of an answer or a document, in characters: no proxy adds feedback to a larger one. */
const LONGEST = 1 << 20;
/** Credentials never enter the document: no correction reads, changes or shows them. */
const CREDENTIALS = ["authorization", "cookie", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-auth-token", "x-amz-security-token",
  "x-goog-api-key", "x-access-token", "x-vault-token", "x-csrf-token", "private-token"];
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
  /** Asked before anything is sent that is not sure, changes the intent or loses a value. `text` explains the whole. */
  confirm?: (suggestion: Suggestion, text: string) => boolean | Promise<boolean>;
  /** How often one call is corrected at most. */
  maxCorrections?: number;
  /** The longest wait in seconds: a call that would have to wait longer is not sent again. */
  maxWait?: number;
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
  { onRefusal = "explain", confirm, maxCorrections = 2, maxWait = 60 }: Policy = {},
): (input: string | URL | Request, init?: RequestInit) => Promise<CorrectedResponse> {
  return async (input, init) => {
    let sending = new Request(input, init);
    const kept = init?.body instanceof ReadableStream ? undefined : sending.clone();
    let response: CorrectedResponse = await fetch(sending);
    if (kept === undefined || response.status < 400) return response;
    const read = await attempt(() => documentOf(kept));
    let document = read?.document;
    for (let corrections = 0; document !== undefined && response.status >= 400; corrections += 1) {
      if (response.redirected && new URL(response.url).origin !== new URL(sending.url).origin) break; // another host does not correct this one
      const recovery = await recoveryOf(response, document, sending, fetch, onRefusal === "repair" ? "MACHINE_APPLICABLE" : "MAYBE_INCORRECT");
      if (recovery === undefined) break;
      const most = Math.min(maxCorrections, (recovery.feedback.maxAttempts ?? Infinity) - 1);
      response.recovery = recovery;
      const next = read?.editable && corrections < most ? await agreed(recovery, document, onRefusal, confirm) : undefined;
      if (next === undefined || Number(next.waitSeconds) > maxWait || next.steps.length > MOST_STEPS) break;
      const [corrected, before] = [withKey(next, document), sending];
      const toSend = [...stepsOf(next, document), corrected];
      const requests: Request[] | undefined = await attempt(() => toSend.map((one) => requestOf(one, before)));
      const last = requests?.pop();
      if (requests === undefined || last === undefined) break;
      await new Promise((resolve) => setTimeout(resolve, Number(next.waitSeconds) * 1000));
      if (!(await sendSteps(requests, fetch))) break;
      document = corrected;
      sending = last;
      response = await fetch(sending.clone());
    }
    return response;
  };
}

async function agreed(
  { feedback, outcome, text }: Recovery,
  document: Document,
  onRefusal: Policy["onRefusal"],
  confirm: Policy["confirm"],
): Promise<Next | undefined> {
  if (onRefusal === "explain") return undefined;
  if (onRefusal === "repair") return outcome.kind === "next" ? outcome : undefined;
  if (confirm === undefined) { // nobody is there to agree: as repair
    const certain = apply(feedback, document, { cap: "MACHINE_APPLICABLE" });
    return certain.kind === "next" ? certain : undefined;
  }
  const wanted = apply(feedback, document, { confirm: true });
  if (wanted.kind !== "next") return undefined;
  const sure = apply(feedback, document, { cap: "MACHINE_APPLICABLE" });
  if (sure.kind === "next" && sure.applied.join() === wanted.applied.join()) return sure;
  for (const index of wanted.applied) if (!(await confirm(feedback.suggestions[index]!, text))) return undefined;
  return wanted;
}

/** What a refused answer says; undefined without feedback that can be read. The body of the answer stays unread. */
async function recoveryOf(response: Response, document: Document, sent: Request, fetch: Fetch, cap: string): Promise<Recovery | undefined> {
  return attempt(async () => {
    const feedback = (await inBody(response)) ?? (await linked(response, sent, fetch));
    if (feedback === undefined) return undefined;
    return { feedback, outcome: apply(feedback, document, { cap }), text: explain(feedback, document) };
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
  const text = await response.clone().text();
  return text.length > LONGEST ? undefined : find(parseJson(text), response.status);
}

/** The document that a `Link` points to, if it is on the host that the request went to (RFC 8288). */
async function linked(response: Response, sent: Request, fetch: Fetch): Promise<Feedback | undefined> {
  const target = /<([^>]*)>\s*;[^,]*\brel="?recovery-feedback"?/.exec(response.headers.get("link") ?? "")?.[1];
  if (target === undefined) return undefined;
  const url = new URL(target, sent.url);
  if (url.origin !== new URL(sent.url).origin) return undefined;
  const answer = await fetch(url, { headers: sent.headers, redirect: "error" });
  const text = answer.ok ? await answer.text() : "";
  return text !== "" && text.length <= LONGEST ? readFeedback(parseJson(text)) : undefined;
}

/** The document of a request, and whether it can be written again: else it is only explained. */
async function documentOf(request: Request): Promise<{ document: Document; editable: boolean }> {
  const url = new URL(request.url);
  const headers = bare(Object.fromEntries(request.headers));
  const media = request.headers.get("content-type") ?? "";
  const bytes = await request.arrayBuffer();
  const coded = !["", "identity"].includes(request.headers.get("content-encoding") ?? "");
  const text = coded || UNREAD.test(media) ? undefined : await attempt(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  const signed = SIGNATURES.some((name) => request.headers.has(name)) || SIGNING.test(request.headers.get("authorization") ?? "");
  for (const name of CREDENTIALS) delete headers[name];
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

function requestOf({ method, path, query, headers, body, form }: Document, sent: Request): Request {
  const url = new URL(sent.url);
  url.pathname = path;
  url.search = new URLSearchParams([...queryPairs(query)]).toString();
  const all = new Headers(Object.entries(headers) as [string, string][]);
  all.delete("content-length");
  for (const name of CREDENTIALS) {
    if (all.has(name)) throw new TypeError("a correction sets a credential, which is the caller's own");
    const own = sent.headers.get(name);
    if (own !== null) all.set(name, own);
  }
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

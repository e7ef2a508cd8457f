// A `fetch` that reads feedback, and sends corrected requests where its policy allows that.

import { apply } from "./apply.ts";
import type { Next, Outcome } from "./apply.ts";
import type { Request as Document } from "./edit.ts";
import { explain } from "./explain.ts";
import { find } from "./find.ts";
import { byName, formPairs, nested, queryPairs } from "./form.ts";
import { bare, isObject, parseJson, writeJson } from "./json.ts";
import type { Json } from "./json.ts";
import { Unreadable, readFeedback } from "./read.ts";
import type { Feedback, Suggestion } from "./read.ts";

type Fetch = typeof globalThis.fetch;

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
    let document = kept && (await documentOf(kept));
    for (let corrections = 0; document !== undefined && response.status >= 400; corrections += 1) {
      const recovery = await recoveryOf(response, document, sending, fetch, onRefusal === "repair" ? "MACHINE_APPLICABLE" : "MAYBE_INCORRECT");
      if (recovery === undefined) break;
      response.recovery = recovery;
      const next = corrections < maxCorrections ? await agreed(recovery, document, onRefusal, confirm) : undefined;
      if (next === undefined || Number(next.waitSeconds) > maxWait) break;
      await new Promise((resolve) => setTimeout(resolve, Number(next.waitSeconds) * 1000));
      if (!(await sendSteps(next, document, sending, fetch))) break;
      document = withKey(next, document);
      sending = requestOf(document, sending);
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
  if (onRefusal === "repair" || confirm === undefined) return outcome.kind === "next" ? outcome : undefined;
  const wanted = apply(feedback, document, { confirm: true });
  if (wanted.kind !== "next") return undefined;
  const sure = apply(feedback, document, { cap: "MACHINE_APPLICABLE" });
  if (sure.kind === "next" && sure.applied.join() === wanted.applied.join()) return sure;
  for (const index of wanted.applied) if (!(await confirm(feedback.suggestions[index]!, text))) return undefined;
  return wanted;
}

/** What a refused answer says; undefined without feedback that can be read. The body of the answer stays unread. */
async function recoveryOf(response: Response, document: Document, sent: Request, fetch: Fetch, cap: string): Promise<Recovery | undefined> {
  try {
    const feedback = (await inBody(response)) ?? (await linked(response, sent, fetch));
    if (feedback === undefined) return undefined;
    return { feedback, outcome: apply(feedback, document, { cap }), text: explain(feedback, document) };
  } catch (problem) {
    if (problem instanceof Unreadable || problem instanceof SyntaxError || problem instanceof TypeError) return undefined;
    throw problem;
  }
}

async function inBody(response: Response): Promise<Feedback | undefined> {
  if (!(response.headers.get("content-type") ?? "").includes("json")) return undefined;
  return find(parseJson(await response.clone().text()), response.status);
}

/** The document that a `Link` points to, if it is on the host that the request went to (RFC 8288). */
async function linked(response: Response, sent: Request, fetch: Fetch): Promise<Feedback | undefined> {
  const target = /<([^>]*)>\s*;[^,]*\brel="?recovery-feedback"?/.exec(response.headers.get("link") ?? "")?.[1];
  if (target === undefined) return undefined;
  const url = new URL(target, sent.url);
  if (url.origin !== new URL(sent.url).origin) return undefined;
  const answer = await fetch(url, { headers: sent.headers });
  return answer.ok ? readFeedback(parseJson(await answer.text())) : undefined;
}

async function documentOf(request: Request): Promise<Document> {
  const url = new URL(request.url);
  const headers = bare(Object.fromEntries(request.headers));
  const text = request.body === null ? "" : await request.text();
  const form = (headers["content-type"] as string | undefined)?.includes("x-www-form-urlencoded") ?? false;
  const body = text === "" ? null : form ? nested(new URLSearchParams(text)) : jsonOrText(text);
  return { method: request.method, path: url.pathname, query: byName(url.searchParams), headers, body, form };
}

function jsonOrText(text: string): Json {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function requestOf({ method, path, query, headers, body, form }: Document, sent: Request): Request {
  const url = new URL(path, sent.url);
  if (url.origin !== new URL(sent.url).origin) throw new TypeError("a correction leaves the host");
  url.search = new URLSearchParams([...queryPairs(query)]).toString();
  const all = new Headers(Object.entries(headers) as [string, string][]);
  all.delete("content-length");
  const bodiless = body === null || method === "GET" || method === "HEAD";
  if (bodiless) all.delete("content-type");
  else if (!all.has("content-type")) all.set("content-type", "application/json");
  const text = form && isObject(body) ? new URLSearchParams([...formPairs(body)]).toString() : typeof body === "string" ? body : writeJson(body);
  return new Request(url, { method, headers: all, body: bodiless ? null : text, signal: sent.signal, redirect: sent.redirect, credentials: sent.credentials });
}

async function sendSteps(next: Next, document: Document, sent: Request, fetch: Fetch): Promise<boolean> {
  for (const step of next.steps) {
    const answer = await fetch(requestOf({ ...step, form: document.form === true && isObject(step.body) }, sent));
    if (!answer.ok) return false;
  }
  return true;
}

function withKey({ request, newIdempotencyKey }: Next, before: Document): Document {
  const name = "idempotency-key";
  if (!newIdempotencyKey || request.headers[name] === undefined || request.headers[name] !== before.headers[name]) return request;
  return { ...request, headers: bare({ ...request.headers, [name]: crypto.randomUUID() }) };
}

// From JSON to feedback (SPEC.md, section 3). Numbers in brackets are its clauses.

import { bare, isObject, own } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";

/** There is no feedback, or none that can be read: no edit is better than a guess. */
export class Unreadable extends Error {}

const WORDS = {
  type: ["recovery_guidance", "intent_disambiguation", "confidence_signal"],
  recovery: ["correctable", "transient", "terminal"],
  applicability: ["machine_applicable", "maybe_incorrect", "has_placeholders", "unspecified"],
  relation: ["all", "one_of", "sequence"],
  key: ["reuse", "new", "none"],
  verb: ["add", "remove", "replace", "move", "copy", "test"],
  ask: ["agent", "user"],
  effects: ["none", "possible", "certain"],
  status: ["verified", "refuted", "unverified", "not_possible"],
  method: ["schema", "dry_run", "lookup"],
  basis: ["author", "spec", "observed", "corpus"],
  base: ["modify_params", "wait_and_retry", "use_alternative_endpoint", "resolve_precondition", "already_done", "escalate",
    "no_recovery_available"],
} as const;
type Words = typeof WORDS;
type Word<List extends keyof Words> = Words[List][number];

const TERMINAL: readonly string[] = ["already_done", "escalate", "no_recovery_available"];
const KNOWN = new Set(["action", "base_action", "message", "parameters", "patch", "steps", "applicability", "placeholders",
  "verification", "confidence", "safety", "group", "evidence"]);

export interface Operation {
  verb: Word<"verb">;
  path: string;
  from?: string | undefined;
  hasValue: boolean;
  value: Json;
}

export interface Step {
  method: string;
  path: string;
  query: JsonObject;
  headers: JsonObject;
  body: Json;
}

export interface Placeholder {
  pointer: string;
  ask?: Word<"ask">;
  schema?: JsonObject;
}

export interface Suggestion {
  /** In capitals. */
  action: string;
  message: string | undefined;
  /** The base action, in lower case. */
  kind: string;
  terminal: boolean;
  parameters: JsonObject;
  patch: Operation[];
  steps: Step[];
  placeholders: Placeholder[];
  applicability: Word<"applicability">;
  status: Word<"status"> | undefined;
  /** How it was verified. */
  method: Word<"method"> | undefined;
  /** Enough observations speak for it [1.9]. */
  proven: boolean;
  /** Somebody has to agree before it is sent [4.10]. */
  confirm: boolean;
  changesIntent: boolean;
  requiresConfirmation: boolean;
  loses: string[];
  group: { id: string; relation: Word<"relation"> } | undefined;
}

export interface Feedback {
  type: Word<"type">;
  message: string;
  recovery: Word<"recovery"> | undefined;
  /** Seconds to wait. */
  wait: number | bigint;
  /** Whether the same request may be sent again. */
  sameRequest: boolean | undefined;
  maxAttempts: number | undefined;
  key: Word<"key"> | undefined;
  suggestions: Suggestion[];
}

type Reader<T> = (value: Json, what: string) => T;

export function need(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Unreadable(what);
}

export function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (problem) {
    if (problem instanceof Unreadable) return otherwise;
    throw problem;
  }
}

function text(value: Json, what: string): string {
  need(typeof value === "string" && value.isWellFormed(), `${what} is no text`);
  return value;
}

const word = <List extends keyof Words>(list: List): Reader<Word<List>> => (value, what) => {
  const found = text(value, what).toLowerCase();
  need((WORDS[list] as readonly string[]).includes(found), `${what} is no word of its list`);
  return found as Word<List>;
};

function flag(value: Json, what: string): boolean {
  need(typeof value === "boolean", `${what} is neither true nor false`);
  return value;
}

function literal<T extends Json>(value: T, what: string, depth = 0): T { // [1.13]
  need(depth <= 24, `${what} nests too deep`);
  if (typeof value === "number") need(Number.isFinite(value), `${what} is not finite`);
  else if (typeof value === "string") text(value, what);
  else if (Array.isArray(value)) value.forEach((item) => literal(item, what, depth + 1));
  else if (isObject(value)) {
    for (const name of Object.keys(value)) literal(value[text(name, what)]!, what, depth + 1);
  }
  return value;
}

// The member of an object, or undefined where it is absent; null counts as absent [3.1].
const member = (holder: JsonObject, name: string): Json | undefined => (own(holder, name) && holder[name] !== null ? holder[name] : undefined);

function optional<T>(holder: JsonObject, name: string, read: Reader<T>): T | undefined;
function optional<T>(holder: JsonObject, name: string, read: Reader<T>, otherwise: T): T;
function optional<T>(holder: JsonObject, name: string, read: Reader<T>, otherwise?: T): T | undefined {
  const value = member(holder, name);
  return value === undefined ? otherwise : read(value, name);
}

function object(value: Json, what: string): JsonObject {
  need(isObject(value), `${what} is no object`);
  return value;
}

const list = <T>(read: (value: JsonObject, what: string) => T): Reader<T[]> => (value, what) => {
  need(Array.isArray(value), `${what} is no array`);
  return value.map((item, index) => read(object(item, `${what}/${index}`), `${what}/${index}`));
};

function texts(value: Json, what: string): string[] {
  need(Array.isArray(value), `${what} is no array`);
  return value.map((item, index) => text(item, `${what}/${index}`));
}

function required<T>(holder: JsonObject, name: string, read: Reader<T>): T {
  const value = member(holder, name);
  need(value !== undefined, `${name} is missing`);
  return read(value, name);
}

function readOperation(given: JsonObject): Operation {
  return {
    verb: required(given, "op", word("verb")),
    path: required(given, "path", text),
    from: optional(given, "from", text),
    hasValue: own(given, "value"),
    value: own(given, "value") ? literal(given["value"]!, "value") : null,
  };
}

function readStep(given: JsonObject): Step {
  const headers = optional(given, "headers", object, bare());
  for (const name of Object.keys(headers)) text(headers[name]!, "a header");
  return {
    method: required(given, "method", text),
    path: required(given, "path", text),
    query: literal(optional(given, "query", object, bare()), "query"),
    headers,
    body: own(given, "body") ? literal(given["body"]!, "body") : null,
  };
}

function readPlaceholder(given: JsonObject): Placeholder {
  const placeholder = { pointer: required(given, "pointer", text) };
  const ask = optional(given, "ask", word("ask"));
  const schema = optional(given, "schema", object);
  return { ...placeholder, ...(ask && { ask }), ...(schema && { schema }) };
}

function count(value: Json, what: string): number {
  need(typeof value === "bigint" ? value >= 0n : Number.isInteger(value) && (value as number) >= 0, `${what} is no count`);
  return Number(value);
}

function readSuggestion(value: Json, what: string): Suggestion {
  const given = object(value, what);
  const action = required(given, "action", text);
  need(action !== "", "action is empty");
  const short = bare(); // [3.4]
  for (const name of Object.keys(given)) if (!KNOWN.has(name) && given[name] !== null) short[name] = given[name]!;
  const safety = optional(given, "safety", object, bare());
  optional(safety, "side_effects", word("effects"));
  const base = optional(given, "base_action", word("base"));
  const name = action.toLowerCase();
  const changesIntent = optional(safety, "changes_intent", flag, false);
  const requiresConfirmation = optional(safety, "requires_confirmation", flag, false);
  const loses = optional(safety, "loses", texts, []);
  const verification = attempt(() => optional(given, "verification", readVerification), undefined);
  return {
    action: action.toUpperCase(),
    message: attempt(() => optional(given, "message", text), undefined), // [3.3]
    kind: (WORDS.base as readonly string[]).includes(name) ? name : base ?? "modify_params", // [4.12]
    terminal: TERMINAL.includes(name) || TERMINAL.includes(base ?? ""), // [1.6]
    parameters: literal(optional(given, "parameters", object, short), "parameters"),
    patch: optional(given, "patch", list(readOperation), []),
    steps: optional(given, "steps", list(readStep), []),
    placeholders: optional(given, "placeholders", list(readPlaceholder), []),
    applicability: optional(given, "applicability", word("applicability"), "unspecified"),
    status: verification?.status,
    method: verification?.method,
    proven: attempt(() => optional(given, "confidence", proven, false), false),
    confirm: changesIntent || requiresConfirmation || loses.length > 0, // [4.10]
    changesIntent,
    requiresConfirmation,
    loses,
    group: optional(given, "group", (v) => ({
      id: required(object(v, "group"), "id", text),
      relation: required(v as JsonObject, "relation", word("relation")),
    })),
  };
}

const readVerification: Reader<{ status: Word<"status">; method: Word<"method"> | undefined }> = (value, what) => {
  const given = object(value, what);
  return { status: required(given, "status", word("status")), method: optional(given, "method", word("method")) };
};

function proven(value: Json): boolean { // [1.9]: 20 trials, and the lower end of the 95 % Wilson interval
  const confidence = object(value, "confidence");
  const basis = required(confidence, "basis", word("basis"));
  const k = optional(confidence, "successes", count);
  const n = optional(confidence, "trials", count);
  if (basis !== "observed" || k === undefined || n === undefined || n < 20 || k > n) return false;
  const z = 1.959963984540054;
  const centre = k + (z * z) / 2;
  const margin = z * Math.sqrt((k * (n - k)) / n + (z * z) / 4);
  return (centre - margin) / (n + z * z) >= 0.9;
}

/** Read feedback. Throws Unreadable where a member that counts is malformed [3.3]. */
export function readFeedback(value: Json): Feedback {
  const given = object(value, "feedback");
  const retry = optional(given, "retry", object, bare());
  const wait = optional<number | bigint>(retry, "after_seconds", (v) => {
    need((typeof v === "number" && Number.isFinite(v)) || typeof v === "bigint", "after_seconds is no number");
    need(v >= 0, "after_seconds is below zero");
    return v;
  }, 0);
  const maxAttempts = optional(retry, "max_attempts", count);
  const sameRequest = optional(retry, "same_request", flag);
  const key = optional(retry, "idempotency_key", word("key"));
  const suggestions = optional(given, "suggestions", (v) => {
    need(Array.isArray(v), "suggestions is no array");
    return v.map((item, index) => readSuggestion(item, `suggestions/${index}`));
  }, [] as Suggestion[]);
  return {
    type: optional(given, "type", word("type"), "recovery_guidance"), // [3.2]
    message: attempt(() => optional(given, "message", text, ""), ""),
    recovery: optional(given, "recovery", word("recovery")),
    wait,
    sameRequest,
    maxAttempts,
    key,
    suggestions,
  };
}

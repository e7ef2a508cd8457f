// Where feedback is in an answer (SPEC.md 3.5), and how far it is believed (3.6).

import { at, bare, isObject, own, parseJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { attempt, readFeedback } from "./read.ts";
import type { Feedback, Operation, Suggestion } from "./read.ts";

const REASON = "RecoveryFeedback";
const DETAIL = "corrigible.schema.v0_1.RecoveryFeedback";

/** Feedback of a cause, of which only what can be trusted is left. */
class Relayed {
  readonly feedback: Feedback;
  constructor(feedback: Feedback) {
    this.feedback = feedback;
  }
}

/** What is at a place: JSON that is still to be read, or feedback of a cause. */
type Held = Json | undefined | Relayed;

const items = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

function held(textual: Json | undefined): JsonObject | undefined { // the JSON object that a text is
  if (typeof textual !== "string" || textual.length > 65536 || !textual.trimStart().startsWith("{")) return undefined;
  try {
    const value = parseJson(textual);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const failed = (result: Json | undefined): boolean => at(result, "isError") === true && Array.isArray(at(result, "content"));

function* places(body: JsonObject, status: number | undefined): Generator<Held> { // nowhere in an answer that does not refuse
  const top = () => at(body, "recovery_feedback");
  const inError = () => at(body, "error", "recovery_feedback");
  if (own(body, "jsonrpc")) {
    if (isObject(body["error"])) yield* [top(), inError(), at(body, "error", "data", "recovery_feedback")];
    else if (failed(body["result"])) yield lastItem(body["result"]);
  } else if (failed(body)) yield* [top(), lastItem(body)];
  else if (Array.isArray(body["content"]) && own(body, "isError")) return;
  else if (status === undefined || status >= 400) {
    yield* [top(), inError(), at(body, "error", "data", "recovery_feedback")];
    yield* extensions(body);
    yield* causes(body);
    for (const refusal of [body, at(body, "error")]) {
      for (const detail of at(refusal, "code") === 0 ? [] : items(at(refusal, "details"))) {
        const type = at(detail, "@type");
        if (typeof type === "string" && type.split("/").pop() === DETAIL) yield fromProtoJson(detail as JsonObject);
      }
    }
  } else if (body["success"] === false || body["ok"] === false) yield* [top(), inError()];
  else if (items(body["errors"]).length > 0 && Object.keys(body).every((name) => ["data", "errors", "extensions"].includes(name))) {
    yield* extensions(body);
  }
}

function* extensions(body: JsonObject): Generator<Held> {
  for (const error of items(at(body, "errors"))) yield at(error, "extensions", "recovery_feedback");
}

function* causes(body: JsonObject): Generator<Held> {
  if (at(body, "kind") !== "Status" || at(body, "status") === "Success") return;
  for (const cause of items(at(body, "details", "causes"))) {
    const carried = at(cause, "reason") === REASON ? held(at(cause, "message")) : undefined;
    const trusted = carried && attempt(() => stripped(readFeedback(carried)), undefined);
    if (trusted !== undefined) yield new Relayed(trusted);
  }
}

function lastItem(result: Json | undefined): Json | undefined { // nothing but the feedback, behind all that a tool may quote
  const last = items(at(result, "content")).at(-1);
  const parsed = at(last, "type") === "text" ? held(at(last, "text")) : undefined;
  return parsed && Object.keys(parsed).length === 1 ? at(parsed, "recovery_feedback") : undefined;
}

/**
 * The feedback in the body of an answer that refuses; undefined if there is none. Without `status` the answer is taken as a refusal.
 * Throws Unreadable where there is some that cannot be read.
 */
export function find(body: Json, status?: number): Feedback | undefined {
  if (!isObject(body)) return undefined;
  for (const found of places(body, status)) {
    if (found instanceof Relayed) return found.feedback;
    if (isObject(found) && !own(found, "$ref")) return readFeedback(found);
  }
  return undefined;
}

// ---- [3.6]: a cause can be written by anybody behind the API server

function inBody(pointer: string): boolean {
  if (!pointer.startsWith("/body/") || /~(?![01])/.test(pointer)) return false;
  const [first, second] = pointer.split("/").slice(2).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (["kind", "apiVersion"].includes(first ?? "")) return false;
  return first !== "metadata" || !(second === undefined || ["name", "namespace", "generateName", "uid"].includes(second));
}

function* merging(under: string, parameters: JsonObject): Generator<Operation> { // a merge into the body, as a patch
  for (const [name, value] of Object.entries(parameters)) {
    const path = `${under}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (value === null) yield { verb: "remove", path, hasValue: false, value: null };
    else if (isObject(value)) yield* merging(path, value);
    else yield { verb: "add", path, hasValue: true, value };
  }
}

function bodyEdit(suggestion: Suggestion): Operation[] | undefined {
  if (suggestion.kind !== "modify_params" || suggestion.terminal || suggestion.steps.length > 0) return undefined;
  const patch = suggestion.patch.length > 0 ? suggestion.patch : [...merging("/body", suggestion.parameters)];
  const touched = [...patch.flatMap(({ path, from }) => [path, from ?? path]), ...suggestion.placeholders.map((p) => p.pointer)];
  return touched.length > 0 && touched.every(inBody) ? patch : undefined;
}

/** Whether two suggestions belong to one group. */
export const together = (one: Suggestion, other: Suggestion): boolean =>
  one.group !== undefined && other.group !== undefined && one.group.id === other.group.id && one.group.relation === other.group.relation;

function stripped(feedback: Feedback): Feedback | undefined {
  const edits = feedback.suggestions.map((s, i) => (i < 16 ? bodyEdit(s) : undefined));
  const lost = feedback.suggestions.filter((s, i) => edits[i] === undefined && s.group && s.group.relation !== "one_of");
  const suggestions = feedback.suggestions.flatMap((s, i): Suggestion[] => {
    const patch = edits[i];
    if (patch === undefined || lost.some((other) => together(s, other))) return [];
    const placeholders = s.placeholders.map(({ pointer }) => ({ pointer, ask: "user" as const }));
    return [{ ...s, action: "MODIFY_PARAMS", message: "", patch, placeholders, applicability: "unspecified",
      status: undefined, proven: false, confirm: true, requiresConfirmation: true }];
  });
  if (suggestions.length === 0) return undefined;
  const type = feedback.type === "intent_disambiguation" ? feedback.type : "recovery_guidance";
  return { type, message: "", recovery: "correctable", wait: 0, sameRequest: undefined, maxAttempts: undefined, key: undefined, suggestions };
}

// The Any in proto-JSON: camel case, words behind the name of their type, literals as JSON text.
const PREFIXES: Record<string, string> = { type: "FEEDBACK_TYPE_", recovery: "RECOVERY_", idempotency_key: "IDEMPOTENCY_KEY_",
  op: "PATCH_VERB_", applicability: "APPLICABILITY_", ask: "ASK_", status: "VERIFICATION_STATUS_", method: "VERIFICATION_METHOD_",
  basis: "CONFIDENCE_BASIS_",
  side_effects: "SIDE_EFFECTS_", relation: "RELATION_" };

function fromProtoJson(message: JsonObject): JsonObject | undefined {
  const out = bare();
  for (const [camel, value] of Object.entries(message)) {
    const name = camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (name.endsWith("_json") && typeof value === "string") {
      try {
        out[name.slice(0, -5)] = parseJson(value);
      } catch {
        return undefined;
      }
    } else if (own(PREFIXES, name) && typeof value === "string") out[name] = value.replace(PREFIXES[name]!, "");
    else if (["max_attempts", "attempt", "successes", "trials"].includes(name)) out[name] = Number(value);
    else if (name === "headers") out[name] = value;
    else if (Array.isArray(value)) out[name] = value.map((item) => (isObject(item) ? fromProtoJson(item) ?? null : item));
    else out[name] = isObject(value) ? fromProtoJson(value) ?? null : value;
  }
  return out;
}

// Feedback as a few lines of text, for a model or a person; and what would be sent, which a person agrees to.

import type { Next } from "./apply.ts";
import type { Request } from "./form.ts";
import { LONGEST, at, isObject, literal, literalLength, named, own, plain, seen, writeJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Feedback, Operation, Placeholder, Suggestion } from "./read.ts";

/** Where the key of idempotency is, about which no model decides. */
const KEY = "/headers/idempotency-key";
const LONGEST_TEXT = 20_000;

/** What is wrong, the literal edit (`path: old -> new`), what to ask, to confirm or to wait for. */
export function explain(feedback: Feedback, request?: Request): string {
  const text = seen([...lines(feedback, request)].join("\n"));
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)}... (cut, ${text.length} characters)`;
}

function* lines(feedback: Feedback, request: Request | undefined): Generator<string> {
  const [first] = feedback.suggestions;
  if (feedback.message) yield plain(feedback.message);
  if (first === undefined) return;
  if (feedback.recovery === "terminal" || first.terminal) {
    yield* terminal(first);
    return;
  }
  const isChoice = feedback.type === "intent_disambiguation" || (first.group?.relation === "one_of" && feedback.suggestions.length > 1);
  if (isChoice) yield "Choose one:";
  for (const [index, suggestion] of feedback.suggestions.entries()) {
    const message = plain(suggestion.message ?? "") || plain(suggestion.action);
    yield isChoice ? `  ${index + 1}. ${condition(suggestion, "Only if the user agrees")}${message}` : `${heading(suggestion, feedback)}: ${message}`;
    for (const step of suggestion.steps) yield `  first send ${line(step)}`;
    for (const edit of edits(suggestion, request)) yield `  ${edit}`;
    for (const placeholder of suggestion.placeholders) yield `  ${question(placeholder)}`;
  }
  if (feedback.wait && first.kind !== "wait_and_retry") yield `Wait ${feedback.wait} s before you send it.`;
  if (feedback.key === "new") yield "Send it with a new idempotency key.";
}

function* terminal(suggestion: Suggestion): Generator<string> {
  const actor = at(suggestion.parameters, "actor");
  const who = actor === "you" ? "You or your user must act first" : actor === "somebody_else" ? "Somebody else must act first" : "No change of it will be accepted";
  const start = suggestion.kind === "already_done" ? "Already done, nothing is to be sent" : `Do not send it again. ${who}`;
  yield suggestion.message ? `${start}: ${plain(suggestion.message)}` : `${start}.`;
  for (const name of Object.keys(suggestion.parameters)) if (name !== "actor") yield `  ${named(name)}: ${literal(suggestion.parameters[name])}`;
}

function heading(suggestion: Suggestion, feedback: Feedback): string {
  if (feedback.type === "confidence_signal") return "For information";
  if (suggestion.kind === "wait_and_retry") {
    const same = feedback.key === "reuse" ? " with the same idempotency key" : "";
    const most = feedback.maxAttempts ? ` (at most ${feedback.maxAttempts} times)` : "";
    return `${feedback.wait ? `Wait ${feedback.wait} s, then send` : "Send"} the same request again${same}${most}`;
  }
  return condition(suggestion, "Correction, only if the user agrees").replace(/: $/, "") || `Correction${verified(suggestion)}`;
}

/** The API itself has confirmed it (a dry run, a look-up), or only its description. */
function verified({ status, method }: Suggestion): string {
  if (status !== "verified" || method === undefined) return "";
  return method === "schema" ? " (fits the API's description)" : " (verified)";
}

function condition(suggestion: Suggestion, start: string): string {
  const reasons = suggestion.changesIntent ? ["it changes what was asked for"] : [];
  if (suggestion.loses.length > 0) reasons.push(`it loses ${suggestion.loses.map(named).join(", ")}`);
  if (suggestion.requiresConfirmation && !suggestion.changesIntent) reasons.push("it needs a confirmation");
  return reasons.length > 0 ? `${start} (${reasons.join("; ")}): ` : "";
}

function* edits(suggestion: Suggestion, request: Request | undefined): Generator<string> {
  const tested = new Map<string, Json>();
  for (const operation of suggestion.patch) {
    if (operation.verb === "test") tested.set(operation.path, operation.value);
    else if (operation.path.toLowerCase() !== KEY || !editsMore(suggestion)) yield edit(operation, tested, request);
  }
  if (suggestion.patch.length > 0 || suggestion.kind === "wait_and_retry") return;
  for (const name of Object.keys(suggestion.parameters)) {
    const value = suggestion.parameters[name]!;
    yield `${named(name)}: -> ${value === null ? "(removed)" : literal(value)}`;
  }
}

const editsMore = ({ patch }: Suggestion): boolean => patch.some(({ verb, path }) => verb !== "test" && path.toLowerCase() !== KEY);

function edit({ verb, path, from, value }: Operation, tested: Map<string, Json>, request: Request | undefined): string {
  if (verb === "move" || verb === "copy") return `${named(from ?? "")}: ${verb} to ${named(path)}`;
  const names = path.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const before = tested.has(path) ? tested.get(path) : at(request, ...names);
  const old = before === undefined && !own(tested, path) ? "" : `${literal(before)} `;
  return `${named(path)}: ${old}-> ${verb === "remove" ? "(removed)" : literal(value)}`;
}

function question({ pointer, ask, schema }: Placeholder): string {
  const choices = at(schema, "enum");
  const allowed = Array.isArray(choices) ? `, one of ${choices.map(literal).join(", ")}` : schema ? ` of the schema ${literal(schema)}` : "";
  return `${named(pointer)}: ${ask === "user" ? "ask the user for a value" : "give a value"}${allowed}`;
}

/** How many places that change, or that requests which come first set, a person can be shown. */
const MOST = 40;

/** The steps, the method and the path, and each value that changes; or why a person cannot be shown all of it. */
export function proposed({ request, steps, waitSeconds }: Next, before: Request): { text: string } | { problem: string } {
  const lines = [Number(waitSeconds) > 0 ? `To be sent after ${waitSeconds} s:` : "To be sent:"];
  const values = steps.flatMap(({ query, headers, body }): Json[] => [query, headers, body]);
  for (const step of steps) lines.push(`  first ${line(step)}`);
  const [call, called] = [request, before].map(({ method, path }) => `${named(method)} ${named(path)}`) as [string, string];
  lines.push(call === called ? `  ${call}` : `  ${call}, instead of ${called}`);
  const [old, now] = [before, request].map((one) => new Map(leaves(content(one), ""))) as [Map<string, Json>, Map<string, Json>];
  const changes: string[] = [];
  const change = (place: string, was: Json | undefined, is: Json | undefined): void => {
    values.push(was ?? null, is ?? null);
    changes.push(`    ${named(place)}: ${was === undefined ? "" : `${literal(was)} `}-> ${is === undefined ? "(removed)" : literal(is)}`);
  };
  for (const [place, value] of now) if (!old.has(place) || writeJson(old.get(place)!) !== writeJson(value)) change(place, old.get(place), value);
  const filled = [...now.keys()];
  for (const [place, value] of old) {
    const isFilled = typeof value === "object" && value !== null && filled.some((other) => other.startsWith(`${place}/`));
    if (!now.has(place) && !isFilled) change(place, value, undefined);
  }
  const places = changes.length + steps.reduce((sum, step) => sum + [...leaves(content(step), "")].length, 0);
  if (places > MOST) return { problem: `the correction changes ${places} places, more than the ${MOST} that a person can be shown` };
  const cut = values.map(literalLength).find((length) => length > LONGEST);
  if (cut !== undefined) return { problem: `the correction has a value of ${cut} characters, more than the ${LONGEST} that a person can be shown` };
  return { text: [...lines, ...changes].join("\n") };
}

const content = ({ query, headers, body }: Request): JsonObject => ({ query, headers, body });

/** A request as one line. */
export function line({ method, path, query, headers, body }: Pick<Request, "method" | "path" | "query" | "headers" | "body">): string {
  const asked = Object.keys(query).length > 0 ? ` query ${literal(query)}` : "";
  const headed = Object.keys(headers).length > 0 ? ` headers ${literal(headers)}` : "";
  return `${named(method)} ${named(path)}${asked}${headed}${body === null ? "" : ` body ${literal(body)}`}`;
}

function* leaves(value: Json, place: string): Generator<[string, Json]> {
  if (isObject(value) && (Object.keys(value).length > 0 || ["", "/query", "/headers"].includes(place))) {
    for (const name of Object.keys(value)) yield* leaves(value[name]!, `${place}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  } else if (Array.isArray(value) && value.length > 0) {
    for (const [index, item] of value.entries()) yield* leaves(item, `${place}/${index}`);
  } else if (value !== null || place !== "/body") yield [place, value];
}

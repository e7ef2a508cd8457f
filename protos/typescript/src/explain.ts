// Feedback as a few lines of text, for a model or a person.

import type { Request } from "./edit.ts";
import { at, own, writeJson } from "./json.ts";
import type { Json } from "./json.ts";
import { line } from "./proposal.ts";
import type { Feedback, Operation, Placeholder, Suggestion } from "./read.ts";

/** Where the key of idempotency is, about which no model decides. */
const KEY = "/headers/idempotency-key";
/** Characters of a value that is shown whole. */
export const LONGEST = 1000;
const LONGEST_TEXT = 20_000;
// Controls, formats (zero-width, bidirectional, tags), what is not assigned or private, selectors, fillers: nobody sees them, a model does.
const INVISIBLE = /(?!\n|\p{Extended_Pictographic})[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Variation_Selector}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/gu;
// Emoji and scripts keep the one that shapes what stands beside it.
const SHAPING = /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})|(?<=(?![\u0000-\u00a8])\p{Extended_Pictographic})\ufe0f|\ufe0f(?=\u20e3)|(?<=[\u0600-\u1fff])[\u200c\u200d](?=[\u0600-\u1fff])/gu;

function unseen(text: string, replaced: (one: string) => string): string {
  const kept = new Set([...text.matchAll(SHAPING)].map(({ index }) => index));
  return text.replaceAll(INVISIBLE, (one, at: number) => (kept.has(at) ? one : replaced(one)));
}

/** A text without what nobody sees. */
export const seen = (text: string): string => unseen(text, () => "");

/** JSON in which what nobody sees is escaped, so that it stays the same value. */
const escaped = (text: string): string =>
  unseen(text, (one) => one.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`));

export const plain = (text: string): string => text.split(/\s+/).filter(Boolean).join(" ");

/** A name, a place or a path: as JSON where it has what could be taken for more text, or what nobody sees. */
export const named = (text: string): string =>
  (/^[\p{L}\p{M}\p{N}_.~/@$*+=,:()[\]%&!'-]+$/u.test(text) && seen(text) === text ? text : escaped(writeJson(text)));

const whole = (value: Json | undefined): string => (value === undefined ? "" : escaped(writeJson(value)));

/** How many characters a value takes where it is shown. */
export const literalLength = (value: Json): number => whole(value).length;

/** JSON on one line; what is cut says so. */
export function literal(value: Json | undefined): string {
  const text = whole(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}... (cut, ${text.length} characters)`;
}

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

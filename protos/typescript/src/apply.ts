// The next request (SPEC.md, section 4).

import { Inapplicable, edited, fits, stepsOf } from "./edit.ts";
import type { Request } from "./form.ts";
import { together } from "./find.ts";
import { Unreadable, need } from "./read.ts";
import type { Feedback, Placeholder, Suggestion } from "./read.ts";
import type { JsonObject } from "./json.ts";

/** What to send now: wait, then the steps in order, then the request. */
export interface Next {
  kind: "next";
  request: Request;
  steps: Request[];
  waitSeconds: number | bigint;
  newIdempotencyKey: boolean;
  /** The applied suggestions, by index, in order. */
  applied: number[];
}

/** There is no next request. */
export interface Terminal {
  kind: "terminal";
  action: string;
  message: string;
  parameters: JsonObject;
}

/** Somebody has to agree (`confirm`), to choose (`pick`) or to give values first. */
export interface NeedsInput {
  kind: "needs_input";
  confirm: boolean;
  /** Suggestions that can be picked, by index. */
  choices: number[];
  placeholders: Placeholder[];
}

export type Outcome = Next | Terminal | NeedsInput;

export interface Options {
  /** The least sure applicability that is applied: MACHINE_APPLICABLE, or by default MAYBE_INCORRECT. */
  cap?: string;
  /** Whether the user agreed, to all or to one suggestion: without it nothing is applied that changes the intent or loses a value. */
  confirm?: boolean | ((suggestion: Suggestion) => boolean);
  /** The suggestion that was chosen, by index. */
  pick?: number;
}

const RANK: Record<string, number> = { machine_applicable: 2, maybe_incorrect: 1, unspecified: 1, has_placeholders: 0 };

function rank(suggestion: Suggestion): number { // [4.3]
  if (suggestion.placeholders.length > 0) return 0;
  const sure = (suggestion.status === "verified" || suggestion.proven) && !suggestion.confirm;
  return Math.min(RANK[suggestion.applicability]!, sure ? 2 : 1);
}

const usableAt = (cap: number) => (suggestion: Suggestion): boolean =>
  !suggestion.terminal && suggestion.status !== "refuted" && rank(suggestion) >= cap;

function needsInput(feedback: Feedback, confirm = false): NeedsInput {
  const alive = feedback.suggestions.filter((s) => !s.terminal && s.status !== "refuted");
  return {
    kind: "needs_input",
    confirm,
    choices: feedback.suggestions.flatMap((s, i) => (usableAt(1)(s) ? [i] : [])),
    placeholders: alive.flatMap((s) => s.placeholders),
  };
}

interface Unit {
  relation: "none" | "all" | "one_of" | "sequence";
  members: Suggestion[];
}

function unitsOf(suggestions: Suggestion[]): Unit[] { // each at the place of its first member
  return suggestions.flatMap((s, i): Unit[] => {
    if (!s.group) return [{ relation: "none", members: [s] }];
    if (suggestions.slice(0, i).some((earlier) => together(earlier, s))) return [];
    return [{ relation: s.group.relation, members: suggestions.filter((other) => together(s, other)) }];
  });
}

interface Applied {
  suggestion: Suggestion;
  steps: Request[];
}

function run(unit: Unit, request: Request, original: Request, usable: (s: Suggestion) => boolean): { done: Applied[]; request: Request } { // [4.5]
  const done: Applied[] = [];
  let current = request;
  for (const suggestion of unit.members) {
    try {
      fits(usable(suggestion), "not usable");
      const after = edited(suggestion, current);
      done.push({ suggestion, steps: stepsOf(suggestion, original) });
      current = after;
      if (unit.relation === "one_of") break;
    } catch (problem) {
      if (!(problem instanceof Inapplicable)) throw problem;
      if (unit.relation === "all") return { done: [], request };
      if (unit.relation !== "one_of") break;
    }
  }
  return { done, request: current };
}

/** What follows from feedback for the request that was refused. Throws Unreadable for an option that does not fit. */
export function apply(feedback: Feedback, request: Request, { cap = "MAYBE_INCORRECT", confirm = false, pick }: Options = {}): Outcome {
  const { suggestions } = feedback;
  const [first] = suggestions;
  if (first === undefined) return needsInput(feedback); // [4.1]
  if (first.terminal || feedback.recovery === "terminal") {
    return { kind: "terminal", action: first.action, message: first.message || feedback.message, parameters: first.parameters };
  }
  const least = RANK[cap.toLowerCase()];
  if (least === undefined) throw new Unreadable(`${cap} is no applicability`);
  let usable = usableAt(least);
  let units: Unit[];
  if (pick !== undefined) { // [4.2]
    const picked = suggestions[pick];
    need(picked !== undefined, "nothing to pick there");
    usable = usableAt(1);
    const alone: Unit = { relation: "none", members: [picked] };
    units = picked.group && picked.group.relation !== "one_of" ? unitsOf(suggestions).filter((u) => u.members.includes(picked)) : [alone];
  } else if (feedback.type !== "recovery_guidance") return needsInput(feedback);
  else {
    units = unitsOf(suggestions);
    const leader = suggestions.find(usable); // [4.4]
    if (leader?.group) units = units.filter((u) => u.members.includes(leader));
  }
  let current = request;
  const applied: Applied[] = [];
  for (const unit of units) {
    const outcome = run(unit, current, request, usable);
    current = outcome.request;
    applied.push(...outcome.done);
  }
  if (applied.length === 0) return needsInput(feedback); // [4.11]
  const agreed = (suggestion: Suggestion) => (typeof confirm === "function" ? confirm(suggestion) : confirm);
  if (applied.some(({ suggestion }) => suggestion.confirm && !agreed(suggestion))) return needsInput(feedback, true); // [4.10]
  return {
    kind: "next",
    request: current,
    steps: applied.flatMap(({ steps }) => steps),
    waitSeconds: feedback.wait,
    newIdempotencyKey: feedback.key === "new",
    applied: applied.map(({ suggestion }) => suggestions.indexOf(suggestion)),
  };
}

// The reader as a program: one question per line on stdin, one answer per line on stdout, as `conformance check --role consumer` asks.

import { createInterface } from "node:readline";

import { apply } from "./apply.ts";
import type { Outcome } from "./apply.ts";
import { find } from "./find.ts";
import { own, parseJson, writeJson } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { Unreadable, readFeedback } from "./read.ts";
import type { Request } from "./form.ts";

function outcomeAsJson(outcome: Outcome): JsonObject {
  switch (outcome.kind) {
    case "terminal":
      return { terminal: { action: outcome.action, message: outcome.message, parameters: outcome.parameters } };
    case "needs_input":
      return { needs_input: { confirm: outcome.confirm, choices: outcome.choices, placeholders: outcome.placeholders as unknown as Json } };
    case "next": {
      const { request, steps, waitSeconds, newIdempotencyKey } = outcome;
      const { method, path, query, headers, body } = request;
      return { next: { wait: waitSeconds, steps: steps as unknown as Json, request: { method, path, query, headers, body }, new_idempotency_key: newIdempotencyKey } };
    }
  }
}

function answer(line: string): string {
  let id: Json = null;
  try {
    const question = parseJson(line) as JsonObject;
    id = question["id"] ?? null;
    const answered = question["answer"] as { text?: string; body?: Json; status?: number } | undefined;
    const body = typeof answered?.text === "string" ? parseJson(answered.text) : answered?.body ?? null;
    const feedback = own(question, "feedback") ? readFeedback(question["feedback"]!) : find(body, answered?.status ?? undefined);
    if (feedback === undefined) throw new Unreadable("the answer has no feedback");
    const options = (question["options"] ?? {}) as { cap?: string; confirmed?: boolean; choice?: number };
    const { cap, confirmed, choice } = options;
    const outcome = apply(feedback, question["request"] as unknown as Request, {
      ...(cap !== undefined && { cap }),
      ...(confirmed !== undefined && { confirm: confirmed }),
      ...(choice !== undefined && { pick: choice }),
    });
    return writeJson({ id, ...outcomeAsJson(outcome) });
  } catch (problem) {
    return JSON.stringify({ id, error: String((problem as Error).message) });
  }
}

createInterface({ input: process.stdin, crlfDelay: Infinity }).on("line", (line) => {
  if (line.trim() !== "") process.stdout.write(`${answer(line)}\n`);
});

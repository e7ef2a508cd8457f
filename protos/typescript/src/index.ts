// Reads recovery_feedback: from a refused request to the one that will work.

export { apply } from "./apply.ts";
export type { NeedsInput, Next, Options, Outcome, Terminal } from "./apply.ts";
export type { Request } from "./form.ts";
export { explain } from "./explain.ts";
export { correcting } from "./fetch.ts";
export type { CorrectedResponse, Policy, Recovery } from "./fetch.ts";
export { find } from "./find.ts";
export { parseJson, writeJson } from "./json.ts";
export type { Json, JsonObject } from "./json.ts";
export { readFeedback, Unreadable } from "./read.ts";
export type { Feedback, Operation, Placeholder, Step, Suggestion } from "./read.ts";
export type * as contract from "./contract.ts";

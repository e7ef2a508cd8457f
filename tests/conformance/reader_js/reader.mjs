// A reader of the Self-Reflective API Schema v0.1, written from SPEC.md alone, without any package.
// One question per line on stdin, one answer per line on stdout; numbers in brackets are clauses of SPEC.md.
import { createInterface } from "node:readline";

class Unreadable extends Error {}
class Inapplicable extends Error {}

// ---- JSON that keeps what JavaScript would lose: large integers become BigInt, objects have no prototype

const own = (object, name) => object !== null && typeof object === "object" && Object.hasOwn(object, name);
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const bare = (members = {}) => Object.assign(Object.create(null), members);

function parseJson(text) {
  return JSON.parse(text, (_, value, { source }) => {
    if (typeof value === "number" && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)) return BigInt(source);
    return isObject(value) ? bare(value) : value;
  });
}

const writeJson = (value) => JSON.stringify(value, (_, v) => (typeof v === "bigint" ? JSON.rawJSON(String(v)) : v));

function clone(value) {
  if (Array.isArray(value)) return value.map(clone);
  if (!isObject(value)) return value;
  const copy = bare();
  for (const name of Object.keys(value)) copy[name] = clone(value[name]);
  return copy;
}

// ---- section 3: reading

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
  basis: ["author", "spec", "observed"],
  base: ["modify_params", "wait_and_retry", "use_alternative_endpoint", "resolve_precondition", "already_done", "escalate",
    "no_recovery_available"],
};
const TERMINAL = ["already_done", "escalate", "no_recovery_available"];
const KNOWN = new Set(["action", "base_action", "message", "parameters", "patch", "steps", "applicability", "placeholders",
  "verification", "confidence", "safety", "group", "evidence"]);

function need(holds, what) {
  if (!holds) throw new Unreadable(what);
}

function attempt(read, otherwise) {
  try {
    return read();
  } catch (problem) {
    if (problem instanceof Unreadable) return otherwise;
    throw problem;
  }
}

function text(value, what) {
  need(typeof value === "string" && value.isWellFormed(), `${what} is no text`);
  return value;
}

function word(list, value, what) {
  const found = text(value, what).toLowerCase();
  need(WORDS[list].includes(found), `${what} is no word of its list`);
  return found;
}

function flag(value, what) {
  need(typeof value === "boolean", `${what} is neither true nor false`);
  return value;
}

function literal(value, what, depth = 0) { // [1.13]
  need(depth <= 24, `${what} nests too deep`);
  if (typeof value === "number") need(Number.isFinite(value), `${what} is not finite`);
  else if (typeof value === "string") text(value, what);
  else if (Array.isArray(value)) value.forEach((item) => literal(item, what, depth + 1));
  else if (isObject(value)) {
    for (const name of Object.keys(value)) literal(value[text(name, what)], what, depth + 1);
  }
  return value;
}

// The member of an object, or undefined where it is absent; null counts as absent [3.1].
const member = (object, name) => (own(object, name) && object[name] !== null ? object[name] : undefined);

function optional(object, name, read, otherwise) {
  const value = member(object, name);
  return value === undefined ? otherwise : read(value, name);
}

function object(value, what) {
  need(isObject(value), `${what} is no object`);
  return value;
}

function list(value, what, read) {
  need(Array.isArray(value), `${what} is no array`);
  return value.map((item, index) => read(object(item, `${what}/${index}`), `${what}/${index}`));
}

function texts(value, what) {
  need(Array.isArray(value), `${what} is no array`);
  return value.map((item, index) => text(item, `${what}/${index}`));
}

function required(object, name, read) {
  need(member(object, name) !== undefined, `${name} is missing`);
  return read(object[name], name);
}

function readOperation(given) {
  return {
    verb: required(given, "op", (v) => word("verb", v, "op")),
    path: required(given, "path", text),
    from: optional(given, "from", text),
    hasValue: own(given, "value"),
    value: own(given, "value") ? literal(given.value, "value") : null,
  };
}

function readStep(given) {
  const headers = optional(given, "headers", object, bare());
  for (const name of Object.keys(headers)) text(headers[name], "a header");
  return {
    method: required(given, "method", text),
    path: required(given, "path", text),
    query: literal(optional(given, "query", object, bare()), "query"),
    headers,
    body: own(given, "body") ? literal(given.body, "body") : null,
  };
}

function readPlaceholder(given) {
  const placeholder = { pointer: required(given, "pointer", text) };
  const ask = optional(given, "ask", (v) => word("ask", v, "ask"));
  const schema = optional(given, "schema", object);
  return { ...placeholder, ...(ask && { ask }), ...(schema && { schema }) };
}

const count = (value, what) => {
  need(typeof value === "bigint" ? value >= 0n : Number.isInteger(value) && value >= 0, `${what} is no count`);
  return Number(value);
};

function readSuggestion(given, what) {
  object(given, what);
  const action = required(given, "action", text);
  need(action !== "", "action is empty");
  const short = bare(); // [3.4]
  for (const name of Object.keys(given)) if (!KNOWN.has(name) && given[name] !== null) short[name] = given[name];
  const safety = optional(given, "safety", object, bare());
  optional(safety, "side_effects", (v) => word("effects", v, "side_effects"));
  const base = optional(given, "base_action", (v) => word("base", v, "base_action"));
  const name = action.toLowerCase();
  return {
    action: action.toUpperCase(),
    message: attempt(() => optional(given, "message", text), undefined), // [3.3]
    kind: WORDS.base.includes(name) ? name : base ?? "modify_params", // [4.12]
    terminal: TERMINAL.includes(name) || TERMINAL.includes(base), // [1.6]
    parameters: literal(optional(given, "parameters", object, short), "parameters"),
    patch: optional(given, "patch", (v, at) => list(v, at, readOperation), []),
    steps: optional(given, "steps", (v, at) => list(v, at, readStep), []),
    placeholders: optional(given, "placeholders", (v, at) => list(v, at, readPlaceholder), []),
    applicability: optional(given, "applicability", (v) => word("applicability", v, "applicability"), "unspecified"),
    status: attempt(() => optional(given, "verification", (v) => required(object(v, "verification"), "status", (w) => word("status", w, "status")))),
    proven: attempt(() => optional(given, "confidence", proven, false), false),
    confirm: [ // [4.10]
      optional(safety, "requires_confirmation", flag, false),
      optional(safety, "changes_intent", flag, false),
      optional(safety, "loses", texts, []).length > 0,
    ].some(Boolean),
    group: optional(given, "group", (v) => ({
      id: required(object(v, "group"), "id", text),
      relation: required(v, "relation", (w) => word("relation", w, "relation")),
    })),
  };
}

function proven(confidence) { // [1.9]: 20 trials, and the lower end of the 95 % Wilson interval
  object(confidence, "confidence");
  const basis = required(confidence, "basis", (v) => word("basis", v, "basis"));
  const k = optional(confidence, "successes", count);
  const n = optional(confidence, "trials", count);
  if (basis !== "observed" || k === undefined || n === undefined || n < 20 || k > n) return false;
  const z = 1.959963984540054;
  const centre = k + (z * z) / 2;
  const margin = z * Math.sqrt((k * (n - k)) / n + (z * z) / 4);
  return (centre - margin) / (n + z * z) >= 0.9;
}

function readFeedback(given) {
  object(given, "feedback");
  if (READ.has(given)) return given;
  const retry = optional(given, "retry", object, bare());
  const wait = optional(retry, "after_seconds", (v) => {
    need((typeof v === "number" && Number.isFinite(v)) || typeof v === "bigint", "after_seconds is no number");
    need(v >= 0, "after_seconds is below zero");
    return v;
  }, 0);
  optional(retry, "max_attempts", count);
  optional(retry, "same_request", flag);
  const key = optional(retry, "idempotency_key", (v) => word("key", v, "idempotency_key"));
  const suggestions = optional(given, "suggestions", (v) => {
    need(Array.isArray(v), "suggestions is no array");
    return v.map((item, index) => readSuggestion(item, `suggestions/${index}`));
  }, []);
  return {
    type: optional(given, "type", (v) => word("type", v, "type"), "recovery_guidance"), // [3.2]
    message: attempt(() => optional(given, "message", text, ""), ""),
    recovery: optional(given, "recovery", (v) => word("recovery", v, "recovery")),
    wait,
    newKey: key === "new",
    suggestions,
  };
}

// ---- [3.5]: where feedback is in an answer

const at = (value, ...names) => names.reduce((v, name) => (own(v, name) ? v[name] : undefined), value);
const items = (value) => (Array.isArray(value) ? value : []);

function held(textual) { // the JSON object that a text is
  if (typeof textual !== "string" || textual.length > 65536 || !textual.trimStart().startsWith("{")) return undefined;
  try {
    const value = parseJson(textual);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const READ = new WeakSet(); // what has been read already
const REASON = "RecoveryFeedback";
const failed = (result) => at(result, "isError") === true && Array.isArray(at(result, "content"));

function* places(body, status) { // nowhere in an answer that does not refuse
  const top = () => at(body, "recovery_feedback");
  const inError = () => at(body, "error", "recovery_feedback");
  if (own(body, "jsonrpc")) {
    if (isObject(body.error)) yield* [top(), inError(), at(body, "error", "data", "recovery_feedback")];
    else if (failed(body.result)) yield lastItem(body.result);
  } else if (failed(body)) yield* [top(), lastItem(body)];
  else if (Array.isArray(body.content) && own(body, "isError")) return;
  else if (status === undefined || status >= 400) {
    yield* [top(), inError(), at(body, "error", "data", "recovery_feedback")];
    yield* extensions(body);
    yield* causes(body);
    for (const refusal of [body, at(body, "error")]) {
      for (const detail of at(refusal, "code") === 0 ? [] : items(at(refusal, "details"))) {
        const type = at(detail, "@type");
        if (typeof type === "string" && type.split("/").pop() === "corrigible.schema.v0_1.RecoveryFeedback") yield fromProtoJson(detail);
      }
    }
  } else if (body.success === false || body.ok === false) yield* [top(), inError()];
  else if (items(body.errors).length > 0 && Object.keys(body).every((name) => ["data", "errors", "extensions"].includes(name))) {
    yield* extensions(body);
  }
}

function* extensions(body) {
  for (const error of items(at(body, "errors"))) yield at(error, "extensions", "recovery_feedback");
}

function* causes(body) {
  if (at(body, "kind") !== "Status" || at(body, "status") === "Success") return;
  for (const cause of items(at(body, "details", "causes"))) {
    const said = at(cause, "reason") === REASON ? held(at(cause, "message")) : undefined;
    if (said !== undefined) yield attempt(() => stripped(readFeedback(said)));
  }
}

function lastItem(result) { // nothing but the feedback, behind all that a tool may quote
  const last = items(at(result, "content")).at(-1);
  const parsed = at(last, "type") === "text" ? held(at(last, "text")) : undefined;
  return parsed && Object.keys(parsed).length === 1 ? at(parsed, "recovery_feedback") : undefined;
}

function find(body, status) {
  if (isObject(body)) for (const found of places(body, status)) if (isObject(found) && !own(found, "$ref")) return found;
  throw new Unreadable("the answer has no feedback");
}

// ---- [3.6]: a cause can be written by anybody behind the API server

function inBody(pointer) {
  if (!pointer.startsWith("/body/") || /~(?![01])/.test(pointer)) return false;
  const [first, second] = pointer.split("/").slice(2).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (["kind", "apiVersion"].includes(first)) return false;
  return first !== "metadata" || !(second === undefined || ["name", "namespace", "generateName", "uid"].includes(second));
}

function* merging(under, parameters) { // a merge into the body, as a patch
  for (const [name, value] of Object.entries(parameters)) {
    const path = `${under}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    if (value === null) yield { verb: "remove", path, hasValue: false, value: null };
    else if (isObject(value)) yield* merging(path, value);
    else yield { verb: "add", path, hasValue: true, value };
  }
}

function bodyEdit(suggestion) {
  if (suggestion.kind !== "modify_params" || suggestion.terminal || suggestion.steps.length > 0) return undefined;
  const patch = suggestion.patch.length > 0 ? suggestion.patch : [...merging("/body", suggestion.parameters)];
  const touched = [...patch.flatMap(({ path, from }) => [path, from ?? path]), ...suggestion.placeholders.map((p) => p.pointer)];
  return touched.length > 0 && touched.every(inBody) ? patch : undefined;
}

function stripped(feedback) {
  const edits = feedback.suggestions.map((s, i) => (i < 16 ? bodyEdit(s) : undefined));
  const lost = feedback.suggestions.filter((s, i) => edits[i] === undefined && s.group && s.group.relation !== "one_of");
  const suggestions = feedback.suggestions.flatMap((s, i) => {
    if (edits[i] === undefined || lost.some((other) => together(s, other))) return [];
    const placeholders = s.placeholders.map(({ pointer }) => ({ pointer, ask: "user" }));
    return [{ ...s, action: "MODIFY_PARAMS", message: "", patch: edits[i], placeholders, applicability: "unspecified",
      status: undefined, proven: false, confirm: true }];
  });
  if (suggestions.length === 0) return undefined;
  const type = feedback.type === "intent_disambiguation" ? feedback.type : "recovery_guidance";
  const read = { type, message: "", recovery: "correctable", wait: 0, newKey: false, suggestions };
  READ.add(read);
  return read;
}

// The Any in proto-JSON: camel case, words behind the name of their type, literals as JSON text.
const PREFIXES = { type: "FEEDBACK_TYPE_", recovery: "RECOVERY_", idempotency_key: "IDEMPOTENCY_KEY_", op: "PATCH_VERB_",
  applicability: "APPLICABILITY_", ask: "ASK_", status: "VERIFICATION_STATUS_", basis: "CONFIDENCE_BASIS_",
  side_effects: "SIDE_EFFECTS_", relation: "RELATION_" };

function fromProtoJson(message) {
  const out = bare();
  for (const [camel, value] of Object.entries(message)) {
    const name = camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (name.endsWith("_json") && typeof value === "string") {
      try {
        out[name.slice(0, -5)] = parseJson(value);
      } catch {
        return undefined;
      }
    } else if (own(PREFIXES, name) && typeof value === "string") out[name] = value.replace(PREFIXES[name], "");
    else if (["max_attempts", "attempt", "successes", "trials"].includes(name)) out[name] = Number(value);
    else if (name === "headers") out[name] = value;
    else if (Array.isArray(value)) out[name] = value.map((item) => (isObject(item) ? fromProtoJson(item) : item));
    else out[name] = isObject(value) ? fromProtoJson(value) : value;
  }
  return out;
}

// ---- section 2 and [4.6]-[4.9]: edits of the request document

const ROUTING = ["host", "content-length", "transfer-encoding", "connection", "upgrade"]; // [4.9]
const SECRET = ["authorization", "cookie", "proxy-authorization"];
const STRANGE = /\/\/|[\u0000-\u001f\u007f\\]|(^|\/)\.{1,2}(;[^/]*)?(\/|$)/;
const unescaped = (path) => path.replace(/(%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString("utf8"));

function isPath(path) { // one place, however often its escapes are undone
  if (path === "") return true;
  if (!/^\/(?!\/)[^\u0000-\u001f\u007f-\u009f?#\\]*$/.test(path)) return false;
  for (let here = path, rounds = 0; rounds <= 3; rounds += 1) {
    if (STRANGE.test(here)) return false;
    const before = here;
    here = unescaped(here);
    if (here === before) return true;
  }
  return false;
}

const isMethod = (method) => /^([A-Z][A-Z-]{0,19}|\/[A-Za-z_][\w.]*\/[A-Za-z_]\w*)$/.test(method);

function fits(holds, why) {
  if (!holds) throw new Inapplicable(why);
}

function tokens(pointer) {
  fits(pointer === "" || (pointer.startsWith("/") && !/~(?![01])/.test(pointer)), `${pointer} is no pointer`);
  const parts = pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  if (parts[0] === "headers" && parts.length > 1) parts[1] = parts[1].toLowerCase(); // [2.1]
  return parts;
}

function index(part, length) {
  fits(/^(0|[1-9]\d*)$/.test(part) && Number(part) < length, `${part} is no index there`);
  return Number(part);
}

const step = (value, part) => {
  if (Array.isArray(value)) return value[index(part, value.length)];
  fits(own(value, part), `${part} is not there`);
  return value[part];
};
const read = (root, parts) => parts.reduce(step, root);

function put(root, parts, value, replacing) {
  fits(parts.length > 0, "the document cannot be replaced");
  const last = parts.at(-1);
  const holder = read(root, parts.slice(0, -1));
  if (replacing) read(holder, [last]);
  if (Array.isArray(holder)) {
    if (replacing) holder[index(last, holder.length)] = value;
    else holder.splice(last === "-" ? holder.length : index(last, holder.length + 1), 0, value);
  } else {
    fits(isObject(holder), "nothing can be put there");
    holder[last] = value;
  }
}

function take(root, parts) {
  fits(parts.length > 0, "the document cannot be removed");
  const holder = read(root, parts.slice(0, -1));
  const value = step(holder, parts.at(-1));
  if (Array.isArray(holder)) holder.splice(Number(parts.at(-1)), 1);
  else delete holder[parts.at(-1)];
  return value;
}

function same(one, other, byText) { // [4.8]
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && one.length === other.length && one.every((v, i) => same(v, other[i], byText));
  }
  if (isObject(one) || isObject(other)) {
    if (!isObject(one) || !isObject(other)) return false;
    const names = Object.keys(one);
    return names.length === Object.keys(other).length && names.every((n) => own(other, n) && same(one[n], other[n], byText));
  }
  if (byText) return String(one ?? "") === String(other ?? "");
  const numbers = [one, other].every((v) => typeof v === "number" || typeof v === "bigint");
  return numbers ? one == other : one === other;
}

function patched(operations, request) {
  const secrets = bare();
  const document = bare({ method: request.method, path: request.path, query: clone(request.query), headers: bare(), body: clone(request.body) });
  for (const name of Object.keys(request.headers)) {
    const low = name.toLowerCase();
    (SECRET.includes(low) ? secrets : document.headers)[low] = request.headers[name];
  }
  const before = { ...document.headers };
  for (const { verb, path, from, hasValue, value } of operations) {
    const parts = tokens(path);
    fits(hasValue || !["add", "replace", "test"].includes(verb), `${verb} needs a value`);
    fits(from !== undefined || !["move", "copy"].includes(verb), `${verb} needs from`);
    if (verb === "test") {
      const byText = parts[0] === "query" || (parts[0] === "body" && request.form);
      fits(same(read(document, parts), value, byText), `${path} is something else`);
    } else if (verb === "remove") take(document, parts);
    else if (verb === "move") {
      fits(!`${path}/`.startsWith(`${from}/`) || path === from, "nothing moves into itself");
      put(document, parts, take(document, tokens(from)), false);
    } else if (verb === "copy") put(document, parts, clone(read(document, tokens(from))), false);
    else put(document, parts, clone(value), verb === "replace");
  }
  for (const name of Object.keys(document)) fits(["method", "path", "query", "headers", "body"].includes(name), `${name} is no member`);
  const { method, path, query = bare(), headers = bare(), body = null } = document;
  fits(typeof method === "string" && (method === request.method || isMethod(method)), "no method");
  fits(typeof path === "string" && (path === request.path || isPath(path)), "no path on the host");
  fits(isObject(query) && isObject(headers), "no query or headers");
  const merged = bare();
  for (const name of Object.keys(headers)) {
    const said = ["number", "boolean", "bigint"].includes(typeof headers[name]) ? String(headers[name]) : headers[name];
    if (said !== before[name]) checkHeader(name, said);
    merged[name] = said;
  }
  return { ...request, method, path, query, headers: Object.assign(merged, secrets), body };
}

function checkHeader(name, value) {
  fits(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name), "no header name");
  fits(!SECRET.includes(name.toLowerCase()), "credentials are the caller's");
  fits(!ROUTING.includes(name.toLowerCase()), "where a request goes is the sender's");
  fits(typeof value === "string" && !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value), "no header value");
}

function merge(target, patch) { // RFC 7396
  if (!isObject(patch)) return clone(patch);
  const out = isObject(target) ? bare(target) : bare();
  for (const name of Object.keys(patch)) {
    if (patch[name] === null) delete out[name];
    else out[name] = merge(own(out, name) ? out[name] : undefined, patch[name]);
  }
  return out;
}

function edited(suggestion, request) {
  if (suggestion.patch.length > 0) return patched(suggestion.patch, request);
  if (suggestion.kind === "wait_and_retry" || Object.keys(suggestion.parameters).length === 0) return request;
  if (request.body === null && ["GET", "HEAD", "DELETE"].includes(request.method)) {
    return { ...request, query: merge(request.query, suggestion.parameters) };
  }
  fits(request.body === null || isObject(request.body), "the body is no object");
  return { ...request, body: merge(request.body, suggestion.parameters) };
}

function stepsOf(suggestion, request) { // [4.9]
  return suggestion.steps.map(({ method, path, query, headers, body }) => {
    fits(isMethod(method) && isPath(path), "a step leaves the host");
    const all = bare();
    for (const name of Object.keys(headers)) {
      checkHeader(name, headers[name]);
      all[name.toLowerCase()] = headers[name];
    }
    for (const name of Object.keys(request.headers)) {
      if (SECRET.includes(name.toLowerCase())) all[name.toLowerCase()] = request.headers[name];
    }
    return { method, path, query, headers: all, body };
  });
}

// ---- section 4: the next request

const RANK = { machine_applicable: 2, maybe_incorrect: 1, unspecified: 1, has_placeholders: 0 };

function rank(suggestion) { // [4.3]
  if (suggestion.placeholders.length > 0) return 0;
  const sure = (suggestion.status === "verified" || suggestion.proven) && !suggestion.confirm;
  return Math.min(RANK[suggestion.applicability], sure ? 2 : 1);
}

const usableAt = (cap) => (suggestion) => !suggestion.terminal && suggestion.status !== "refuted" && rank(suggestion) >= cap;

function needsInput(feedback, confirm = false) {
  const alive = feedback.suggestions.filter((s) => !s.terminal && s.status !== "refuted");
  return { needs_input: {
    confirm,
    choices: feedback.suggestions.flatMap((s, i) => (usableAt(1)(s) ? [i] : [])),
    placeholders: alive.flatMap((s) => s.placeholders),
  } };
}

const together = (one, other) => one.group && other.group && one.group.id === other.group.id && one.group.relation === other.group.relation;

function unitsOf(suggestions) { // each at the place of its first member
  return suggestions.flatMap((s, i) => {
    if (!s.group) return [{ relation: "none", members: [s] }];
    if (suggestions.slice(0, i).some((earlier) => together(earlier, s))) return [];
    return [{ relation: s.group.relation, members: suggestions.filter((other) => together(s, other)) }];
  });
}

function run(unit, request, original, usable) { // [4.5]: what is applied, and the request after it
  const done = [];
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

function follow(feedback, request, { cap = "MAYBE_INCORRECT", confirmed = false, choice }) {
  const { suggestions } = feedback;
  if (suggestions.length === 0) return needsInput(feedback); // [4.1]
  const [first] = suggestions;
  if (first.terminal || feedback.recovery === "terminal") {
    return { terminal: { action: first.action, message: first.message || feedback.message, parameters: first.parameters } };
  }
  let usable = usableAt(RANK[cap.toLowerCase()]);
  let units;
  if (choice !== undefined) { // [4.2]
    need(choice >= 0 && choice < suggestions.length, "nothing to pick there");
    const picked = suggestions[choice];
    usable = usableAt(1);
    const alone = { relation: "none", members: [picked] };
    units = picked.group && picked.group.relation !== "one_of" ? unitsOf(suggestions).filter((u) => u.members.includes(picked)) : [alone];
  } else if (feedback.type !== "recovery_guidance") return needsInput(feedback);
  else {
    units = unitsOf(suggestions);
    const leader = suggestions.find(usable); // [4.4]
    if (leader?.group) units = units.filter((u) => u.members.includes(leader));
  }
  let current = request;
  const applied = [];
  for (const unit of units) {
    const outcome = run(unit, current, request, usable);
    current = outcome.request;
    applied.push(...outcome.done);
  }
  if (applied.length === 0) return needsInput(feedback); // [4.11]
  if (!confirmed && applied.some(({ suggestion }) => suggestion.confirm)) return needsInput(feedback, true); // [4.10]
  const { method, path, query, headers, body } = current;
  return { next: {
    wait: feedback.wait,
    steps: applied.flatMap(({ steps }) => steps),
    request: { method, path, query, headers, body },
    new_idempotency_key: feedback.newKey,
  } };
}

function answer(line) {
  let id = null;
  try {
    const question = parseJson(line);
    id = question.id;
    const { request, feedback, answer: answered, options } = question;
    const body = answered && (typeof answered.text === "string" ? parseJson(answered.text) : answered.body);
    const found = own(question, "feedback") ? feedback : find(body, answered?.status ?? undefined);
    return writeJson({ id, ...follow(readFeedback(found), request, options ?? {}) });
  } catch (problem) {
    return JSON.stringify({ id, error: String(problem.message) });
  }
}

createInterface({ input: process.stdin, crlfDelay: Infinity }).on("line", (line) => {
  if (line.trim() !== "") process.stdout.write(`${answer(line)}\n`);
});

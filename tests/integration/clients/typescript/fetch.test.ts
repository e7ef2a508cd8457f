// The fetch wrapper over real connections: an API of a few lines that refuses, and accepts what it asked for.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { after, before, beforeEach, test } from "node:test";

import { correcting, explain, find } from "corrigible";
import type { Policy, Suggestion } from "corrigible";

interface Received {
  method: string;
  target: string;
  headers: IncomingMessage["headers"];
  body: string;
}

const received: Received[] = [];
let answers: [number, Record<string, string>, string][] = [];
const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  received.push({ method: request.method!, target: request.url!, headers: request.headers, body });
  const [status, headers, text] = answers.shift() ?? [200, {}, "{}"];
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
});
let url = "";
before(() => new Promise<void>((ready) => server.listen(0, "127.0.0.1", () => ready())).then(() => {
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}));
after(() => server.close());
beforeEach(() => {
  received.length = 0;
});

const refusal = (suggestion: object, more: object = {}): [number, Record<string, string>, string] => [
  422,
  {},
  JSON.stringify({ error: "no", recovery_feedback: { type: "recovery_guidance", message: "It is too much.", suggestions: [suggestion], ...more } }),
];
const edit = { action: "MODIFY_PARAMS", message: "Take less.", parameters: { amount: 3 }, patch: [{ op: "replace", path: "/body/amount", value: 3 }] };
const proved = { ...edit, applicability: "MACHINE_APPLICABLE", verification: { status: "verified", method: "dry_run" } };
const post = (policy: Policy, body: unknown = { amount: 5, id: 1 }) =>
  correcting(fetch, policy)(`${url}/refunds?a=1&a=2`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer x", "idempotency-key": "k" },
    body: JSON.stringify(body),
  });

test("nothing is sent again by default, and the answer explains itself", async () => {
  answers = [refusal(proved)];
  const response = await post({});
  assert.equal(response.status, 422);
  assert.equal((await response.json()).error, "no"); // the body is still there
  assert.equal(response.recovery?.text, "It is too much.\nCorrection (verified): Take less.\n  /body/amount: 5 -> 3");
  assert.equal(received.length, 1);
});

test("a proved repair is sent with everything else as it was", async () => {
  answers = [refusal(proved)];
  const response = await post({ onRefusal: "repair" });
  assert.equal(response.status, 200);
  const [first, second] = received as [Received, Received];
  assert.deepEqual(JSON.parse(second.body), { amount: 3, id: 1 });
  assert.equal(second.target, first.target);
  for (const name of ["authorization", "content-type", "idempotency-key"]) assert.equal(second.headers[name], first.headers[name]);
});

test("a new idempotency key is made where one is asked for", async () => {
  answers = [refusal(proved, { retry: { idempotency_key: "new" } })];
  await post({ onRefusal: "repair" });
  assert.notEqual(received[1]!.headers["idempotency-key"], "k");
});

test("what is not proved is not sent by repair", async () => {
  answers = [refusal(edit)];
  assert.equal((await post({ onRefusal: "repair" })).status, 422);
});

for (const [agrees, status] of [[true, 200], [false, 422]] as const) {
  test(`a changed intent is confirmed: ${agrees}`, async () => {
    answers = [refusal({ ...edit, safety: { changes_intent: true, loses: ["/body/amount"] } })];
    const asked: [Suggestion, string][] = [];
    const confirm = (suggestion: Suggestion, text: string) => (asked.push([suggestion, text]), Promise.resolve(agrees));
    assert.equal((await post({ onRefusal: "confirm", confirm })).status, status);
    assert.equal(asked.length, 1);
    assert.match(asked[0]![1], /only if the user agrees \(it changes what was asked for; it loses \/body\/amount\)/);
    assert.ok(asked[0]![1].endsWith("\nTo be sent:\n  POST /refunds\n    /body/amount: 5 -> 3"));
  });
}

test("without confirm nothing that changes the intent is sent", async () => {
  answers = [refusal({ ...edit, safety: { changes_intent: true } })];
  assert.equal((await post({ onRefusal: "confirm" })).status, 422);
});

test("corrections end", async () => {
  answers = [4, 3, 2, 1, 0].map((value) => refusal({ ...proved, patch: [{ op: "replace", path: "/body/amount", value }] }));
  assert.equal((await post({ onRefusal: "repair", maxCorrections: 2 })).status, 422);
  assert.equal(received.length, 3);
});

test("a long wait is not waited for", async () => {
  answers = [refusal(proved, { retry: { after_seconds: 100 } })];
  assert.equal((await post({ onRefusal: "repair", maxWait: 1 })).status, 422);
});

test("steps go first; a step that fails ends it", async () => {
  const steps = [{ method: "PUT", path: "/limits", body: { most: 9 } }];
  answers = [refusal({ ...proved, steps }), [200, {}, "{}"]];
  assert.equal((await post({ onRefusal: "confirm", confirm: () => true })).status, 200);
  assert.deepEqual(received.map(({ method, target }) => `${method} ${target}`), ["POST /refunds?a=1&a=2", "PUT /limits", "POST /refunds?a=1&a=2"]);
  assert.equal(received[1]!.headers.authorization, "Bearer x");
  received.length = 0;
  answers = [refusal({ ...proved, steps }), [500, {}, "{}"]];
  assert.equal((await post({ onRefusal: "confirm", confirm: () => true })).status, 422);
  assert.equal(received.length, 2);
});

test("forms stay forms", async () => {
  answers = [refusal({ ...proved, patch: [{ op: "replace", path: "/body/card/month", value: 12 }] })];
  const body = new URLSearchParams({ "card[month]": "13", "card[year]": "2030" });
  await correcting(fetch, { onRefusal: "repair" })(`${url}/cards`, { method: "POST", body });
  assert.equal(received[1]!.headers["content-type"], received[0]!.headers["content-type"]);
  assert.deepEqual(Object.fromEntries(new URLSearchParams(received[1]!.body)), { "card[month]": "12", "card[year]": "2030" });
});

test("large integers survive", async () => {
  answers = [refusal(proved)];
  await correcting(fetch, { onRefusal: "repair" })(`${url}/x`, { method: "POST", body: '{"amount":5,"id":12345678901234567890}' });
  assert.equal(received[1]!.body, '{"amount":3,"id":12345678901234567890}');
});

test("a Link to our own place is followed without credentials, any other is not", async () => {
  const document = JSON.stringify({ type: "recovery_guidance", message: "It is too much.", suggestions: [proved] });
  const linked = (target: string): typeof answers => [[422, { "content-type": "text/plain", link: `<${target}>; rel="recovery-feedback"` }, "no"], [200, {}, document]];
  answers = linked("/.well-known/recovery-feedback/1");
  assert.equal((await post({ onRefusal: "repair" })).status, 200);
  assert.deepEqual(received.map(({ target }) => target), ["/refunds?a=1&a=2", "/.well-known/recovery-feedback/1", "/refunds?a=1&a=2"]);
  assert.deepEqual(received.map(({ headers }) => headers.authorization), ["Bearer x", undefined, "Bearer x"]);
  for (const target of ["http://127.0.0.1:1/.well-known/recovery-feedback/1", "/other/1", "/.well-known/recovery-feedback/../../x", "/.well-known/recovery-feedback/1?a"]) {
    received.length = 0;
    answers = linked(target);
    assert.equal((await post({ onRefusal: "repair" })).status, 422);
    assert.equal(received.length, 1);
  }
});

test("successes and streams pass", async () => {
  answers = [[200, {}, '{"recovery_feedback": 1}'], refusal(proved)];
  const success = await post({ onRefusal: "repair" });
  assert.equal(success.recovery, undefined);
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("{}"));
      controller.close();
    },
  });
  const response = await correcting(fetch, { onRefusal: "repair" })(`${url}/x`, { method: "POST", body: stream, duplex: "half" } as RequestInit);
  assert.equal(response.status, 422);
  assert.equal(received.length, 2);
});

test("feedback that cannot be read leaves the answer", async () => {
  answers = [refusal({ action: 7 }), [422, {}, "{"]];
  for (const _ of answers) assert.equal((await post({ onRefusal: "repair" })).recovery, undefined);
});

test("an invisible character does not reach a model", () => {
  const feedback = find({ recovery_feedback: { message: "a\u200bb\nc", suggestions: [] } });
  assert.equal(explain(feedback!), "ab c");
});

test("what is not sure is not sent where nobody can confirm it", async () => {
  answers = [refusal(edit)];
  assert.equal((await post({ onRefusal: "confirm" })).status, 422);
  assert.equal(received.length, 1);
});

test("a body that is no text, or whose numbers would lose digits, is not written again", async () => {
  const bodies: [string, BodyInit][] = [
    ["application/octet-stream", new Uint8Array([0xff, 0xfe, 0])],
    ["multipart/form-data; boundary=x", "--x--"],
    ["application/json", '{"amount":5,"rate":0.12345678901234567891}'],
    ["application/json", '{"amount":5,"rate":1e999}'],
  ];
  for (const [type, body] of bodies) {
    received.length = 0;
    answers = [refusal({ ...proved, patch: [{ op: "add", path: "/query/b", value: "1" }] })];
    const response = await correcting(fetch, { onRefusal: "repair" })(`${url}/x`, { method: "POST", body, headers: { "content-type": type } });
    assert.equal(response.status, 422);
    assert.ok(response.recovery?.text);
    assert.equal(received.length, 1);
  }
});

test("no credential is shown, set or copied, and steps have it", async () => {
  const headers = { "x-api-key": "s3cret", authorization: "Bearer s3cret" };
  const send = () => correcting(fetch, { onRefusal: "confirm", confirm: () => true })(`${url}/x`, { method: "POST", body: "{}", headers });
  for (const name of Object.keys(headers)) {
    for (const patch of [{ op: "add", path: `/headers/${name}`, value: "other" }, { op: "copy", from: `/headers/${name}`, path: "/body/note" }]) {
      received.length = 0;
      answers = [refusal({ ...proved, patch: [patch] })];
      const response = await send();
      assert.equal(response.status, 422);
      assert.doesNotMatch(response.recovery!.text, /s3cret/);
      assert.equal(received.length, 1);
    }
  }
  received.length = 0;
  answers = [refusal({ ...proved, patch: [{ op: "add", path: "/body/a", value: 1 }], steps: [{ method: "PUT", path: "/limits" }] }), [200, {}, "{}"]];
  assert.equal((await send()).status, 200);
  assert.deepEqual(received.map(({ headers: { "x-api-key": key } }) => key), ["s3cret", "s3cret", "s3cret"]);
});

test("another host that a redirect leads to corrects nothing", async () => {
  const [, , body] = refusal(proved);
  const other = createServer((_, response) => response.writeHead(422, { "content-type": "application/json" }).end(body));
  await new Promise<void>((ready) => other.listen(0, "127.0.0.1", () => ready()));
  answers = [[307, { location: `http://127.0.0.1:${(other.address() as AddressInfo).port}/` }, ""]];
  const response = await post({ onRefusal: "repair" });
  other.close();
  assert.equal(response.status, 422);
  assert.equal(response.recovery, undefined);
  assert.equal(received.length, 1);
});

test("what cannot be read or sent leaves the answer", async () => {
  answers = [[422, {}, "[".repeat(500_000)], refusal({ ...proved, patch: [{ op: "replace", path: "/method", value: "TRACE" }] })];
  for (const _ of [...answers]) assert.equal((await post({ onRefusal: "repair" })).status, 422);
  answers = [refusal({ ...proved, patch: Array.from({ length: 40 }, (_, i) => ({ op: "copy", from: "/body", path: `/body/c${i}` })) })];
  assert.equal((await post({ onRefusal: "repair" })).status, 422);
  received.length = 0;
  answers = [refusal({ ...proved, steps: Array.from({ length: 17 }, () => ({ method: "PUT", path: "/limits" })) })];
  assert.equal((await post({ onRefusal: "repair" })).status, 422);
  assert.equal(received.length, 1);
});

test("only what the API itself has confirmed is called verified", () => {
  const of = (verification: object) => explain(find(JSON.parse(refusal({ ...edit, verification })[2]), 422)!).split("\n")[1];
  assert.equal(of({ status: "verified", method: "dry_run" }), "Correction (verified): Take less.");
  assert.equal(of({ status: "verified", method: "lookup" }), "Correction (verified): Take less.");
  assert.equal(of({ status: "verified", method: "schema" }), "Correction (fits the API's description): Take less.");
  assert.equal(of({ status: "verified" }), "Correction: Take less.");
  assert.equal(of({ status: "unverified", method: "schema" }), "Correction: Take less.");
});

const wait = { action: "WAIT_AND_RETRY", parameters: {} };

test("the same request is sent again after the wait where the feedback says so", async () => {
  const started = Date.now();
  answers = [refusal(wait, { retry: { same_request: true, after_seconds: 0.2, idempotency_key: "reuse" } })];
  assert.equal((await post({ onRefusal: "repair" })).status, 200);
  assert.ok(Date.now() - started >= 195);
  assert.deepEqual(received[1], received[0]);
  received.length = 0;
  answers = [refusal(wait, { retry: { same_request: true } })];
  assert.equal((await post({ onRefusal: "confirm", confirm: () => assert.fail() })).status, 200);
});

for (const retry of [{ same_request: false }, {}]) {
  test(`it is not sent again otherwise: ${JSON.stringify(retry)}`, async () => {
    for (const policy of [{ onRefusal: "repair" }, { onRefusal: "confirm", confirm: () => true }] as Policy[]) {
      received.length = 0;
      answers = [refusal({ ...wait, applicability: "MACHINE_APPLICABLE", verification: { status: "verified", method: "lookup" } }, { retry })];
      const response = await post(policy);
      assert.equal(response.status, 422);
      assert.ok(response.recovery?.text.endsWith("Not sent: it is not known whether the same request may be sent again."));
      assert.equal(received.length, 1);
    }
  });
}

test("a wait that is more than a wait is not sent unasked", async () => {
  answers = [refusal({ ...wait, patch: [{ op: "add", path: "/body/force", value: true }] }, { retry: { same_request: true } })];
  assert.equal((await post({ onRefusal: "repair" })).status, 422);
  assert.equal(received.length, 1);
});

test("a safe request may be sent again, and a call with a key under a new one", async () => {
  answers = [refusal(wait)];
  assert.equal((await correcting(fetch, { onRefusal: "confirm", confirm: () => true })(`${url}/a`)).status, 200);
  received.length = 0;
  answers = [refusal(wait, { retry: { same_request: false, idempotency_key: "new" } })];
  assert.equal((await post({ onRefusal: "confirm", confirm: () => true })).status, 200);
  assert.notEqual(received[1]!.headers["idempotency-key"], "k");
});

test("the text says why nothing was sent", async () => {
  const why: [object, object, string][] = [
    [{ ...proved, safety: { changes_intent: true } }, {},
      'the user has to agree first, since it changes what was asked for: `onRefusal: "confirm"` asks, no `cap` sends it unasked'],
    [edit, {}, "the correction is not certain enough to send it unasked: cap is MACHINE_APPLICABLE, the correction is UNSPECIFIED; "
      + '`cap: "MAYBE_INCORRECT"` or `onRefusal: "confirm"` would send it'],
    [{ ...edit, patch: [], parameters: {} }, {}, "the correction has no edit of the request: somebody has to do what it says"],
    [{ ...edit, patch: [], parameters: {}, placeholders: [{ pointer: "/body/why" }] }, {}, "a value is missing, which has to be given first"],
    [proved, { type: "intent_disambiguation" }, "somebody has to choose first"],
    [proved, { retry: { after_seconds: 61 } }, "a wait of 61 s is longer than the 60 s that are allowed"],
  ];
  for (const [suggestion, more, reason] of why) {
    answers = [refusal(suggestion, more)];
    assert.equal((await post({ onRefusal: "repair" })).recovery?.text.split("\n").at(-1), `Not sent: ${reason}.`);
  }
  answers = [refusal({ action: "ESCALATE", parameters: {} })];
  assert.doesNotMatch((await post({ onRefusal: "repair" })).recovery!.text, /Not sent/);
});

test("credentials of any name are in no text, and no correction sets them", async () => {
  const values = ["header-secret", "query-secret", "listed-secret", "bearer-secret"];
  const headers = { "x-shop-api-key": values[0]!, "shop-pass": values[2]!, authorization: `Bearer ${values[3]}` };
  const texts: string[] = [];
  const confirm = (_: Suggestion, text: string) => (texts.push(text), false);
  const send = (policy: Policy) =>
    correcting(fetch, { ...policy, credentials: ["Shop-Pass"] })(`${url}/a?api_key=${values[1]}`, { method: "POST", headers, body: "{}" });
  answers = [refusal({ ...edit, message: values.join(), patch: [{ op: "add", path: "/body/a", value: "x" }] })];
  texts.push((await send({ onRefusal: "confirm", confirm })).recovery!.text);
  assert.equal(texts.length, 2);
  for (const text of texts) {
    assert.ok(text.includes("(hidden)"));
    for (const value of values) assert.ok(!text.includes(value), text);
  }
  for (const name of ["shop-pass", "x-shop-api-key"]) {
    received.length = 0;
    answers = [refusal({ ...proved, patch: [{ op: "add", path: `/headers/${name}`, value: "mine" }] })];
    assert.equal((await send({ onRefusal: "repair" })).status, 422);
    assert.equal(received.length, 1);
  }
  answers = [refusal({ ...proved, patch: [{ op: "add", path: "/body/a", value: 1 }] })];
  assert.equal((await send({ onRefusal: "repair" })).status, 200);
  assert.equal(received.at(-1)!.headers["shop-pass"], values[2]);
});

interface Vector {
  name: string;
  want: "never" | "asked" | "unasked" | "confirmed" | "too much";
  why?: string;
  request: { method: string; target: string; headers: Record<string, string>; body?: unknown; text?: string };
  patch?: object[];
  parameters?: object;
  steps?: object[];
  prefix?: string;
  operations?: string[];
  credentials?: string[];
}

const table: { vectors: Vector[] } = JSON.parse(readFileSync(new URL("policies.json", import.meta.url), "utf8"));

/** Answer as the server does, without a connection: for tables with hundreds of rows. */
const answered: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  const headers: IncomingMessage["headers"] = {};
  request.headers.forEach((value, name) => (headers[name] = value));
  received.push({ method: request.method, target: request.url.slice(url.length), headers, body: await request.text() });
  const [status, more, text] = answers.shift() ?? [200, {}, "{}"];
  const response = new Response(text, { status, headers: { "content-type": "application/json", ...more } });
  return Object.defineProperty(response, "url", { value: request.url });
};

/** Return what is not as a table says: how often a corrected request was sent, and somebody asked. */
async function wrongs(vectors: Vector[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { name, want, why = "", request, patch = [], parameters = {}, steps = [], prefix, operations, credentials } of vectors) {
    const isShown = want === "confirmed" || want === "too much";
    const suggestion = { ...proved, message: "", patch, parameters, steps, safety: { changes_intent: isShown } };
    const run = async (policy: Policy) => {
      received.length = 0;
      const [status, , refused] = refusal(suggestion);
      answers = [[status, prefix === undefined ? {} : { "recovery-feedback-prefix": prefix }, refused]];
      const body = request.text ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
      const headers = { ...(request.body !== undefined && { "content-type": "application/json" }), ...request.headers };
      const given = { ...(operations && { operations }), ...(credentials && { credentials }) };
      const init = { method: request.method, headers, ...(body !== undefined && { body }) };
      const response = await correcting(answered, { cap: "MAYBE_INCORRECT", ...policy, ...given })(url + request.target, init);
      return [received.length - 1, response.recovery?.text ?? ""] as const;
    };
    const all = 1 + steps.length;
    let asked = 0;
    const [repaired, reason] = await run({ onRefusal: "repair" });
    if (repaired !== (want === "unasked" ? all : 0)) wrong.push(`repair, ${name}: ${repaired} (${reason})`);
    const [confirmed, text] = await run({ onRefusal: "confirm", confirm: () => (asked += 1, true) });
    const isSent = want !== "never" && want !== "too much";
    if (confirmed !== (isSent ? all : 0) || asked !== (want === "asked" || want === "confirmed" ? 1 : 0)) wrong.push(`confirm, ${name}: ${confirmed}, ${asked} (${text})`);
    if (!text.includes(why)) wrong.push(`${name}: ${text}`);
  }
  return wrong;
}

test("what each policy sends, as the table of both clients says", async () => {
  const refused = /\bheader expect\b/; // by `fetch` itself, in whatever request
  const parsed = /^(?:a field (?:that|of the answer to a mutation of) GraphQL|the form of a value of a mutation)/; // this client asks
  assert.deepEqual(await wrongs(table.vectors.filter(({ name }) => !refused.test(name) && !parsed.test(name))), []);
});

const key = { authorization: "Bearer T-secret-token-2", "x-shop-key": "H-secret-3" };
const get = (target: string, headers = {}): Vector["request"] => ({ method: "GET", target, headers: { ...key, ...headers } });
const send = (body: unknown, headers = {}, target = "/v1/orders?a=1"): Vector["request"] => ({ method: "POST", target, headers: { ...key, ...headers }, body });
const replace = (path: string, value: unknown) => ({ op: "replace", path, value });
const add = (path: string, value: unknown) => ({ op: "add", path, value });
const remove = (path: string) => ({ op: "remove", path });
const vectors = (want: Vector["want"], cases: [Vector["request"], ...object[]][]): Vector[] =>
  cases.map(([request, ...patch]) => ({ name: `${want} ${JSON.stringify([request.target, request.body ?? request.headers, patch])}`, want, request, patch }));

test("headers: form and version are edited unasked, credentials and overrides never, the rest is asked about", async () => {
  const forms = ["accept", "accept-language", "content-language", "prefer", "stripe-version", "x-api-version"];
  const others = ["soapaction", "x-amz-target", "if-match", "x-dry-run", "x-tenant", "user-agent", "x-request-source"];
  const mine = ["x-session-id", "x-sid", "x-pat", "x-ticket", "x-pw", "x-api-keys", "x-authentication", "cookie2", "x-client-cert", "remote-user",
    "x-authenticated-userid", "x-webauth-user", "x-ms-client-principal", "sudo", "x-on-behalf-of", "stripe-account", "true-client-ip", "x-http-host",
    "x-request-uri", "x-middleware-subrequest", "x-accel-redirect", "x-http-methodoverride", "x-http-verb", "x-act-as"];
  const edits = (names: string[]): [Vector["request"], ...object[]][] =>
    names.flatMap((name): [Vector["request"], object][] => [[send({ a: 1 }, { [name]: "abcdef-12345" }), replace(`/headers/${name}`, "other-1")], [send({ a: 1 }), add(`/headers/${name}`, "other-1")]]);
  assert.deepEqual(await wrongs([...vectors("unasked", edits(forms)), ...vectors("asked", edits(others)), ...vectors("never", edits(mine))]), []);
  const idempotent = send({ a: 1 }, { "idempotency-key": "abc-123" });
  assert.deepEqual(await wrongs([...vectors("asked", [[idempotent, remove("/headers/idempotency-key")]]), ...vectors("asked", [[send({ a: 1 }), add("/headers/idempotency-key", "x-9")]])]), []);
});

test("names of credentials are known by their words, and ordinary names stay", async () => {
  const query = ["auth", "code", "appid", "user_key", "userkey", "wskey", "pw", "psw", "passkey", "pat", "ticket", "session", "cookies", "tokens", "api_keys",
    "accesskeyid", "userpass", "key_id", "x[api_key]", "api%255Fkey", "PHPSESSID"];
  const body = ["passwords", "api_keys", "private_keys", "tokens", "jwts", "pw", "pat", "dbpwd", "userpass", "sessionId", "sid", "auth_code", "security_code",
    "mnemonic", "seed_phrase", "pem", "connectionString", "dsn", "kubeconfig", "pass\u200bword", "ｐassword", "p\u00e4ssword", "pass\\u0077ord"];
  const ordinary = ["error_code", "country_code", "primary_key", "sort_key", "max_tokens", "pins", "assertions", "compass", "session_name", "code", "process_id"];
  const never = vectors("never", [
    ...query.map((name): [Vector["request"], object] => [get(`/v1/a?${name}=S3-value-12`), replace(`/query/${decodeURIComponent(name)}`, "x")]),
    ...body.flatMap((name): [Vector["request"], object][] => [[send({ user: { [name]: "S3-value-12" } }), replace(`/body/user/${name}`, "x")],
      [send({ user: { [name]: ["S3-value-12"] } }), replace(`/body/user/${name}/0`, "x")]]),
    [send({ env: [{ name: "DB_PASSWORD", value: "S3-value" }] }), replace("/body/env/0/value", "x")],
    [send({ headers: [["Authorization", "S3-value"]] }), replace("/body/headers/0/1", "x")],
    [send({ kind: "Secret", data: { a: "eA==" } }), replace("/body/data/a", "eQ==")],
    [send({ secret: { type: "hunter2hunter2" } }), replace("/body/secret/type", "x9x9")],
    [send({ text: "password       = S3-value" }), replace("/body/text", "password       = x")],
    [send({ text: '{"pa\\u0073sword":"S3-value"}' }), replace("/body/text", '{"pa\\u0073sword":"x"}')],
    [send({ text: "a=1&pass%77ord=S3-value" }), replace("/body/text", "a=1&pass%77ord=x")],
    [send({ text: "run --password S3-value" }), replace("/body/text", "run --password x")],
    [get("/v1/token/S3CRETTOKEN1/orders"), replace("/path", "/v1/token/EVILTOKEN99/orders")],
    [get("/v1/orders;jsessionid=S3CRET"), replace("/path", "/v1/orders;jsessionid=EVIL")],
    [get("/bot123456:AAE-S3CRETTOKEN1/getMe"), replace("/path", "/bot123456:AAE-EVILTOKEN999/getMe")],
  ]);
  assert.deepEqual(await wrongs(never), []);
  assert.deepEqual(await wrongs(vectors("unasked", ordinary.filter((name) => name !== "code").flatMap((name): [Vector["request"], object][] =>
    [[get(`/v1/a?${name}=1`), replace(`/query/${name}`, "2")], [send({ [name]: "a1" }), replace(`/body/${name}`, "a2")]]))), []);
  assert.deepEqual(await wrongs(["x_shop", "X-SHOP", "x%5Fshop"].map((name): Vector => ({ name, want: "never", credentials: ["X-Shop"], request: get(`/a?${name}=1`),
    patch: [replace(`/query/${decodeURIComponent(name)}`, "2")] }))), []);
});

test("an operation in the content, a trial and a condition are asked about", async () => {
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "read_order", arguments: { id: 7 } } };
  assert.deepEqual(await wrongs([...vectors("asked", [
    [send(call), replace("/body/method", "tools/list")],
    [send(call), replace("/body/params/name", "delete_order")],
    [send([call]), replace("/body/0/params/name", "delete_order")],
    [send({ query: "query { order }" }), replace("/body/query", "mutation { deleteOrder }")],
    [send({ query: "query A { a } mutation B { b }", operationName: "A" }), replace("/body/operationName", "B")],
    [get("/v1/a?Action=DescribeInstances"), replace("/query/Action", "TerminateInstances")],
    [get("/v1/a?b=1"), add("/query/Action", "TerminateInstances")],
    [send({ requests: [{ id: "1", method: "GET", url: "/users/7" }] }), replace("/body/requests/0/method", "DELETE")],
    [send({ requests: [{ id: "1", method: "GET", url: "/users/7" }] }), replace("/body/requests/0/url", "/users/8")],
    [send([{ op: "add", path: "/a", value: 1 }]), replace("/body/0/op", "remove")],
    [{ ...send(undefined, { "content-type": "text/xml" }), text: "<GetUser/>" }, replace("/body", "<DeleteUser/>")],
    [send({ a: 1 }, {}, "/v1/orders?dryRun=All"), remove("/query/dryRun")],
    [send({ a: 1 }, {}, "/v1/orders?dry_run=true"), replace("/query/dry_run", "false")],
    [send({ options: { validateOnly: true } }), replace("/body/options/validateOnly", false)],
    [send({ a: 1 }, {}, "/v1/orders?ifMatch=7"), remove("/query/ifMatch")],
    [send({ a: 1 }, { prefer: "tx=rollback" }), remove("/headers/prefer")],
  ]), ...vectors("unasked", [
    [send(call), replace("/body/params/arguments/id", 8)],
    [send({ payment: { method: "crad" } }), replace("/body/payment/method", "card")],
    [send({ query: "blue shoes" }), replace("/body/query", "red shoes")],
    [send({ a: 1 }, {}, "/v1/orders?dryRun=All"), replace("/body/a", 2)],
  ])]), []);
  const step = (more: object): Vector => ({ name: JSON.stringify(more), want: "asked", request: send({ a: 1 }), patch: [replace("/body/a", 2)], steps: [{ method: "GET", path: "/v1/b", ...more }] });
  assert.deepEqual(await wrongs([step({ headers: { "x-amount": "9" } }), step({ query: { Action: "DeleteUser" } })]), []);
});

test("a body is judged as it is read, before and after, and a signed request is not edited", async () => {
  const hiding: [string, string][] = [["content-encoding", "gzip"], ["content-type", "application/yaml"], ["content-type", "multipart/form-data; boundary=x"],
    ["content-type", "application/json; charset=utf-7"], ["content-type", "application/cbor"]];
  const secret = send({ note: "", password: "P-secret-5" });
  const signed = [{ authorization: "AWS AKID:sig=" }, { authorization: "TC3-HMAC-SHA256 Credential=x" }, { authorization: "SharedKeyLite a:b" },
    { authorization: "OAuth oauth_signature=x" }, { authorization: "DPoP x" }, { "x-hub-signature-256": "sha256=abc" }, { "x-amz-checksum-sha256": "abc" }, { "content-md5": "abc" }];
  assert.deepEqual(await wrongs(vectors("never", [
    ...hiding.flatMap(([name, value]): [Vector["request"], ...object[]][] => [[secret, add(`/headers/${name}`, value), replace("/body/note", "H-secret-3")],
      [secret, add(`/headers/${name}`, value), add("/body/_method", "DELETE")], [secret, add(`/headers/${name}`, value), replace("/body/password", "x")]]),
    [secret, replace("/body", '{"password":"x"}')],
    [send({ note: "" }), replace("/headers/content-type", "application/x-www-form-urlencoded"), add("/body/x&_method", "DELETE"), add("/body/_method", "DELETE")],
    [send({ note: "", n: 0 }), replace("/headers/content-type", "Application/X-WWW-Form-URLEncoded"), add("/body/_method", "DELETE")],
    [send({ note: "" }), replace("/headers/content-type", "application/json, application/x-www-form-urlencoded"), replace("/body/note", "&_method=DELETE&")],
    [{ ...send(undefined, { "content-type": "text/plain" }), text: "a" }, replace("/headers/content-type", "application/x-www-form-urlencoded"), replace("/body", "a&_method=DELETE")],
    [{ ...send(undefined), text: '{"password":"A","a":1,"password":"B"}' }, replace("/body/a", 2)],
    ...signed.map((headers): [Vector["request"], object] => [send({ a: 1 }, headers), replace("/body/a", 2)]),
    ...["X-Amz-Signature=abc", "sig=abc&se=1", "Signature=abc&Expires=1", "hmac=abcdef", "oauth_signature=a"].map((query): [Vector["request"], object] =>
      [get(`/v1/a?page=0&${query}`), replace("/query/page", "1")]),
  ])), []);
  for (const media of ["application/x-www-form-urlencoded", "Application/X-WWW-Form-URLEncoded"]) {
    answers = [refusal({ ...proved, patch: [replace("/headers/content-type", media), add("/body/note", "&_method=DELETE&")] })];
    assert.equal((await post({ onRefusal: "repair" })).status, 200);
    assert.equal(received.at(-1)!.body, "amount=5&id=1&note=%26_method%3DDELETE%26");
  }
});

test("a corrected path is one place, and templates match in linear time", async () => {
  const paths = ["/stripe/．．/github", "/stripe/%EF%BC%8E%EF%BC%8E/github", "/stripe/‥/github", "/stripe/..%20/github", "/stripe/.%20./github", "/stripe/%c0%ae%c0%ae/github",
    "/stripe/%u002e%u002e/github", "/stripe/..／github", "/stripe/＼../github", "/stripe/..%23/github", "/stripe/a\u200bb", "/stripe/a%E2%80%8Bb", "/stripe/%ff", "/stripe/a\u2215b"];
  assert.deepEqual(await wrongs(vectors("never", paths.map((path): [Vector["request"], object] => [get("/stripe/v1/orders"), replace("/path", path)]))), []);
  assert.deepEqual(await wrongs(vectors("never", [[send({ a: 1 }, {}, "/v1/caf%E9"), replace("/path", "/v1/caf%E8")], [send({ a: 1 }, {}, "/v1/%FF"), replace("/path", "/v1/%FE")]])), []);
  const operations = [`GET /${Array.from({ length: 12 }, (_, index) => `{a${index}}`).join("-")}x`];
  const longest: Vector = { name: "dashes", want: "never", request: get("/stripe"), patch: [replace("/path", `/${"-".repeat(3000)}`)], operations };
  assert.deepEqual(await wrongs([longest, { ...longest, name: "fits", want: "unasked", patch: [replace("/path", `/${"-".repeat(3000)}x`)] }]), []);
});

test("a credential is copied in no spelling", async () => {
  const token = "T-secret-token-2";
  const written = [token.toUpperCase(), "%54-secret-token-2", "%2554-secret-token-2", "&#84;-secret-token-2", "\\u0054-secret-token-2", "\\124-secret-token-2", "T-sec\u200bret-token-2",
    "Ｔ-secret-token-2", Buffer.from(token).toString("base64"), Buffer.from(`{"a":"${token}"}`).toString("base64url"), Buffer.from(token).toString("hex")];
  assert.deepEqual(await wrongs(written.flatMap((one): Vector[] => [...vectors("never", [[send({ note: "" }), replace("/body/note", `it is ${one}`)], [send({ note: "" }), add(`/body/${one.replaceAll("/", "~1")}`, 1)]]),
    { name: `step ${one}`, want: "never", request: send({ a: 1 }), patch: [replace("/body/a", 2)], steps: [{ method: "GET", path: "/v1/b", query: { a: one } }] }])), []);
});

test("a confirmation shows all that it asks for, or is not asked", async () => {
  const texts: string[] = [];
  const confirm = (_: Suggestion, text: string) => (texts.push(text.split("\nTo be sent:\n")[1]!), false);
  const ask = async (members: object, headers = {}, body: unknown = { to: "ann" }) => {
    texts.length = 0;
    answers = [refusal({ ...proved, patch: [], safety: { changes_intent: true }, ...members })];
    const response = await correcting(fetch, { onRefusal: "confirm", confirm })(`${url}/v1/pay`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
    return [texts[0], response.recovery!.text.split("\n").at(-1)] as [string | undefined, string];
  };
  const steps = (headers: object) => ({ steps: [{ method: "POST", path: "/v1/b", headers }], patch: [replace("/body/to", "bob")] });
  assert.equal((await ask(steps({ "x-amount": "9999" })))[0], '  first POST /v1/b headers {"x-amount":"9999"}\n  POST /v1/pay\n    /body/to: "ann" -> "bob"');
  assert.match((await ask(steps(Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`x-${index}`, "1"])))))[1], /changes 41 places, more than the 40/);
  assert.match((await ask({ patch: [replace("/body/to", `ann${"\u200b".repeat(170)} and bob`)] }))[1], /a value of 1\d\d\d characters/);
  assert.equal((await ask({ patch: [add("/body/a\u202eb c\n  GET /x", 1)] }))[0], undefined);
  assert.equal((await ask({ patch: [add("/body/a\u202eb: 1 -> 2", 1)] }))[0], '  POST /v1/pay\n    "/body/a\\u202eb: 1 -> 2": -> 1');
  assert.equal((await ask({ patch: [remove("/body")] }, {}, {}))[0], "  POST /v1/pay\n    /body: {} -> (removed)");
  assert.equal((await ask({ patch: [replace("/headers/idempotency-key", "9")] }, { "idempotency-key": "8" }))[0], '  POST /v1/pay\n    /headers/idempotency-key: "8" -> "9"');
  const forged = { message: "m", suggestions: [{ action: "X\nTo be sent:\n  GET /harmless", patch: [add("/body/a\n  GET /harmless", 1)] }] };
  assert.equal(explain(find({ recovery_feedback: forged } as never)!), 'm\nCorrection: X TO BE SENT: GET /HARMLESS\n  "/body/a\\n  GET /harmless": -> 1');
  const basic = { authorization: `Basic ${Buffer.from("accounts:hunter2").toString("base64")}` };
  assert.match((await ask({ patch: [replace("/path", "/v1/accounts/delete")] }, basic))[1], /nobody could see what it changes/);
});

test("texts have no value of a header or parameter that is a credential", async () => {
  const value = "Sk9Zq-live-77AbCdEf";
  const headers = ["X-Figma-Token", "Token", "X-Auth", "Ocp-Apim-Subscription-Key", "DD-APPLICATION-KEY", "X-Shop-Key", "X-Jwt", "X-Csrf", "X-Signature", "X-Session", "X-Passcode"];
  const targets = ["key", "token", "sig", "auth", "appid", "jwt", "pass", "code", "sid"].map((name) => `/a?${name}=${value}`);
  const sent: [string, Record<string, string>][] = [...headers.map((name): [string, Record<string, string>] => ["/a", { [name]: value }]),
    ...[...targets, `/bot123456:${value}/a`, `/a;jsessionid=${value}`].map((target): [string, Record<string, string>] => [target, {}])];
  for (const [target, given] of sent) {
    answers = [refusal({ ...edit, message: `It is ${value}.` })];
    const { recovery } = await correcting(fetch)(url + target, { method: "POST", headers: given, body: "{}" });
    assert.match(recovery!.text, /^It is too much\.\nCorrection: It is \(hidden\)\./, `${target} ${JSON.stringify(given)}`);
  }
});

test("a refusal is unpacked under a limit, and passes whole", async () => {
  const packed = gzipSync(Buffer.alloc(64 << 20, "[")); // 64 KB
  const bombs = createServer((_, response) => response.writeHead(422, { "content-type": "application/json", "content-encoding": "gzip" }).end(packed));
  await new Promise<void>((ready) => bombs.listen(0, "127.0.0.1", () => ready()));
  try {
    const response = await correcting(fetch)(`http://127.0.0.1:${(bombs.address() as AddressInfo).port}/`);
    assert.equal(response.recovery, undefined);
    assert.equal((await response.arrayBuffer()).byteLength, 64 << 20);
  } finally {
    bombs.close();
  }
});

test("feedback of too many parts is none", async () => {
  const operation = { op: "add", path: "/body/a", value: 1 };
  for (const [suggestions, isRead] of [[Array(64).fill(edit), true], [Array(65).fill(edit), false], [[{ ...edit, patch: Array(1001).fill(operation) }], false]] as const) {
    answers = [[422, {}, JSON.stringify({ recovery_feedback: { type: "recovery_guidance", message: "No.", suggestions } })]];
    assert.equal((await post({})).recovery !== undefined, isRead);
  }
});

test("copies count what they write", async () => {
  const copies = Array.from({ length: 900 }, (_, i) => ({ op: "copy", from: "/body/note", path: `/body/c${i}` }));
  answers = [refusal({ ...proved, patch: copies })];
  const response = await post({ onRefusal: "repair" }, { note: "x".repeat(500_000) });
  assert.equal(response.status, 422);
  assert.equal(received.length, 1);
});

test("no text has a key, however it is written, nor what is invisible", async () => {
  const key = "sk/live+0123456789";
  const written = [key, key.toUpperCase(), JSON.stringify(key).replaceAll("/", "\\/"), encodeURIComponent(key), encodeURIComponent(encodeURIComponent(key)),
    [...key].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""), [...key].map((one) => `&#${one.charCodeAt(0)};`).join(""),
    [...key].join("\u200b"), Buffer.from(`{a${key}}`).toString("base64"), Buffer.from(key).toString("hex"), Buffer.from(`alice:${key}`).toString("base64")];
  for (const one of written) {
    answers = [refusal({ ...edit, message: `It is \u{e0049}${one}\u202e so.` })];
    const response = await correcting(fetch)(`${url}/a`, { method: "POST", body: "{}", headers: { "content-type": "application/json", authorization: `Basic ${Buffer.from(`alice:${key}`).toString("base64")}` } });
    const text = response.recovery!.text;
    assert.match(text, /\(hidden\)/, one);
    assert.ok(!/0123456789/i.test(text) && !/[\u200b\u202e]|\u{e0049}/u.test(text), text);
  }
  answers = [refusal({ ...edit, message: "می‌خواهم 👨‍👩‍👧 ❤️" })];
  assert.ok((await post({})).recovery!.text.includes("می‌خواهم 👨‍👩‍👧 ❤️"));
});

"use strict";
// Everything that an upstream or an agent said reaches the page through textContent, never as markup.
const byId = id => document.getElementById(id);
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
const visible = text => String(text).replace(UNSEEN, one => "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
function make(tag, text, kind) {
  const one = document.createElement(tag);
  if (text !== undefined && text !== null) one.textContent = visible(text);
  if (kind) one.className = kind;
  return one;
}
async function unpacked(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent.trim()), one => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}
for (const choice of document.querySelectorAll("select[data-figures]"))
  choice.addEventListener("change", () => {
    for (const one of choice.closest("section").querySelectorAll("[data-figure]"))
      one.hidden = one.dataset.figure !== choice.value;
  });

const PAGE = 100;
let page = 0;
let rows = [], tasks = [], prompts = {}, current = null;
const blocks = new Map();

async function start() {
  const index = await unpacked("index");
  tasks = index.tasks;
  prompts = index.prompts;
  rows = index.rows.map(row => {
    const one = Object.fromEntries(index.columns.map((name, at) => [name, row[at]]));
    one.there = row[index.columns.length];
    one.domain = one.task.split("/")[0];
    return one;
  });
  for (const name of ["domain", "arm", "agent", "outcome"])
    for (const value of [...new Set(rows.map(row => row[name]))].sort()) {
      const option = make("option", value);
      option.value = value;
      byId("by-" + name).append(option);
    }
  const harm = make("option", "harm only");
  harm.value = "yes";
  byId("by-harm").append(harm);
  byId("filters").addEventListener("input", () => { page = 0; list(); });
  for (const [name, by] of [["before", -1], ["after", 1]])
    byId(name).addEventListener("click", () => { page += by; list(); byId("list").scrollTop = 0; });
  addEventListener("hashchange", fromAddress);
  list();
  if (!fromAddress()) {
    const first = rows.find(row => row.outcome === "success" && row.attempts > 1 && row.there && row.arm.startsWith("reflective")) || rows.find(row => row.there);
    if (first) show(first);
  }
}
function fromAddress() {
  const row = rows.find(one => one.key === location.hash.slice(1));
  if (row) show(row).then(() => byId("steps").scrollIntoView());
  return Boolean(row);
}
function list() {
  const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = ["domain", "arm", "agent", "outcome"].map(name => [name, byId("by-" + name).value]).filter(pair => pair[1]);
  const found = rows.filter(row => words.every(word => row.task.toLowerCase().includes(word))
    && wanted.every(([name, value]) => row[name] === value) && (!byId("by-harm").value || row.harm.length));
  const first = page * PAGE, shown = found.slice(first, first + PAGE);
  byId("hits").textContent = found.length + " episodes";
  byId("place").textContent = found.length ? (first + 1) + " to " + (first + shown.length) + " of " + found.length : "none";
  byId("before").disabled = page === 0;
  byId("after").disabled = first + PAGE >= found.length;
  byId("list").replaceChildren(...shown.map(row => {
    const one = make("button");
    one.append(named(row.task));
    one.append(make("span", row.outcome, "tag " + row.outcome), make("small", row.agent + ", " + row.arm + ", seed " + row.seed + ", from the " + row.start + ", " + row.attempts + " attempts" + (row.harm.length ? ", harm" : "")));
    one.dataset.key = row.key;
    one.setAttribute("aria-current", row.key === current);
    one.addEventListener("click", () => { history.replaceState(null, "", "#" + row.key); show(row); });
    return one;
  }));
}
// A task's id is never broken; between its domain and its name a line may end.
function named(task) {
  const at = task.indexOf("/") + 1, one = make("div");
  one.append(make("span", task.slice(0, at), "id"), make("wbr"), make("span", task.slice(at), "id"));
  return one;
}
async function show(row) {
  current = row.key;
  for (const one of byId("list").children) one.setAttribute("aria-current", one.dataset.key === current);
  const place = byId("episode"), out = [];
  const head = make("h3");
  head.append(named(row.task));
  head.append(make("small", row.agent + ", " + row.arm + ", seed " + row.seed + ", from the " + row.start + " on"));
  const line = make("p");
  line.append(make("span", row.outcome, "tag " + row.outcome), " ", make("span", [row.why, row.ending && "the agent ended: " + row.ending].filter(Boolean).join("; ")));
  out.push(head, line);
  for (const harm of row.harm) out.push(make("p", harm, "caveat fake"));
  if (prompts[row.task]) {
    const asked = make("details");
    asked.append(make("summary", "What the agent was asked for"), make("pre", prompts[row.task]));
    out.push(asked);
  }
  if (!row.there) out.push(make("p", "The steps of this episode are not in the page; the log has them.", "soft"));
  else {
    const at = tasks.indexOf(row.task);
    if (!blocks.has(at)) blocks.set(at, await unpacked("block-" + at));
    const block = blocks.get(at), episode = block.episodes[row.key];
    let before = null, answer = null;
    episode.turns.forEach((turn, number) => {
      out.push(step(turn, number, block.values[turn.request], before, answer));
      before = block.values[turn.request];
      answer = turn.accepted ? null : { status: turn.status, shown: block.values[turn.shown] };
    });
    const last = episode.turns[episode.turns.length - 1];
    if (last && !last.accepted) out.push(ended(last, block.values[last.shown], row));
    for (const one of episode.closing || []) out.push(reflection(one));
    if (!episode.turns.length) out.push(make("p", "No call was made.", "soft"));
  }
  if (current === row.key) place.replaceChildren(...out);
}
function step(turn, number, request, before, answer) {
  const one = make("div", null, "step"), head = make("h4");
  head.append(make("span", (turn.given ? "Given " : turn.step ? "Step " : "Call ") + (number + 1)), make("code", (request.method || "") + " " + (request.path || "")));
  head.append(make("span", turn.status, "chip " + (turn.accepted ? "yes" : "no")));
  if (turn.followed) head.append(make("span", "follows the feedback", "chip yes"));
  if (turn.applied && turn.applied.length) head.append(make("span", "says it applied " + turn.applied.map(n => n + 1).join(", "), "chip"));
  if (turn.wait) head.append(make("span", "waits " + turn.wait + " s", "chip"));
  if (turn.lost) head.append(make("span", turn.lost + " attempts before came to no call", "chip no"));
  if (turn.tokens) head.append(make("span", turn.tokens + " tokens", "chip"));
  one.append(head);
  for (const made of turn.reflections || []) one.append(reflection(made));
  const sides = make("div", null, "sides"), left = make("div"), right = make("div");
  if (answer) left.append(make("span", "What the agent saw before: " + answer.status, "label"), ...advice(answer.shown));
  else if (before) left.append(make("span", "The call before was accepted", "label"));
  right.append(make("span", before ? "What it changed in its request" : "What it sent", "label"), before ? difference(before, request) : make("pre", pretty(request)));
  sides.append(...(before ? [left, right] : [right]));
  if (!before) sides.classList.add("first");
  one.append(sides);
  if (turn.note) one.append(make("div", turn.note, "note"));
  return one;
}
function ended(turn, shown, row) {
  const one = make("div", null, "step"), head = make("h4", "And then: "), body = make("div");
  head.append(make("span", row.ending || "no attempt was left", "chip"));
  body.style.padding = "10px 14px";
  body.append(make("span", "The last answer: " + turn.status, "label"), ...advice(shown));
  one.append(head, body);
  return one;
}
function reflection(made) {
  const one = make("div", null, "note");
  one.style.paddingTop = "10px";
  one.append(make("span", made.form + (made.category ? ": " + made.category : ""), "chip"), " ", make("span", made.text));
  if (made.repeated) one.append(" ", make("span", "repeated", "chip no"));
  if (made.lifted) one.append(" ", make("span", "structure lifted", "chip"));
  return one;
}
function told(value, depth) {
  if (value === null || typeof value !== "object" || depth > 12) return null;
  if (!Array.isArray(value) && value.recovery_feedback && typeof value.recovery_feedback === "object") return value.recovery_feedback;
  for (const inner of Object.values(value)) {
    const found = told(inner, depth + 1);
    if (found) return found;
  }
  return null;
}
function advice(shown) {
  const out = [], found = told(shown, 0);
  if (found) {
    out.push(make("p", found.message));
    for (const [index, one] of (Array.isArray(found.suggestions) ? found.suggestions : []).entries()) {
      const box = make("div", null, "advice"), head = make("p");
      head.append(make("b", (index + 1) + ". " + one.action), " ", make("span", one.message));
      box.append(head);
      for (const name of ["parameters", "patch", "steps", "placeholders"])
        if (one[name] && Object.keys(one[name]).length) box.append(make("span", name, "label"), make("pre", pretty(one[name])));
      out.push(box);
    }
    if (found.loop) out.push(make("p", "loop breaker: " + JSON.stringify(found.loop), "soft"));
  }
  const whole = make("details");
  whole.open = !found;
  whole.append(make("summary", "the whole answer as it was shown"), make("pre", typeof shown === "string" ? shown : pretty(shown)));
  out.push(whole);
  return out;
}
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map(name => [name, sorted(value[name])]));
}
function pretty(value) { return JSON.stringify(value, null, 2) ?? ""; }
// Lines by their longest common subsequence; requests are small, and what is very long is shown whole.
function difference(before, after) {
  const a = pretty(sorted(before)).split("\n"), b = pretty(sorted(after)).split("\n"), out = make("pre", null, "diff");
  if (a.length * b.length > 4e6) { out.textContent = visible(b.join("\n")); return out; }
  const width = b.length + 1, best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
  const lines = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push(["", "  " + b[j]]); i++; j++; }
    else if (i < a.length && (j >= b.length || best[(i + 1) * width + j] >= best[i * width + j + 1])) lines.push(["minus", "- " + a[i++]]);
    else lines.push(["plus", "+ " + b[j++]]);
  }
  if (!lines.some(line => line[0])) { out.textContent = "nothing: the same request once more"; return out; }
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - 3), at + 4).some(line => line[0]));
  let gap = false;
  lines.forEach((line, at) => {
    if (near[at]) out.append(make("i", line[1], line[0]));
    else if (!gap) out.append(make("i", "  …"));
    gap = !near[at];
  });
  return out;
}
start().catch(problem => byId("episode").replaceChildren(make("p", "The episodes cannot be read here: " + problem, "caveat")));

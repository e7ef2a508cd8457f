"use strict";
// The page on which mappings are judged. What the server sends is shown as text, never as HTML.

const CLASSES = ["same", "same with conversion", "weaker", "stronger", "related"];
const at = (id) => document.getElementById(id);
const token = document.querySelector("meta[name=corrigible-token]").content;
let proposals = [];
let said = {};
let shown = 0;
let isEditing = false;

async function asked(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { "x-corrigible-token": token, ...options.headers } });
  if (!answer.ok) throw new Error((await answer.json()).message);
  return answer;
}

function tell(text, isFailure = false) {
  at("status").textContent = text;
  at("status").className = isFailure ? "failed" : "";
}

function annotator() {
  return at("annotator").value.trim();
}

async function load() {
  localStorage.setItem("annotator", annotator());
  try {
    const state = await (await asked(`/state?annotator=${encodeURIComponent(annotator())}`)).json();
    proposals = state.proposals;
    take(state);
    shown = Math.min(shown, proposals.length - 1);
    show(shown);
    tell(annotator() ? "" : "Say who you are: what you say is kept under that name.");
  } catch (problem) {
    tell(problem.message, true);
  }
}

function take(state) {
  said = state.said;
  at("progress").textContent = `${Object.keys(said).length} of ${proposals.length} judged`;
  at("agreement").replaceChildren(...state.agreement.map((one) => {
    const kappa = one.kappa === null ? "not defined" : one.kappa.toFixed(2);
    return element("li", `${one.one} and ${one.other}: the same on ${one.same} of ${one.shared}, Cohen's kappa ${kappa}`);
  }));
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

const call = (one) => `${one.api}: ${one.method} ${one.path}`;
const group = (one) => `${one.utterance || ""} ${call(one.mapping.source)}`;

function show(number) {
  if (!proposals[number]) return;
  shown = number;
  isEditing = false;
  const one = proposals[number];
  const verdict = said[number];
  const mapping = (verdict && verdict.mapping) || one.mapping;
  at("proposal").hidden = false;
  at("utterance").textContent = one.utterance || "";
  at("source").textContent = call(one.mapping.source);
  at("target").textContent = call(one.mapping.target);
  at("source-text").textContent = one.source_text || "";
  at("target-text").textContent = one.target_text || "";
  at("score").textContent = `score ${one.mapping.score}`;
  at("note").value = (verdict && verdict.note) || "";
  at("equivalence").replaceChildren(...CLASSES.map((name) => new Option(name, name, false, name === mapping.equivalence)));
  at("fields").replaceChildren(...(mapping.arguments || []).map(row));
  at("lost").textContent = (mapping.lost_arguments || []).length ? `Lost: ${mapping.lost_arguments.join(", ")}` : "";
  at("candidates").replaceChildren(...alternatives().map((other) => {
    const item = element("li", `${call(proposals[other].mapping.target)}${said[other] ? ` (${said[other].verdict})` : ""}`);
    if (other === number) item.className = "shown";
    return item;
  }));
  for (const name of ["accept", "correct", "reject"]) {
    at(name).className = verdict && verdict.verdict === name ? "said" : "";
  }
  lock();
}

function alternatives() {
  return [...proposals.keys()].filter((other) => group(proposals[other]) === group(proposals[shown]));
}

function row(field = {}) {
  const made = document.createElement("tr");
  for (const name of ["source", "target", "conversion"]) {
    const input = document.createElement("input");
    input.name = name;
    input.value = field[name] || "";
    const cell = document.createElement("td");
    cell.append(input);
    made.append(cell);
  }
  const remove = element("button", "Remove");
  remove.type = "button";
  remove.addEventListener("click", () => made.remove());
  const cell = document.createElement("td");
  cell.append(remove);
  made.append(cell);
  made.field = field;
  return made;
}

function lock() {
  for (const input of at("fields").querySelectorAll("input")) input.readOnly = !isEditing;
  for (const button of at("fields").querySelectorAll("button")) button.hidden = !isEditing;
  at("equivalence").disabled = !isEditing;
  at("add-field").hidden = !isEditing;
  at("correct").textContent = isEditing ? "Keep the correction (Ctrl+Enter)" : "Correct (c)";
}

function edit() {
  isEditing = true;
  lock();
  (at("fields").querySelector("input") || at("equivalence")).focus();
}

function fields() {
  return [...at("fields").children].map((made) => {
    const value = (name) => made.querySelector(`input[name=${name}]`).value.trim();
    return { ...made.field, source: value("source"), target: value("target"), conversion: value("conversion") };
  });
}

async function judge(verdict) {
  const number = shown;
  if (!annotator()) {
    at("annotator").focus();
    return tell("Say who you are first.", true);
  }
  const judgement = { annotator: annotator(), number, key: proposals[number].key, verdict, note: at("note").value };
  if (verdict === "correct") Object.assign(judgement, { arguments: fields(), equivalence: at("equivalence").value });
  try {
    const options = { method: "POST", body: JSON.stringify(judgement), headers: { "content-type": "application/json" } };
    take(await (await asked("/judgements", options)).json());
    document.activeElement.blur();
    show(Math.min(number + 1, proposals.length - 1));
    tell(`Kept: ${verdict}.`);
  } catch (problem) {
    tell(`Not kept: ${problem.message}`, true);
  }
}

function open() {
  const next = [...proposals.keys()].find((number) => !said[number]);
  if (next === undefined) tell("Everything is judged.");
  else show(next);
}

async function save() {
  try {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await (await asked("/annotations.jsonl")).blob());
    link.download = "annotations.jsonl";
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (problem) {
    tell(problem.message, true);
  }
}

const KEYS = {
  a: () => judge("accept"),
  c: edit,
  r: () => judge("reject"),
  j: () => show(Math.min(shown + 1, proposals.length - 1)),
  k: () => show(Math.max(shown - 1, 0)),
  n: () => at("note").focus(),
  u: open,
  e: save,
};

document.addEventListener("keydown", (event) => {
  if (isEditing && event.key === "Enter" && event.ctrlKey) return event.preventDefault(), judge("correct");
  if (event.key === "Escape") return document.activeElement.blur(), isEditing && show(shown);
  if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return undefined;
  if (/^[1-9]$/.test(event.key)) {
    const other = alternatives()[Number(event.key) - 1];
    return other === undefined ? undefined : show(other);
  }
  if (!KEYS[event.key] || isEditing) return undefined;
  event.preventDefault();
  return KEYS[event.key]();
});

at("accept").addEventListener("click", KEYS.a);
at("reject").addEventListener("click", KEYS.r);
at("correct").addEventListener("click", () => (isEditing ? judge("correct") : edit()));
at("next").addEventListener("click", KEYS.j);
at("previous").addEventListener("click", KEYS.k);
at("export").addEventListener("click", save);
at("add-field").addEventListener("click", () => at("fields").append(row()));
at("annotator").addEventListener("change", load);
at("annotator").value = localStorage.getItem("annotator") || "";
load();

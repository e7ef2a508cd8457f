// What a name in a request says: a credential, an override, who is calling, a trial, a condition.
// Names are read as lenient servers read them: in any case, with `-`, `_` and `.` alike, with their escapes undone.

import { readings } from "./credentials.ts";
import { segments } from "./form.ts";

const WORDS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
/** Last word of the name of a credential, or its last two in one. */
const SECRET = new RegExp("^(passw(or)?d|passw|pwd|pswd|psw|pw|psk|pass|passphrase|passcode|passkey|htpasswd|pat|secret|cred(ential)?|auth|authori[sz]ation|authentication"
  + "|jw[est]|bearer|assertion|signature|sig|hmac|[ht]?otp|pin|cv[cvn]|[cx]srf|dpop|mnemonic|pem|pfx|keytab|kubeconfig|cookie|dsn|contrasena|haslo|kennwort|motdepasse|parola|passwort|senha|wachtwoord|(api|access)(key|token|secret)"
  + "|(auth|private|secret|signing)key|clientsecret|accesskeyid|(php|j)?sess(ion)?(id|key)|(backup|mnemonic|recovery|secret|seed)(phrase|seed|word)|codeverifier"
  + "|conn(ection)?(str(ing)?|ur[il])|(access|activation|auth|authorization|backup|device|fa|login|mfa|[ht]?otp|recovery|reset|security|sms|unlock|verification)code"
  + "|(secret|security)answer|(client|user)cert(ificate)?(data)?)$");
/** How a name ends that is written as one word: `dbpassword`. */
const JOINED = new RegExp("(password|passwd|passphrase|passcode|passkey|pwd|(admin|db|login|proxy|root|smtp|user)pass|secret|credential|authorization|signature"
  + "|sessionid|onetime(code|pass(word)?)|connectionstring|api(key|token)|access(key|token)|accesskeyid|(auth|bearer|csrf|refresh|session)token|(auth|private|secret|signing)key)$");
/** What stands before `key` in the name of a credential. A `key` alone is one in a query: in a body it names an entry. */
const OF_KEYS = new RegExp("^(api|app|application|access|account|admin|auth|bearer|client|consumer|csrf|deploy|encryption|functions|gpg|hmac|license|master|pgp"
  + "|private|root|rsa|secret|security|server|service|session|shared|signing|ssh|ssl|storage|subscription|tls|vault|webhook|xsrf)$");
/** What stands before `key` in the name of a header that is no credential. */
const OF_ENTRIES = /^(cache|deduplication|idempotency|partition|primary|public|routing|sort|surrogate)$/;
/** What stands before `token` in the name of no credential. */
const OF_PAGES = new RegExp("(page|paging|pagination|next|prev|previous|cursor|continuation|continue|sync|start|starting|end|resume|scroll|max|min"
  + "|eos|bos|pad|stop|idempotency)$");
/** What stands before `tokens` where they are parts of texts. */
const OF_COUNTS = /^(bad|budget|cached|completion|generated|input|limit|new|num|output|prompt|reasoning|remaining|special|suppress|text|thinking|total|used)$/;
const QUALIFIER = new RegExp("^(\\d+|confirm|confirmation|confirmed|again|repeat|repeated|new|old|current|value|hash|hashed|digest|plain|plaintext"
  + "|text|string|b64|base|encoded|encrypted|verify|header|v|raw|binary|bytes|hex|json|list)$");
/** Plurals of other meanings: `pins`, `assertions` of a monitor. `pass` is no plural. */
const PLURAL = /^(?!pins$|assertions$|sigs$).{2,}[^s]s$/;
/** Headers that are no part of the request document: a proxy, too, knows them by their names. */
const UNDOCUMENTED = new RegExp("^(cookie|x-amz-security-token|x-goog-api-key)$|(^|[_.-])(api|access|auth|private|session|secret|security|csrf|xsrf|bearer|vault)"
  + "[_-]?(key|token|secret)$|(^|[_.-])(apikey|authorization|passw(or)?d|secret)$", "i");
const OF_HEADERS = /^(session|sid|ticket|cookie|token|.*cert(ificate)?)$/;
/** Names of credentials in a query, as a whole: in a body they have another meaning as a rule. */
const OF_QUERIES = new RegExp("^(key|keyid|keypair|code|sid|sas|tok|session|ticket|basic|xauth"
  + "|(dev|developer|h|hapi|partner|rapid|rapidapi|read|user|write|ws)key)$");
/** Words in the names of headers that send a request elsewhere, or as somebody else. */
const OVERRIDING = new RegExp("^(methods?|verb|override|methodoverride|rewrite|forward(ed)?|destination|host|ur[il]|path|redirect|subrequest|accel|sendfile"
  + "|impersonat[a-z]*|sudo|principal|identity|behalf|actor|actas|user(id|name)?|remote|consumer|account|groups?|roles?|ip|dn|oidc)$");
const OVERRIDES = /^(x?http)?methodoverride$|^xmethodoverride$|^xhttpmethod$|^x?(act|run)as$/;
/** Headers that say in which form and version something is written. */
const OF_FORM = /^(content-type|content-language|accept(-[a-z]+)*|prefer|(.*[-_.])?(api)?version)$/i;
/** Flags under which a request only tells what it would do. */
const TRIAL = new RegExp("^(is|x)?((dry|mock|test|trial)run|noop|whatif|simulat(e|ed|ion)|preview|testmode|sandbox|validat(e|ion))(only|mode)?$"
  + "|^(is|x)?(check|plan|test|verify)only$|^(just|only)(check|preview|simulate|test|validate|verify)$");
/** Flags without which a request only tells what it would do. */
const REAL = /^(commit|execute|force|live|livemode|production)$/;
/** Names under which a request is refused if something has changed in between. */
const CONDITION = /^(x?if((none)?match|(un)?modifiedsince|(meta)?generation[a-z]*)|etag|preconditions?)$/;

const plainOf = (name: string): string => (/^[\w.-]*$/.test(name) ? name : readings(name.split("\0")[0]!.normalize("NFKD").replace(/\p{M}/gu, "")).at(-1)!);
const wordsOf = (name: string): string[] => (plainOf(name).match(WORDS) ?? []).map((word) => word.toLowerCase());
const singular = (word: string): string => (PLURAL.test(word) ? word.slice(0, -1) : word);

/** A name without what lenient servers do not tell apart: `X-Shop` and `x_shop` are one. */
export const letters = (name: string): string => plainOf(name).toLowerCase().replace(/[\s_.-]/g, "");

/** The words of a name, up to a NUL and whole, and those without a qualifier: `password_confirmation`. */
function* stems(name: string): Generator<string[]> {
  for (const found of [name, name.replace(/\0/g, " ")].map(wordsOf)) {
    if (found.length > 0) yield [...found];
    while (found.length > 1 && QUALIFIER.test(found.at(-1)!)) {
      found.pop();
      yield [...found];
    }
  }
}

/** Whether a member of a body has the name of a credential. */
export const isSecretName = (name: string): boolean => [...stems(name)].some(isSecret);

function isSecret(words: string[]): boolean {
  const [whole = "", before = "", first = ""] = [words.at(-1), words.at(-2), words.at(-3)];
  const [last, joined] = [singular(whole), singular(words.join(""))];
  if (before === "o" && last === "auth") return false;
  if (SECRET.test(last) || SECRET.test(before + last) || SECRET.test(joined) || JOINED.test(joined) || joined === "sid") return true;
  if (last.endsWith("token")) {
    const holder = last.slice(0, -5) || before;
    return !OF_PAGES.test(holder) && !(whole.endsWith("s") && OF_COUNTS.test(holder));
  }
  return last === "key" ? OF_KEYS.test(before) : last === "id" && before === "key" && OF_KEYS.test(first);
}

/** Whether a number of this name says how many there are: `tokens: 500`. */
export const counts = (name: string): boolean => wordsOf(name).at(-1) === "tokens";

/** Whether an object of this name is none as a whole: `auth` has methods, users and passwords. */
export const isOfParts = (name: string): boolean => /^auth(entication)?$/.test(wordsOf(name).at(-1) ?? "");

/** Whether a header is a credential. A key or token of any kind is one here, but for those of entries and pages. */
export const isSecretHeader = (name: string): boolean => isSecretName(name) || [...stems(name)].some((words) => {
  const [last, before] = [singular(words.at(-1)!), words.at(-2) ?? ""];
  return (OF_HEADERS.test(last) && !OF_PAGES.test(before)) || (last === "key" && !OF_ENTRIES.test(before));
});

/** Whether a header is no part of the request document. */
export const isUndocumented = (name: string): boolean => UNDOCUMENTED.test(name);

/** Whether a parameter of the query is a credential, or a part of its name in brackets. `key` and `code` are as whole names: `filter[code]` is none. */
export function isSecretParameter(name: string): boolean {
  const [head = "", ...inner] = segments(plainOf(name));
  const isWhole = !head.includes(".") && inner.every((part) => /^\d*$/.test(part));
  return /^(appid$|x-(amz|goog)-)/i.test(name) || (isWhole && OF_QUERIES.test(letters(head))) || [name, head, ...inner].some(isSecretName);
}

/** Whether a header has the request handled as another one: by method, path, host or caller. */
export function overridesHeader(name: string): boolean {
  const joined = letters(name);
  return !joined.endsWith("useragent") && (OVERRIDES.test(joined) || wordsOf(name).some((word) => OVERRIDING.test(word)));
}

/** Whether a parameter or member (`_method`) has the request handled by another method. A form is read as a query is. */
export function overridesMethod(name: string, isForm: boolean): boolean {
  return segments(plainOf(name).trim()).some((part) => {
    const plain = part.trim().toLowerCase();
    const found = plain.replace(/[^a-z]/g, "");
    const isMarked = /^[^\p{L}]/u.test(plain);
    if (isMarked && (/^((http)?method|methodoverride|verb)$/.test(found) || (isForm && /^(action|controller|host|path|route|ur[il])$/.test(found)))) return true;
    return OVERRIDES.test(found) || (isForm && /^(httpmethod|httpverb|xmethod)$/.test(found));
  });
}

/** Whether a header says in which coding a body is. */
export const isCoding = (name: string): boolean => /^content(transfer)?encoding$/.test(letters(name));

/** Whether a header may be changed unasked: it says in which form and version something is written. */
export const isOfForm = (name: string): boolean => OF_FORM.test(name);

/** Whether it has the server try alone (`dryRun`, `validate_only`). */
export const isTrial = (name: string): boolean => TRIAL.test(letters(name).replace(/\[.*$/, ""));

/** Whether it has the server do more than try (`commit`, `force`). */
export const isReal = (name: string): boolean => REAL.test(letters(name));

/** Whether the server acts only as long as it holds (`ifMatch`, `etag`). */
export const isCondition = (name: string): boolean => /^if[-_A-Z]/.test(plainOf(name)) || CONDITION.test(letters(name));

// What a name in a request says: a credential, an override, who is calling, a trial, a condition.
// Names are read as lenient servers read them: in any case, with `-`, `_` and `.` alike, with their escapes undone.

import { readings } from "./credentials.ts";
import { segments } from "./form.ts";

const WORDS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
/** Last word of the name of a credential, or its last two in one. */
const SECRET = new RegExp("^(passw(or)?d|pwd|psw|pw|pass|passphrase|passcode|passkey|pat|secret|cred|credential|authori[sz]ation|jwt|bearer|assertion"
  + "|signature|sig|hmac|[ht]?otp|pin|[cx]srf|dpop|mnemonic|pem|dsn|kubeconfig|accesskeyid|codeverifier|clientcert(ificate)?"
  + "|(seed|recovery|secret)phrase|(php|j)?sess(ion)?id|(access|auth|authorization|security|backup|recovery|device|login|mfa|[ht]?otp|pin)code|securityanswer"
  + "|api(key|token|secret)|access(key|token)|(auth|bearer|client|csrf|id|private|refresh|session|signing)token"
  + "|(auth|private|secret|signing|user|ws)key|clientsecret)$");
/** How a name ends that is written as one word: `dbpassword`. */
const JOINED = new RegExp("(password|passwd|pwd|passphrase|passcode|passkey|secret|credential|authorization|signature|api(key|token)|access(key|token)"
  + "|(auth|bearer|csrf|refresh|session)token|(auth|private|secret|signing)key|(user|db|root|admin|smtp|ftp|ssh)pass|conn(ection)?str(ing)?)$");
/** What stands before `key` in the name of a credential. A `key` alone is one in a query: in a body it names an entry. */
const OF_KEYS = new RegExp("^(api|app|application|access|account|admin|auth|bearer|client|consumer|csrf|deploy|developer|device|encryption|functions|gpg"
  + "|license|master|partner|pgp|private|rapidapi|secret|security|server|service|session|shared|signing|ssh|storage|subscription|user|vault|write|xsrf)$");
/** What stands before `key` in the name of a header that is no credential. */
const OF_ENTRIES = /^(cache|deduplication|idempotency|partition|primary|public|routing|sort|surrogate)$/;
const OF_TOKENS = /^(access|api|auth|bearer|id|refresh|secret|session)$/;
/** What stands before `token` in the name of no credential. */
const OF_PAGES = new RegExp("(page|paging|pagination|next|prev|previous|cursor|continuation|continue|sync|start|starting|end|resume|scroll|max|min"
  + "|eos|bos|pad|stop|idempotency)$");
const QUALIFIER = new RegExp("^(\\d+|confirm|confirmation|confirmed|again|repeat|repeated|new|old|current|value|hash|hashed|digest|plain|plaintext"
  + "|text|string|binary|b64|base|encoded|encrypted|verify|header|v)$");
/** Plurals of other meanings: `pins`, `assertions` of a monitor. `pass` is no plural. */
const SINGULAR = /^(pins|assertions|.*ss)$/;
/** Names of credentials where a value is a text: `tokens: 500` counts words. */
const OF_TEXTS = /^(auth|authentication|cookie|signature|token|pat)s?$/;
/** Headers that are no part of the request document: a proxy, too, knows them by their names. */
const UNDOCUMENTED = new RegExp("^(cookie|x-amz-security-token|x-goog-api-key)$|(^|[_.-])(api|access|auth|private|session|secret|security|csrf|xsrf|bearer|vault)"
  + "[_-]?(key|token|secret)$|(^|[_.-])(apikey|authorization|passw(or)?d|secret)$", "i");
const OF_HEADERS = /^(auth|authentication|session|sid|ticket|cookie|token)$/;
const OF_QUERIES = /^(key|keyid|code|sid|session|sessionkey|ticket|cookies?|tokens?|x?auth|authentication)$/;
/** Words in the names of headers that send a request elsewhere, or as somebody else. */
const OVERRIDING = new RegExp("^(methods?|verb|override|methodoverride|rewrite|forward(ed)?|destination|host|ur[il]|path|redirect|subrequest|accel|sendfile"
  + "|impersonate|sudo|principal|identity|behalf|actor|actas|user(id|name)?|remote|consumer|account|groups?|roles?|ip|dn|oidc)$");
const OVERRIDES = /^(x?http)?methodoverride$|^xmethodoverride$|^xhttpmethod$|^x?actas$/;
/** Headers that say in which form and version something is written. */
const OF_FORM = /^(content-type|content-language|accept(-[a-z]+)*|prefer|(.*[-_.])?(api)?version)$/i;
const TRIAL = /^x?(dryrun|validat(e|ion)(only)?|onlyvalidate|simulat(e|ed|ion)|whatif|noop|test(mode|run|only)?|(plan|check|preview)only|sandbox)$/;
const CONDITION = /^(x?if([a-z]*match|nonematch|(un)?modifiedsince|version|seqno|primaryterm|[a-z]*generation[a-z]*)|etag|resourceversion|lockversion|expected(version|revision|etag)|preconditions?)$/;

const plainOf = (name: string): string => (/^[\w.-]*$/.test(name) ? name : readings(name.split("\0")[0]!.normalize("NFKD").replace(/\p{M}/gu, "")).at(-1)!);
const wordsOf = (name: string): string[] => (plainOf(name).match(WORDS) ?? []).map((word) => word.toLowerCase());
const singular = (word: string): string => (word.length > 3 && word.endsWith("s") && !SINGULAR.test(word) ? word.slice(0, -1) : word);

/** A name without what lenient servers do not tell apart: `X-Shop` and `x_shop` are one. */
export const letters = (name: string): string => plainOf(name).toLowerCase().replace(/[\s_.-]/g, "");

function essential(name: string): string[] {
  const found = wordsOf(name);
  while (found.length > 1 && QUALIFIER.test(found.at(-1)!)) found.pop();
  return found;
}

/** Whether a member of a body has the name of a credential: for every value of it, or for a text alone. */
export function isSecretName(name: string, isText = false): boolean {
  const found = essential(name);
  const [whole = "", before = "", first = ""] = [found.at(-1), found.at(-2), found.at(-3)];
  const last = singular(whole);
  const joined = wordsOf(name).join("");
  if (SECRET.test(last) || SECRET.test(before + last) || [found.join(""), joined].some((one) => JOINED.test(singular(one))) || joined === "sid") return true;
  if (whole.endsWith("token")) return !OF_PAGES.test(whole === "token" ? before : whole.slice(0, -5));
  if (whole === "tokens") return OF_TOKENS.test(before) || (isText && !OF_PAGES.test(before));
  if (last === "id" && before === "key") return OF_KEYS.test(first);
  return last === "key" ? OF_KEYS.test(before) : isText && found.length === 1 && OF_TEXTS.test(last);
}

/** Whether a header is a credential. A key or token of any kind is one here, but for those of entries and pages. */
export function isSecretHeader(name: string): boolean {
  const found = essential(name);
  const [last, before] = [singular(found.at(-1) ?? ""), found.at(-2) ?? ""];
  return isSecretName(name) || (OF_HEADERS.test(last) && !OF_PAGES.test(before)) || (last === "key" && !OF_ENTRIES.test(before));
}

/** Whether a header is no part of the request document. */
export const isUndocumented = (name: string): boolean => UNDOCUMENTED.test(name);

/** Whether a parameter of the query is a credential. */
export const isSecretParameter = (name: string): boolean =>
  /^(appid$|x-(amz|goog)-)/i.test(name) || OF_QUERIES.test(letters(name)) || isSecretName(name, true);

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
    return OVERRIDES.test(found) || (isForm && found === "httpmethod");
  });
}

/** Whether a header may be changed unasked: it says in which form and version something is written. */
export const isOfForm = (name: string): boolean => OF_FORM.test(name);

/** Whether it has the server try alone (`dryRun`, `validate_only`). */
export const isTrial = (name: string): boolean => TRIAL.test(letters(name).replace(/\[.*$/, ""));

/** Whether the server acts only as long as it holds (`ifMatch`, `etag`). */
export const isCondition = (name: string): boolean => CONDITION.test(letters(name));

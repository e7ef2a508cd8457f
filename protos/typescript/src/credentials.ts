// The caller's credentials in a request: no correction reads, changes or shows them.

const ALWAYS = new Set(["authorization", "cookie", "proxy-authorization"]);
/** The usual names of credentials in headers and queries: `X-Shop-Api-Key`, `access_token`. */
const USUAL =
  /(^|[_.-])(api|access|auth|private|session|secret|security|csrf|xsrf|bearer|vault)[_-]?(key|token|secret)$|(^|[_.-])(apikey|authorization|passw(or)?d|secret)$/i;
const LISTED = ["x-amz-security-token", "x-goog-api-key"];
const HIDDEN = "(hidden)";
/** Characters of a value that is looked for in texts: a shorter one is part of other words. */
const SHORTEST = 6;
/** Characters of a cookie's value that identifies somebody, whatever its name. */
const LONG = 16;

/** Names of credentials: the usual ones, and those that the caller lists. */
export class Credentials {
  #more: Set<string>;

  constructor(more: readonly string[] = []) {
    this.#more = new Set(more.map((name) => name.toLowerCase()));
  }

  /** Whether a header, or a parameter of the query, is one by its usual name, or listed. */
  has(name: string): boolean {
    const low = name.toLowerCase();
    return ALWAYS.has(low) || LISTED.includes(low) || this.#more.has(low) || USUAL.test(low);
  }

  /** Return a function that takes the values of a request's credentials out of a text. */
  hiding(request: Request, more: readonly string[] = []): (text: string) => string {
    const values = [...more];
    for (const [name, value] of request.headers) {
      if (name === "cookie") values.push(...this.#inCookies(value));
      else if (ALWAYS.has(name)) values.push(value.replace(/^\S+\s+/, "").trim()); // the scheme is no secret
      else if (this.has(name)) values.push(value.trim());
    }
    for (const [name, value] of new URL(request.url).searchParams) if (this.has(name)) values.push(value);
    const long = values.filter((value) => value.length >= SHORTEST).sort((one, other) => other.length - one.length);
    return (text) => long.reduce((shown, value) => shown.replaceAll(value, HIDDEN), text);
  }

  #inCookies(cookies: string): string[] {
    return cookies.split(";").flatMap((pair) => {
      const [name = "", ...rest] = pair.split("=");
      const value = rest.join("=").trim();
      return this.has(name.trim()) || value.length >= LONG ? [value] : []; // `theme=default` is none
    });
  }
}

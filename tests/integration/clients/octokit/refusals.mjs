// Makes calls that are refused and prints what a user of octokit finds in the error.
import { Octokit } from "@octokit/rest";
import { RequestError } from "@octokit/request-error";

const [baseUrl] = process.argv.slice(-1);
const log = { debug() {}, info() {}, warn() {}, error() {} };
const client = (auth) => new Octokit({ auth, baseUrl, log });
const octokit = client("token-octocat");
const hello = { owner: "octocat", repo: "hello-world" };

const calls = {
  file: () =>
    octokit.repos.createOrUpdateFileContents({ ...hello, path: "README.md", message: "m", content: "aGVsbG8=" }),
  issue: () => octokit.issues.create({ ...hello, title: "" }),
  misspelt: () => octokit.repos.get({ ...hello, repo: "helo-world" }),
  forbidden: () => client("token-dev").repos.update({ ...hello, description: "mine" }),
  twice: () => octokit.repos.createForAuthenticatedUser({ name: "hello-world" }),
};

const seen = {};
for (const [name, call] of Object.entries(calls)) {
  try {
    await call();
    seen[name] = { class: null };
  } catch (error) {
    const { recovery_feedback: feedback = null, ...native } = error.response?.data ?? {};
    seen[name] = {
      class: error.constructor.name,
      instance: error instanceof RequestError,
      status: error.status ?? null,
      message: error.message,
      native,
      feedback,
    };
  }
}
console.log(JSON.stringify(seen));

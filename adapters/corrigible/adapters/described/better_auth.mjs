// Better Auth with users, organizations and teams, in memory. Argument: the port of 127.0.0.1.
// Run in the folder that has its node_modules; packages are looked up there, not beside this file.
import http from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const here = createRequire(join(process.cwd(), "package.json"));
const load = (name) => import(pathToFileURL(here.resolve(name)));
const { betterAuth } = await load("better-auth");
const { memoryAdapter } = await load("better-auth/adapters/memory");
const { toNodeHandler } = await load("better-auth/node");
const { admin, bearer, openAPI, organization, username } = await load("better-auth/plugins");

const port = Number(process.argv[2]);
const tables = "user session account verification organization member invitation team teamMember".split(" ");
const auth = betterAuth({
  baseURL: `http://127.0.0.1:${port}`,
  secret: "of a server that holds nothing worth a secret",
  database: memoryAdapter(Object.fromEntries(tables.map((name) => [name, []]))),
  telemetry: { enabled: false },
  rateLimit: { enabled: false },
  logger: { disabled: true },
  emailAndPassword: {
    enabled: true,
    // Its own hash takes a tenth of a second by design. Nothing here is worth that.
    password: {
      hash: async (password) => `as it is:${password}`,
      verify: async ({ hash, password }) => hash === `as it is:${password}`,
    },
  },
  plugins: [
    bearer(),
    username(),
    admin(),
    organization({ teams: { enabled: true, maximumTeams: 4 }, invitationLimit: 4, membershipLimit: 5 }),
    openAPI(),
  ],
});

// Somebody has to be there first: an administrator, who is signed in.
const { adapter, internalAdapter } = await auth.$context;
const now = new Date();
const root = await internalAdapter.createUser({
  name: "Root",
  email: "root@example.org",
  emailVerified: true,
  role: "admin",
});
const expiresAt = new Date(now.getTime() + 7 * 24 * 3600 * 1000);
await adapter.create({
  model: "session",
  data: { userId: root.id, token: "token-of-root", expiresAt, createdAt: now, updatedAt: now },
});
http.createServer(toNodeHandler(auth)).listen(port, "127.0.0.1");

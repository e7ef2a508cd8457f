// Makes calls that are refused and prints what a user of stripe-node finds in the error.
const Stripe = require("stripe");
const [port] = process.argv.slice(-1);
const options = { host: "127.0.0.1", port, protocol: "http", maxNetworkRetries: 0, telemetry: false };
const client = (key) => new Stripe(key, options);
const stripe = client("sk_test_corrigible0000000002");

const calls = {
  refund: async () => {
    const charge = await stripe.charges.create({ amount: 1000, currency: "usd", source: "tok_visa" });
    await stripe.refunds.create({ charge: charge.id, amount: 700 });
    await stripe.refunds.create({ charge: charge.id, amount: 500 });
  },
  missing: () => stripe.charges.create({ amount: 1000, source: "tok_visa" }),
  declined: () =>
    stripe.charges.create({ amount: 1000, currency: "usd", source: "tok_chargeDeclinedInsufficientFunds" }),
  key_reused: async () => {
    const once = { idempotencyKey: `node-${port}` };
    await stripe.charges.create({ amount: 1000, currency: "usd", source: "tok_visa" }, once);
    await stripe.charges.create({ amount: 1100, currency: "usd", source: "tok_visa" }, once);
  },
  unauthorised: () => client("pk_test_corrigible000000").charges.list(),
  too_many: () => stripe.charges.create({ amount: 1000, currency: "usd", source: "tok_429" }),
};

(async () => {
  const seen = {};
  for (const [name, call] of Object.entries(calls)) {
    try {
      await call();
      seen[name] = { class: null };
    } catch (error) {
      seen[name] = {
        class: error.constructor.name,
        instance: error instanceof Stripe.errors.StripeError,
        type: error.type,
        code: error.code ?? null,
        param: error.param ?? null,
        status: error.statusCode ?? null,
        message: error.message,
        feedback: error.raw?.recovery_feedback ?? null,
      };
    }
  }
  console.log(JSON.stringify(seen));
})();

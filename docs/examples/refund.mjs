// A refund in JavaScript: the user is asked before another amount is sent. Needs the package of protos/typescript.
import { correcting } from "corrigible";

const url = process.env.API ?? "http://127.0.0.1:8080";
const fetch = correcting(globalThis.fetch, {
  onRefusal: "confirm",
  confirm: (suggestion, text) => {
    console.log(text);
    return true; // ask the user here
  },
});
const post = (path, members) =>
  fetch(url + path, { method: "POST", headers: { authorization: "Bearer sk_test_anything" }, body: new URLSearchParams(members) });

const charge = await (await post("/v1/charges", { amount: "1000", currency: "usd", source: "tok_visa" })).json();
await post("/v1/refunds", { charge: charge.id, amount: "700" });
const refund = await (await post("/v1/refunds", { charge: charge.id, amount: "500" })).json();
console.log(refund.amount);

"""stripe-python through the proxy: a refused call is corrected, with consent."""

import stripe

from corrigible.client.stripe import CorrigibleHTTPClient


def agreed(proposal):
    return input(f"{proposal}\nSend it? [y/n] ") == "y"


client = CorrigibleHTTPClient(on_refusal="confirm", confirm=agreed)
proxy = {"api": "http://127.0.0.1:8080"}
api = stripe.StripeClient("sk_test_any", base_addresses=proxy, http_client=client).v1
charge = api.charges.create({"amount": 1000, "currency": "usd", "source": "tok_visa"})
api.refunds.create({"charge": charge.id, "amount": 700})
# 300 are left: the user is asked
refund = api.refunds.create({"charge": charge.id, "amount": 500})
print(refund.amount)

"""Places one order by Alpaca's own SDK, as it is, and prints what the SDK says as one line of JSON."""
import json
import os

from alpaca.common.exceptions import APIError
from alpaca.trading.client import TradingClient
from alpaca.trading.requests import LimitOrderRequest

client = TradingClient(
    os.environ["ALPACA_KEY_ID"], os.environ["ALPACA_SECRET_KEY"], paper=True, url_override=os.environ["ALPACA_URL"]
)
order = LimitOrderRequest(
    symbol="AAPL",
    qty=10,
    side="buy",
    limit_price=187.5,
    time_in_force="day",
    client_order_id=os.environ.get("CLIENT_ORDER_ID"),
)
try:
    print(json.dumps({"told": "placed", "words": client.submit_order(order).status.value}))
except APIError as error:
    print(json.dumps({"told": "refused", "words": error.message}))

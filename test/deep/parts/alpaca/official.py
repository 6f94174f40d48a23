"""Alpaca's own Python SDK, as it is, against an address that the environment names. Prints one line of JSON with all that it saw."""
import json
import os
import sys
import threading
import time
import urllib.request

from alpaca.common.exceptions import APIError
from alpaca.trading.client import TradingClient
from alpaca.trading.requests import (
    GetOrderByIdRequest,
    GetOrdersRequest,
    LimitOrderRequest,
    MarketOrderRequest,
    ReplaceOrderRequest,
    StopLossRequest,
    TakeProfitRequest,
    TrailingStopOrderRequest,
)
from alpaca.trading.stream import TradingStream

url, stream_url, control = os.environ["ALPACA_URL"], os.environ["ALPACA_STREAM"], os.environ["ALPACA_CONTROL"]
key, secret = os.environ["ALPACA_KEY"], os.environ["ALPACA_SECRET"]
client = TradingClient(key, secret, paper=True, url_override=url)


def until(what, check):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        seen = check()
        if seen:
            return seen
        time.sleep(0.1)
    sys.exit(f"never seen: {what}")


def refusal(act):
    try:
        act()
    except APIError as error:
        return [error.status_code, error.code, error.message]
    return None


def is_now(order_id, status):
    def look():
        order = client.get_order_by_id(order_id)
        return order if order.status.value == status else None

    return until(f"{order_id} {status}", look)


def limit(**more):
    terms = {"symbol": "AAPL", "qty": 10, "side": "buy", "time_in_force": "day", "limit_price": 187.5}
    return LimitOrderRequest(**{**terms, **more})


def whole_way():
    events = []
    stream = TradingStream(key, secret, url_override=stream_url)

    async def note(update):
        events.append([str(update.event), str(update.order.id), update.order.filled_qty, update.qty])

    stream.subscribe_trade_updates(note)
    threading.Thread(target=stream.run, daemon=True).start()
    status = lambda: json.load(urllib.request.urlopen(control + "/status"))
    until("the subscription", lambda: any(session["targets"] for session in status()["sessions"]))

    account, clock, asset = client.get_account(), client.get_clock(), client.get_asset("AAPL")
    placed = client.submit_order(limit(client_order_id="py-place"))
    found = client.get_order_by_client_id("py-place")
    is_now(placed.id, "new")
    successor = client.replace_order_by_id(placed.id, ReplaceOrderRequest(qty=12, client_order_id="py-replace"))
    old = is_now(placed.id, "replaced")
    is_now(successor.id, "new")
    opened = client.get_orders(GetOrdersRequest(status="open", direction="asc", limit=500))
    every = client.get_orders(GetOrdersRequest(status="all", after=placed.submitted_at, symbols=["AAPL"]))
    client.cancel_order_by_id(successor.id)
    is_now(successor.id, "canceled")
    fraction = client.submit_order(MarketOrderRequest(symbol="AAPL", qty=1.5, side="buy", time_in_force="day"))
    money = client.submit_order(MarketOrderRequest(symbol="KO", notional=100, side="buy", time_in_force="day"))
    bought, spent = is_now(fraction.id, "filled"), is_now(money.id, "filled")
    exits = {"take_profit": TakeProfitRequest(limit_price=300), "stop_loss": StopLossRequest(stop_price=150)}
    bracket = client.submit_order(limit(order_class="bracket", **exits))
    is_now(bracket.id, "new")
    nested = client.get_order_by_id(bracket.id, GetOrderByIdRequest(nested=True))
    canceled = client.cancel_orders()
    is_now(bracket.legs[0].id, "canceled")
    until("the last event", lambda: any(event[:2] == ["fill", str(money.id)] for event in events))
    stream.stop()
    trailing = TrailingStopOrderRequest(symbol="AAPL", qty=1, side="sell", time_in_force="day", trail_percent=1)
    return {
        "account": [account.account_number, account.status.value],
        "clock": clock.is_open,
        "asset": [asset.symbol, asset.fractionable],
        "placed": [placed.client_order_id, placed.status.value, placed.qty, placed.limit_price],
        "found": found.id == placed.id,
        "replaced": [successor.replaces == placed.id, successor.client_order_id, successor.qty, old.replaced_by == successor.id],
        "open": [order.client_order_id for order in opened if order.client_order_id.startswith("py-")],
        "all": [order.client_order_id for order in every if order.client_order_id.startswith("py-")],
        "fraction": [bought.qty, bought.filled_qty],
        "money": [spent.qty, spent.notional, float(spent.filled_qty) > 1],
        "bracket": [bracket.order_class.value, [leg.status.value for leg in bracket.legs], len(nested.legs)],
        "canceled": [str(answer.id) for answer in canceled if answer.status == 200].count(str(bracket.id)),
        "events": {
            name: [[event[0], event[2], event[3]] for event in events if event[1] == str(order.id)]
            for name, order in [("placed", placed), ("successor", successor), ("fraction", fraction)]
        },
        "refusals": {
            "repeated": refusal(lambda: client.submit_order(limit(client_order_id="py-place"))),
            "canceled twice": refusal(lambda: client.cancel_order_by_id(successor.id)),
            "replaced twice": refusal(lambda: client.replace_order_by_id(placed.id, ReplaceOrderRequest(qty=9))),
            "trailing": refusal(lambda: client.submit_order(trailing)),
            "nothing": refusal(lambda: client.get_order_by_client_id("py-none")),
            "wrong key": refusal(TradingClient(key, "wrong", paper=True, url_override=url).get_account),
        },
    }


print(json.dumps(whole_way()))

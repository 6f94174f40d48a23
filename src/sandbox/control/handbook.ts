/** `GET /` of the control port. */
export const handbook = `# Tidemark sandbox: the control port

Bodies are JSON. Answers are JSON, or NDJSON where it says so.

POST /faults      {"stream":{"duplicate":0.05,"reorder":0.05,"drop":0.001,"silent_loss":0.001,"garbage":0.001,"foreign":0.001,"cut":0.0001,"half_open":0.0001},
                   "requests":{"lag":0.2,"status_401":0.01,"status_403":0,"status_429":0.01,"status_500":0.01,"status_503":0.01,"html":0.01,"redirect":0,"torn":0.01,"hang":0.001,"reset":0.01},
                   "writes":{"outcome_unknown":0.1,"status_504":0,"at_capacity":0,"unavailable":0,"status_429":0,"status_503":0,"status_500":0,"html":0,"redirect":0,
                             "status_401":0,"torn":0,"hang":0,"reset":0,"wrong_order":0},
                   "orders":{"hidden":0,"unreferenced":0},
                   "lagMs":2000,"lateMs":1000,"veilMs":[500,5000],
                   "rules":[{"on":"event","fault":"silent_loss","orderId":"...","skip":0,"times":1},
                            {"on":"request","fault":"status_500","method":"GET","path":"/v1/orders","times":3},
                            {"on":"write","fault":"outcome_unknown","applied":"late","delayMs":500,"write":"place","reference":"..."},
                            {"on":"write","fault":"torn","at":120},
                            {"on":"order","fault":"hidden","forMs":120000,"reference":"..."},
                            {"on":"upgrade","fault":"html"},
                            {"on":"subscribe","fault":"no_ack","accountId":"..."}],
                   "now":[{"action":"cut","how":"rst"},{"action":"half_open"},{"action":"close","code":1012},{"action":"garbage","kind":"bad_utf8"},
                          {"action":"foreign"},{"action":"revoke_tokens"},{"action":"expire_tokens","lifetimeSeconds":5},
                          {"action":"unknown_gap","accountId":"...","forMs":2000},
                          {"action":"unknown_store_lost","accountId":"...","forMs":2000,"forgotten":0}]}
                  Every part may be left out. Rates are probabilities per event and connection, or per GET; they are merged by name, 0 switches off.
                  A write is a POST, PATCH or DELETE of an order that order entry understood. "applied" says whether it is done all the same: no, yes (before the
                  answer) or late; a rate draws it.
                  An order that somebody placed may be hidden (from lists, GETs and streams) or unreferenced (in lists and GETs) for a while.
                  lateMs, veilMs, delayMs and forMs are milliseconds, or [from,to] to draw between.
                  Actions may name "stream" (account, prediction) and "accountId".
GET  /faults      what is on now
POST /heal        ends every fault; what was held back is let go
POST /rate        {"rate":100} changes a second, 0 stops the market, "max" is as fast as the machine and the readers can
POST /burst       {"count":50000} changes on top, at once
POST /venue       {"answerMs":20} or "manual"; refuseShare, depth (units a print offers), capacity (beyond it 429), session "up" or "down" (503), orderLimit
POST /prices      {"symbol":"AAPL","price":"221.50"} trades there now
POST /day         {} ends the trading day: day orders that people placed expire
POST /orders      {"stream":"prediction","accountId":"..."} an order placed elsewhere; optional: symbol, side, orderType, timeInForce, quantity, price,
                  stopPrice, outcome, clOrdId, clientOrderRef, version (at most 2^63 - 1 - 1000000: it rises with each change), "accepted":false (waits for the venue), "live":true (the market moves it)
POST /orders/{id} {"action":"accept"|"refuse"|"fill"|"cancel"|"expire"|"ask_replace"|"ask_cancel"|"suspend"|"done_for_day"|"resume"|"correct"};
                  refuse: reason, text; fill: quantity, price; ask_replace: quantity, price; correct: cumQty
POST /users       {"username":"dave","password":"…","mfa":null|"123456","accounts":[{"id":"SIM-2001","predictions":true}]} a person who can sign in
POST /accounts    {"id":"SIM-2002","username":"dave","predictions":true} a new account of a user who is there
POST /accounts/{id} {"status":"OPEN"|"CLOSED","predictions":true|false} closes it or opens it again, enrols it for prediction orders or takes that back;
                  its orders stay as they are
POST /clients     {"clientId":"…","clientSecret":"…" (left out: public),"redirectUris":["…"],"scopes":["…"],"users":["…"]} an app
POST /refresh-mode {"mode":"none"|"rotate"|"grace"} what a refresh does to the refresh token
POST /end-logins  {"username":"…","clientId":"…"} takes consent back: refresh tokens and access tokens of these logins end; {} all of them
GET  /ledger      NDJSON of everything received and emitted; ?kind=change,event (start, request, decision, answer, token, sign_in, session, change, event, fault), ?since=<seq>, &limit=<lines>
GET  /state       NDJSON of the present truth of every order; ?stream=, ?accountId=
GET  /status      counts
POST /stop        ends the sandbox
`;

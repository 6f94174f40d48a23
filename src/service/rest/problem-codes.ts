import type { DeclineCode } from '../commands/answer.ts';

/** A fault in one field or one parameter. `path` names it; the value is not repeated. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/**
 * A command breaks this limit: the value it would reach, and the bound. No value: it can't be
 * computed.
 */
export interface BrokenLimit {
  readonly limit: string;
  readonly value?: string | undefined;
  readonly bound: string;
}

type Known = readonly [
  status: number,
  detail: string,
  besides?: { readonly faults?: readonly Fault[]; readonly breach?: BrokenLimit },
];

/**
 * Every code that is answered, with its one status and its sentence. Where an answer has a sentence
 * of its own, the one here is the documents' example.
 */
const known = {
  ACCOUNT_NOT_FOUND: [404, 'there is no such account'],
  ACCOUNT_NOT_OPEN: [
    409,
    'the platform lists the account as RESTRICTED: only cancels are sent until it is listed as OPEN',
  ],
  ACCOUNT_NOT_TRADED: [403, 'the account is not among those that may be traded (TIDEMARK_COMMAND_ACCOUNTS)'],
  ALREADY_DEALT_WITH: [409, 'the row was discarded, or its order was read again'],
  ALREADY_RESOLVED: [409, 'the command is applied already'],
  APPROVAL_NOT_FOUND: [404, 'there is no such request, or it has been approved or has expired'],
  AUTH_UNAVAILABLE: [503, 'the keys of the issuer are out of reach: no token can be judged now'],
  BAD_REQUEST: [400, 'the request could not be understood'],
  CALLER_REF_REUSED: [409, 'the reference is that of another command of yours: GET /v1/commands?callerRef= finds it'],
  COMMANDS_OFF: [403, 'commands are off: the service needs TIDEMARK_COMMANDS=on'],
  COMMAND_NOT_FOUND: [404, 'there is no such command'],
  CONSOLE_UNAVAILABLE: [503, 'the console could not be made at start; the log has the reason'],
  CONTENT_ENCODING: [415, 'a body is read without content encoding only'],
  CROSS_SITE_REQUEST: [403, 'a page of another site, or of another port, may not change anything here'],
  DEMO_AWAY: [503, 'The demo does not answer: it may have ended.'],
  DRAINING: [503, 'this instance is stopping: ask another one'],
  EMPTY_BODY: [400, 'the request has no body, and this route needs one'],
  EVERY_ACCOUNT_NEEDED: [403, 'this concerns every account, and the token names only some'],
  FORWARD_UNANSWERED: [
    503,
    'another instance was asked, and its answer was lost: the request may have been carried out. Send it again, with the same Idempotency-Key where it has one: that finds out, and does nothing twice',
  ],
  HEADERS_TOO_LARGE: [431, 'the header block has more than 8 KiB'],
  HOST_NOT_LOOPBACK: [421, 'without sign-in only requests to localhost are answered'],
  HOST_NOT_NAMED: [
    421,
    'this port answers to localhost, to its own address and to the names in TIDEMARK_ADMIN_NAMES only: without sign-in, that keeps web pages out',
  ],
  IDEMPOTENCY_KEY_REQUIRED: [
    400,
    'a command needs an Idempotency-Key of 1 to 128 visible ASCII characters: with it the same request can be repeated after any failure',
  ],
  IDEMPOTENCY_KEY_REUSED: [422, 'the key belongs to another request'],
  INSTANCE_NOT_FOUND: [404, 'no live process has this name: GET /v1/fleet names those that live'],
  INSUFFICIENT_SCOPE: [403, 'the token has none of the scopes that this needs: orders:write'],
  INTERNAL: [500, 'something went wrong here; the log has the reason under this requestId'],
  INVALID_BODY: [
    400,
    'the request is not what this route takes: see faults',
    { faults: [{ path: 'reason', message: 'must have 1 to 500 characters' }] },
  ],
  INVALID_CURSOR: [400, 'the cursor is not one that was given out for this list and these filters'],
  INVALID_EVENT_ID: [400, 'Last-Event-ID has to be an id of this stream'],
  INVALID_IF_MATCH: [400, 'If-Match has to be one strong ETag of the order, like "12", or *'],
  INVALID_JSON: [400, 'the body is not JSON'],
  INVALID_ORDER: [
    400,
    'the request is not what this route takes: see faults',
    { faults: [{ path: 'qty', message: 'must be greater than zero' }] },
  ],
  INVALID_PARAMETER: [
    400,
    'the parameters are not what this route takes',
    { faults: [{ path: 'limit', message: 'must be a whole number from 1 to 500' }] },
  ],
  INVALID_TOKEN: [401, 'the token is not accepted: it is expired, not for this service, or not known'],
  JOB_NOT_FOUND: [404, 'there is no such job'],
  KAFKA_UNAVAILABLE: [503, 'Kafka did not answer in time; try again'],
  LIMITS_REQUIRED: [403, 'a real account needs limits before orders are placed on it'],
  LIMIT_EXCEEDED: [
    409,
    'the limit maxQuantity is 500, and with this command it would be 1000',
    { breach: { limit: 'maxQuantity', value: '1000', bound: '500' } },
  ],
  LIMIT_NOT_EVALUATED: [
    409,
    'the limit collarPercent cannot be evaluated: there is no fresh quote',
    { breach: { limit: 'collarPercent', bound: '5' } },
  ],
  MEDIA_TYPE: [
    415,
    'the request has a body of a type that is not read here: send JSON, with content-type: application/json',
  ],
  METHOD_NOT_ALLOWED: [405, 'this path has no such method: see Allow'],
  NAMES_NO_ORDER: [409, 'the row names no order that could be read: check it, and discard it'],
  NOT_FOUND: [404, 'there is nothing at this path'],
  NOT_HTTP: [400, 'what was sent is not one unambiguous HTTP request'],
  NOT_LEADER: [503, 'another process holds the shard of the account, or its commands are being taken over'],
  NO_CHANGE: [409, 'the order works on these very terms already'],
  ORDER_ACTION_PENDING: [409, 'a cancel of the order still awaits the venue'],
  ORDER_CLOSED: [409, 'the order is filled'],
  ORDER_NOT_FOUND: [404, 'there is no such order'],
  PLACING_HALTED: [
    409,
    'placing is halted (operator): the price feed looks wrong. Cancels pass; a person has to resume it',
  ],
  QUANTITY_BELOW_FILLED: [409, '14 are filled already'],
  RATE_LIMITED: [429, 'the account has used up its rate of writes'],
  REPEATED_HEADER: [400, 'a header that may stand once stands twice'],
  REQUEST_TIMEOUT: [408, 'the request did not arrive in time'],
  REVISION_MISMATCH: [412, 'the order is at revision 13'],
  ROW_NOT_FOUND: [404, 'there is no such dead letter'],
  SECOND_PRINCIPAL_NEEDED: [403, 'the principal that asked for it cannot approve it, whichever of its tokens signs in'],
  SHARD_NOT_FOUND: [404, 'there is no shard of this number: GET /v1/fleet says how many there are'],
  SOURCE_NOT_LIVE: [503, 'the order stream of the account is not live: a result would be learnt late'],
  STORE_UNAVAILABLE: [503, 'the database does not answer; try again'],
  SUPERSEDED_NOT_ABSENT: [409, 'the command to be superseded is not presumed absent, or was superseded already'],
  TOO_LARGE: [413, 'the request has a larger body than is read here'],
  TOO_MANY_APPROVALS: [
    429,
    '50 requests of this principal wait for a second one already: each has to be approved, or ends an hour after it was made',
  ],
  TOO_MANY_CONNECTIONS: [503, 'there are as many connections as may be, and all are busy: use fewer'],
  TOO_MANY_HEADERS: [431, 'the request has more than 64 header fields'],
  TOO_MANY_JOBS: [429, '10 jobs have not ended: wait for one, or cancel one'],
  TOO_MANY_READS: [
    429,
    'as many reads as this principal may have at once are under way or not taken: ask for fewer at a time, for smaller pages, or later',
  ],
  TOO_MANY_REPAIRS: [429, 'ten reads of this account wait or are under way: ask for their results first'],
  TOO_MANY_STREAMS: [503, 'there are as many readers of the stream as are served; try again later'],
  TOO_SLOW: [503, 'the answer took too long; try again'],
  UNAUTHENTICATED: [401, 'this needs a bearer token'],
  UNEXPECTED_BODY: [400, 'this route takes no body: what it needs stands in its path, parameters and headers'],
  UNKNOWN_FIELD: [
    400,
    'the request is not what this route takes: see faults',
    { faults: [{ path: 'clientID', message: 'is not a field of this body' }] },
  ],
  UNKNOWN_ROLE: [400, 'role must be leader, or left out'],
  UNREADABLE_ROW: [500, 'what is stored of this is damaged; the log names it under this requestId'],
  UNRESOLVED_PRIOR_COMMAND: [
    409,
    'command c8615a5c-8335-4ac6-8d1c-6f1167573422 placed the same, and its result is not known',
  ],
  URL_TOO_LONG: [414, 'the URL, or a part of it, is longer than is read here'],
} as const satisfies Readonly<Record<DeclineCode, Known>> & Readonly<Record<string, Known>>;

export type ProblemCode = keyof typeof known;

export const problemCodes = Object.keys(known) as readonly ProblemCode[];

export function statusOf(code: ProblemCode): number {
  return known[code][0];
}

export function problemText(code: ProblemCode): string {
  return known[code][1];
}

/** The fields beside the sentence, in the example. */
export function exampleOf(code: ProblemCode): NonNullable<Known[2]> {
  const [, , besides = {}]: Known = known[code];
  return besides;
}

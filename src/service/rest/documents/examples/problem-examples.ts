import { type BrokenLimit, type Fault, problem } from '../../problem.ts';

interface Told {
  readonly detail: string;
  readonly faults?: readonly Fault[];
  readonly breach?: BrokenLimit;
}

/**
 * Each code's sentence as a route answers it, for the documents. A code in the table of routes that
 * is missing here fails a test.
 */
const told: Readonly<Record<string, string | Told>> = {
  ACCOUNT_NOT_FOUND: 'there is no such account',
  ACCOUNT_NOT_OPEN: 'the platform lists the account as RESTRICTED: only cancels are sent until it is listed as OPEN',
  ACCOUNT_NOT_TRADED: 'the account is not among those that may be traded (TIDEMARK_COMMAND_ACCOUNTS)',
  ALREADY_DEALT_WITH: 'the row was discarded, or its order was read again',
  ALREADY_SETTLED: 'the command is applied already',
  APPROVAL_NOT_FOUND: 'there is no such request, or it has been approved or has expired',
  AUTH_UNAVAILABLE: 'the keys of the issuer are out of reach: no token can be judged now',
  BAD_REQUEST: 'the request could not be understood',
  CALLER_REF_REUSED: 'the reference is that of another command of yours: GET /v1/commands?callerRef= finds it',
  COMMANDS_OFF: 'commands are off: the service needs TIDEMARK_COMMANDS=on',
  COMMAND_NOT_FOUND: 'there is no such command',
  CONTENT_ENCODING: 'a body is read without content encoding only',
  CROSS_SITE_REQUEST: 'a page of another site, or of another port, may not change anything here',
  DRAINING: 'this instance is stopping: ask another one',
  EMPTY_BODY: 'the request has no body, and this route needs one',
  EVERY_ACCOUNT_NEEDED: 'this concerns every account, and the token names only some',
  IDEMPOTENCY_KEY_REQUIRED:
    'a command needs an Idempotency-Key of 1 to 128 visible ASCII characters: with it the same request can be repeated after any failure',
  IDEMPOTENCY_KEY_REUSED: 'the key belongs to another request',
  INSTANCE_NOT_FOUND: 'no live process has this name: GET /v1/fleet names those that live',
  INSUFFICIENT_SCOPE: 'the token has none of the scopes that this needs: orders:write',
  FORWARD_UNANSWERED:
    'another instance was asked, and its answer was lost: the request may have been carried out. Send it again, with the same Idempotency-Key where it has one: that finds out, and does nothing twice',
  INTERNAL: 'something went wrong here; the log has the reason under this requestId',
  INVALID_BODY: {
    detail: 'the body is not what this route takes: see faults',
    faults: [{ path: 'reason', message: 'must have 1 to 500 characters' }],
  },
  INVALID_CURSOR: 'the cursor is not one that was given out for this list and these filters',
  INVALID_EVENT_ID: 'the id is not one of this stream',
  INVALID_IF_MATCH: 'If-Match has to be one strong ETag of the order, like "12", or *',
  INVALID_JSON: 'the body is not JSON',
  INVALID_ORDER: {
    detail: 'the body is not what this route takes: see faults',
    faults: [{ path: 'qty', message: 'must be greater than zero' }],
  },
  INVALID_PARAMETER: {
    detail: 'the parameters are not what this route takes',
    faults: [{ path: 'limit', message: 'must be a whole number from 1 to 500' }],
  },
  INVALID_TOKEN: 'the token is not accepted: it is expired, not for this service, or not known',
  JOB_NOT_FOUND: 'there is no such job',
  KAFKA_UNAVAILABLE: 'Kafka did not answer in time; try again',
  LIMITS_REQUIRED: 'a real account needs limits before orders are placed on it',
  LIMIT_EXCEEDED: {
    detail: 'the limit maxQuantity is 500, and with this command it would be 1000',
    breach: { limit: 'maxQuantity', value: '1000', bound: '500' },
  },
  LIMIT_NOT_EVALUATED: {
    detail: 'the limit collarPercent cannot be evaluated: there is no fresh quote',
    breach: { limit: 'collarPercent', bound: '5' },
  },
  MEDIA_TYPE: 'the request has a body of a type that is not read here',
  NAMES_NO_ORDER: 'the row names no order that could be read: check it, and discard it',
  NOT_FOUND: 'there is nothing at this path',
  NOT_LEADER: 'another process holds the shard of the account, or its commands are being taken over',
  NO_CHANGE: 'the order works on these very terms already',
  ORDER_ACTION_PENDING: 'a cancel of the order still awaits the venue',
  ORDER_CLOSED: 'the order is filled',
  ORDER_NOT_FOUND: 'there is no such order',
  PLACING_HALTED: 'placing is halted (operator): the price feed looks wrong. Cancels pass; a person has to resume it',
  QUANTITY_BELOW_FILLED: '14 are filled already',
  RATE_LIMITED: 'the account has used up its rate of writes',
  REPEATED_HEADER: 'a header that may stand once stands twice',
  REVISION_MISMATCH: 'the order is at revision 13',
  ROW_NOT_FOUND: 'there is no such row in quarantine',
  SECOND_PRINCIPAL_NEEDED: 'the principal that asked for it cannot approve it, whichever of its tokens signs in',
  SHARD_NOT_FOUND: 'there is no shard of this number: GET /v1/fleet says how many there are',
  SOURCE_NOT_LIVE: 'the order stream of the account is not live: an outcome would be learnt late',
  STORE_UNAVAILABLE: 'the database does not answer; try again',
  SUPERSEDED_NOT_ABSENT: 'the command to be superseded is not presumed absent, or was superseded already',
  TOO_LARGE: 'the request has a larger body than is read here',
  TOO_MANY_APPROVALS:
    '50 requests of this principal wait for a second one already: each has to be approved, or ends an hour after it was made',
  TOO_MANY_JOBS: '10 jobs have not ended: wait for one, or cancel one',
  TOO_MANY_READS:
    'as many reads as this principal may have at once are under way or not taken: ask for fewer at a time, for smaller pages, or later',
  TOO_MANY_REPAIRS: 'ten reads of this account wait or are under way: ask for their results first',
  TOO_MANY_STREAMS: 'there are as many readers of the stream as are served; try again later',
  UNAUTHENTICATED: 'this needs a bearer token',
  UNEXPECTED_BODY: 'this route takes no body: what it needs stands in its path, parameters and headers',
  UNKNOWN_FIELD: {
    detail: 'the body is not what this route takes: see faults',
    faults: [{ path: 'clientID', message: 'is not a field of this body' }],
  },
  UNRESOLVED_PRIOR_COMMAND:
    'command c8615a5c-8335-4ac6-8d1c-6f1167573422 placed the same, and its outcome is not known',
};

export const problemCodes: readonly string[] = Object.keys(told);

/** A code with a status, as it is answered. Undefined: the code has no sentence here. */
export function problemExample(status: number, code: string): object | undefined {
  const known = told[code];
  if (known === undefined) return undefined;
  const { detail, ...besides } = typeof known === 'string' ? { detail: known } : known;
  return problem(status, code, detail, '3f7c2b8e-5a4d-4e0f-9c1b-7d6a5e4f3c21', besides);
}

import { commandAnswer } from '../schema/rest-answers.ts';

// What every command answers, as the table of routes tells it.

export const commandHeaders = ['Idempotency-Key', 'Prefer'] as const;
export const orderCommandHeaders = [...commandHeaders, 'If-Match'] as const;

const headers = ['Location', 'Idempotent-Replayed', 'Preference-Applied', 'RateLimit', 'RateLimit-Policy'];

export const commandAnswers = {
  200: { describe: 'Nothing about it is open: its outcome, or accepted', schema: commandAnswer, headers },
  202: {
    describe: 'Its outcome is not known yet; it is being found out and is never sent again. Ask at Location',
    schema: commandAnswer,
    headers: [...headers, 'Retry-After'],
  },
};

/** Nothing was journaled or sent. */
export const commandProblems = {
  400: ['INVALID_ORDER', 'INVALID_JSON', 'EMPTY_BODY', 'UNKNOWN_FIELD', 'IDEMPOTENCY_KEY_REQUIRED', 'INVALID_IF_MATCH'],
  403: ['COMMANDS_OFF', 'ACCOUNT_NOT_TRADED'],
  404: ['ACCOUNT_NOT_FOUND', 'ORDER_NOT_FOUND'],
  413: ['TOO_LARGE'],
  415: ['MEDIA_TYPE', 'CONTENT_ENCODING'],
  422: ['IDEMPOTENCY_KEY_REUSED'],
  429: ['RATE_LIMITED'],
  503: ['NOT_LEADER', 'DRAINING', 'STORE_UNAVAILABLE', 'SOURCE_NOT_LIVE'],
};

const limited = { ...commandProblems, 403: [...commandProblems[403], 'LIMITS_REQUIRED'] };
const byLimits = ['LIMIT_EXCEEDED', 'LIMIT_NOT_EVALUATED'];
export const placeProblems = {
  ...limited,
  409: ['PLACING_HALTED', 'UNRESOLVED_PRIOR_COMMAND', 'SUPERSEDED_NOT_ABSENT', 'CALLER_REF_REUSED', ...byLimits],
};
export const replaceProblems = {
  ...limited,
  409: ['PLACING_HALTED', 'ORDER_CLOSED', 'ORDER_ACTION_PENDING', 'QUANTITY_BELOW_FILLED', 'NO_CHANGE', ...byLimits],
};
export const cancelProblems = ['ORDER_CLOSED'];

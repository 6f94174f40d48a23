import type { Reason } from '../../domain/command.ts';
import type { PlatformError } from '../../platform/platform-error.ts';

/** Why the platform did not do what was asked, in the journal's terms. */
export function reasonOf({ code, status, message }: PlatformError): Reason {
  return {
    code: code ?? (status === undefined ? 'NO_ANSWER' : `HTTP_${status}`),
    message: message.slice(0, 500).toWellFormed(),
    ...(status !== undefined && { status }),
  };
}

import type { Fetched } from './read-shape.ts';
import { sendWrite, type WriteDeps } from './send-write.ts';
import { changeEmailPath } from './wire/change-email.ts';

/** Asks for another e-mail address of the signed-in user (specification, "POST /v1/users/me/email/change"). One attempt: see `sendWrite`. */
export async function changeEmail(
  deps: WriteDeps,
  baseUrl: string,
  email: string,
  signal: AbortSignal,
): Promise<Fetched<undefined>> {
  const write = { operation: 'change_email', method: 'POST', url: `${baseUrl}${changeEmailPath}`, body: { email } } as const;
  const answer = await sendWrite(deps, write, signal);
  return answer.ok ? { ok: true, value: undefined } : answer;
}

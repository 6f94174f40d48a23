import { z } from 'zod';
import { parsePlainJson } from './parse-json.ts';
import type { ReadDeps } from './read-platform.ts';
import { type Fetched, readShape } from './read-shape.ts';
import { sendWrite, type WriteDeps } from './send-write.ts';
import { settingPath, settingsPath } from './wire/user-settings.ts';

/**
 * The value of one setting, any JSON, with `version` in it an ordinary key (specification, "GET /v1/config/{category}/user-settings/{key}"). A
 * number that a double would change comes as the string of its digits. 404: there is none.
 */
export function readUserSetting(
  deps: ReadDeps,
  baseUrl: string,
  setting: { readonly category: string; readonly key: string },
  signal: AbortSignal,
): Promise<Fetched<unknown>> {
  const url = `${baseUrl}${settingPath(setting.category, setting.key)}`;
  return readShape(deps, { operation: 'user_setting', url, shape: z.unknown(), parse: parsePlainJson }, signal);
}

/** Deletes settings of one category (specification, "DELETE /v1/config/{category}/user-settings"). One attempt: see `sendWrite`. */
export async function deleteUserSettings(
  deps: WriteDeps,
  baseUrl: string,
  settings: { readonly category: string; readonly keys: readonly string[] },
  signal: AbortSignal,
): Promise<Fetched<undefined>> {
  const url = `${baseUrl}${settingsPath(settings.category)}`;
  const write = { operation: 'delete_user_settings', method: 'DELETE', url, body: { keys: settings.keys } } as const;
  const answer = await sendWrite(deps, write, signal);
  return answer.ok ? { ok: true, value: undefined } : answer;
}

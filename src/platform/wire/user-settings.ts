import { z } from 'zod';

/** Specification, "User setting": addressed by category and key; the value is a bare JSON value of any type. */
export const settingAddress = z.object({ category: z.string().min(1), key: z.string().min(1) });

/** Body of `DELETE /v1/config/{category}/user-settings`. Specification, all of it; answered by an empty object. */
export const deleteSettingsBody = z.object({ keys: z.array(z.string()) });

/** The code that the specification shows where a deletion fails. */
export const settingDeleteError = 'USER_SETTING_DELETE_ERROR';

export function settingsPath(category: string): string {
  return `/v1/config/${encodeURIComponent(category)}/user-settings`;
}

export function settingPath(category: string, key: string): string {
  return `${settingsPath(category)}/${encodeURIComponent(key)}`;
}

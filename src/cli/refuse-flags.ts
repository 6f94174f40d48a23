import { CliError, exitCodes } from './cli-error.ts';

/** A flag that a call would not heed is a wrong call: whoever gave it relies on it. `names` as commander has them, `ifRevision` for `--if-revision`. */
export function refuseFlags<Flags extends object>(flags: Flags, names: readonly (keyof Flags & string)[], why: string): void {
  const given = names.find((name) => flags[name] !== undefined);
  if (given === undefined) return;
  const option = `--${given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw new CliError(`${option} ${why}`, { code: 'USAGE', exitCode: exitCodes.usage });
}

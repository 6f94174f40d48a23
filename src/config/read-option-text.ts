import type { Environment } from './check-names.ts';
import type { OptionKind, OptionText } from './option.ts';
import { sentenceOfErrno } from './sentence-of-errno.ts';

export type OptionSource = 'environment' | 'file';

export type ReadText =
  | { readonly kind: 'unset' }
  | { readonly kind: 'text'; readonly text: string; readonly source: OptionSource }
  | { readonly kind: 'fault'; readonly name: string; readonly problem: string };

/** The text of one option, trimmed: from its variable or, for a secret, from the file that `<env>_FILE` names. */
export function readOptionText(
  option: OptionText & Pick<OptionKind<unknown>, 'secret' | 'refusesBlank'>,
  env: Environment,
  readFile: (path: string) => string,
): ReadText {
  const { env: name } = option;
  const direct = env[name];
  const fileName = `${name}_FILE`;
  const path = option.secret ? env[fileName] : undefined;
  if (path === undefined) return direct === undefined ? { kind: 'unset' } : given(option, name, direct, 'environment');
  if (direct !== undefined) return { kind: 'fault', name, problem: `is set twice: here and by ${fileName}; keep one` };
  if (path.trim() === '') return { kind: 'fault', name: fileName, problem: 'is set but blank' };
  try {
    return given(option, fileName, readFile(path.trim()), 'file');
  } catch (error) {
    return { kind: 'fault', name: fileName, problem: `names a file that can't be read: ${sentenceOfErrno(error)}` };
  }
}

/** A blank value counts as none, except where that would widen a choice that it was meant to narrow, or sign in without a secret. */
function given(option: Pick<OptionKind<unknown>, 'refusesBlank'>, name: string, value: string, source: OptionSource): ReadText {
  const text = value.trim();
  if (text !== '') return { kind: 'text', text, source };
  if (!option.refusesBlank) return { kind: 'unset' };
  return {
    kind: 'fault',
    name,
    problem: source === 'file' ? 'names a file that is blank' : 'is set but blank; give it a value or unset it',
  };
}

const sentences: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'no permission',
  EISDIR: 'it is a folder',
};

/** Why a file can't be read, without the path: a secret written into a `_FILE` variable by mistake would be printed with it. */
export function sentenceOfErrno(error: unknown): string {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown reason';
  return sentences[code] ?? code;
}

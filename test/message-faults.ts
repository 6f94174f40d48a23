const widestSubject = 72;

/**
 * What is wrong with a commit's message, one sentence each.
 * `touchesSource`: the commit changes a file below src/.
 */
export function messageFaults(message: string, touchesSource: boolean): readonly string[] {
  const lines = message.split('\n').filter((line) => !line.startsWith('#'));
  const [subject = '', blank = '', ...body] = lines;
  const faults: string[] = [];
  if (subject.trim() === '') faults.push('has no subject');
  if (subject.length > widestSubject)
    faults.push(`has a subject of ${subject.length} columns, at most ${widestSubject}: ${subject}`);
  if (blank.trim() !== '') faults.push(`has no empty line after its subject: ${subject}`);
  if (touchesSource && body.join('').trim() === '')
    faults.push(`changes src/ and has no body that says why: ${subject}`);
  return faults;
}

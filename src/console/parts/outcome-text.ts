const outcomes: Readonly<Record<string, string>> = {
  open: 'under way',
  accepted: 'taken by the platform',
  applied: 'took effect',
  refused: 'refused',
  rejected: 'rejected',
  not_sent: 'not sent',
  unknown: 'outcome not known yet',
  moot: 'without effect',
  conflict: 'a person has to look',
};

/** The state of a command as people read it. */
export function outcomeText(state: string): string {
  return outcomes[state] ?? state.replaceAll('_', ' ');
}

/** Groups of states by colour; the words say the same without it. */
export function outcomeTone(state: string): 'live' | 'done' | 'bad' | 'doubt' {
  if (state === 'applied') return 'done';
  if (state === 'unknown' || state === 'conflict') return 'doubt';
  return ['refused', 'rejected', 'not_sent', 'moot'].includes(state) ? 'bad' : 'live';
}

import type { HarmedChange } from './stream-harm.ts';

const fates: Readonly<Record<HarmedChange['fate'], string>> = {
  twice: 'its message came twice',
  late: 'its message was held back, and came after later ones',
  dropped: 'its message was lost, and then the connection broke',
  silently_lost: 'its message was lost without a sign',
  half_open: 'changed, and the message did not arrive',
  unheard: 'changed while there was no connection',
  unsure: 'the platform cannot confirm it for a while',
};

/** How a change met the fault, as a sentence that begins with its order. */
export function harmText(change: HarmedChange): string {
  return `${nameOf(change)}: ${fates[change.fate]}.`;
}

/** The service's evidence for the change. */
export function recoveryText({ fate, healedBy, ...change }: HarmedChange): string {
  if (healedBy === undefined) return `${nameOf(change)}: not here yet.`;
  return `${nameOf(change)}: ${wayOf(fate, healedBy.cause)} (revision ${healedBy.revision}).`;
}

function wayOf(fate: HarmedChange['fate'], cause: string): string {
  if (fate === 'twice') return 'counted once';
  if (fate === 'late') return 'stored, in its right place';
  if (fate === 'unsure') return 'confirmed again, with its new number';
  if (cause === 'stream') return 'a later message brought the newest state';
  if (cause === 'snapshot') return 'found by reading the whole account';
  return 'found by reading this order';
}

function nameOf({ symbol, orderId }: Pick<HarmedChange, 'symbol' | 'orderId'>): string {
  return `${symbol} ${orderId.slice(0, 8)}`;
}

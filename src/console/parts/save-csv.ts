import type { Ports } from '../state/ports.ts';

/** Lets the reader save a file, named after its subject and the time. */
export function saveCsv(subject: string, text: string, { nowMs, after }: Ports): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = `${subject}-${new Date(nowMs()).toISOString().slice(0, 19).replaceAll(':', '')}Z.csv`;
  link.click();
  // Not every browser has read it by now.
  after(30_000, () => URL.revokeObjectURL(address));
}

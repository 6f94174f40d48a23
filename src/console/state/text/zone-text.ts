const zone = new Intl.DateTimeFormat('en', { timeZoneName: 'longOffset' });

/** The offset of the reader's zone at this moment, `UTC+02:00`: it is another in summer. */
export function zoneText(atMs: number): string {
  const name = zone.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  return name.replace('GMT', 'UTC');
}

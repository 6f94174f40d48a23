/** "90 s", "12 min", "3 h", "4 days": how long ago, for people who have to act on it. */
export function age(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`;
}

/** Age of an instant of ISO 8601; `-` for what is none. */
export function ageOf(instant: string, nowMs: number): string {
  const at = Date.parse(instant);
  return Number.isNaN(at) ? '-' : age(Math.max(0, Math.round((nowMs - at) / 1000)));
}

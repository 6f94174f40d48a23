/** Keeps the `most` that were put in last. Setting a key that is there does not move it. */
export function dropOldest(kept: Map<unknown, unknown>, most: number): void {
  for (const oldest of kept.keys()) {
    if (kept.size <= most) return;
    kept.delete(oldest);
  }
}

/**
 * No principal may have these names, in upper or lower case. `loopback` is every caller if there is
 * no sign-in. As `tidemark` the service writes down its own acts. A person by that name could halt,
 * and the halt would look like the service's own.
 */
export function isReservedName(name: string): boolean {
  return /^(?:loopback|tidemark)$/i.test(name);
}

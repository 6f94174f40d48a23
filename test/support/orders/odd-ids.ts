import fc from 'fast-check';
import { isAddressable, isPlatformId } from '../../../src/domain/platform-id.ts';

/** Ids that some platform gives, each with something that one of our ways could trip over. */
export const reachableIds = [
  'a/b',
  'a%2Fb',
  'a%252Fb',
  'x?y=1#z',
  'A:B|C',
  'ABC 0001/11282026',
  'é-1',
  'e\u0301-1',
  'A&B=C+D',
  "o'1",
  '"q"',
  'back\\slash',
  '-x',
  '--help',
  '=1+1',
  '@SUM(A1)',
  '注文 7',
  '\u{1f4c8}',
  '...',
  '.hidden',
  'a..b',
  '%',
  '%zz',
  '100%',
  '{id}',
  '*',
  'counts',
  'null',
  '0',
  'x'.repeat(128),
  '\u{1f4c8}'.repeat(128),
] as const;

/** Followed, and in no address of the platform: a server on the way may read another path. */
export const outOfReachIds = [
  '.',
  '..',
  '/',
  '../x',
  'a/../b',
  'a/..',
  '..%2Fx',
  '..%252Fx',
  '%2e%2e',
  '%252E%252e',
  'a%2F..%2Fb',
  '..\\x',
  '..;x',
  '..?x',
  '..#x',
  '‥',
  '．．',
  './x',
] as const;

/** No ids: they are kept as a dead letter. */
export const noIds = [
  ' lead',
  'trail ',
  '\u00a0x',
  'a\nb',
  'a\u007fb',
  'a\u0085b',
  'a\u2028b',
  'a\ufffdb',
  'a\ud800b',
  'x'.repeat(129),
] as const;

const pieces = [
  '.',
  '..',
  '/',
  '\\',
  '%',
  '%2e',
  '%2F',
  '%252f',
  '%25',
  '?',
  '#',
  ';',
  ' ',
  'é',
  'a',
  '-',
  ':',
  '+',
  '&',
];

const anyCharacter = fc.integer({ min: 1, max: 0x10_ff_ff }).map((point) => String.fromCodePoint(point));

/** Mostly made of what an address has a meaning for. */
export function anyIds(): fc.Arbitrary<string> {
  const pasted = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 12 }).map((parts) => parts.join(''));
  return fc.oneof(
    pasted,
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 40 }),
    fc.constantFrom(...reachableIds),
  );
}

export function idsInReach(): fc.Arbitrary<string> {
  return anyIds().filter((id) => isPlatformId(id) && isAddressable(id));
}

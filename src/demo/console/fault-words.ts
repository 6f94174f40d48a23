import type { FaultName } from '../break-it/shapes.ts';

interface FaultWords {
  readonly name: FaultName;
  readonly label: string;
  /** What the fault is, and what to watch for. */
  readonly text: string;
}

interface FaultGroup {
  readonly title: string;
  readonly faults: readonly FaultWords[];
}

/** The buttons on the page "Break it", in their order. */
const faultGroups: readonly FaultGroup[] = [
  {
    title: 'Messages',
    faults: [
      { name: 'duplicate', label: 'Duplicate', text: 'Five messages come twice: watch each change count once.' },
      { name: 'reorder', label: 'Reorder', text: 'Five messages come late: watch every order keep its newest state.' },
      {
        name: 'drop',
        label: 'Drop',
        text: 'A message is lost and the connection breaks: watch the account being read again.',
      },
      {
        name: 'silent_loss',
        label: 'Silent loss',
        text: 'Three messages are lost without a sign: watch the next audit find them.',
      },
    ],
  },
  {
    title: 'Connections',
    faults: [
      {
        name: 'cut',
        label: 'Cut',
        text: 'The connections end: watch the doubt come, and go when all accounts were read.',
      },
      {
        name: 'half_open',
        label: 'Half open',
        text: 'The connections stay open and carry nothing: watch the service notice after ten seconds.',
      },
    ],
  },
  {
    title: 'Orders',
    faults: [
      {
        name: 'landed',
        label: '504, landed',
        text: 'An order is taken, the answer is 504: watch the stream prove that it arrived.',
      },
      {
        name: 'not_landed',
        label: '504, not landed',
        text: 'An order is not taken, the answer is 504: watch it stay unknown, and never go out twice.',
      },
      {
        name: 'late_landing',
        label: '504, lands late',
        text: 'The answer is 504, the order lands 4.5 seconds later: watch it stay unknown until it is seen.',
      },
    ],
  },
  {
    title: 'The platform',
    faults: [
      {
        name: 'lost_store',
        label: 'Lost store',
        text: 'The platform forgets its versions and counts from 1 again: watch every order be confirmed anew.',
      },
    ],
  },
];

/** These faults' buttons; all until they are known. */
export function groupsOf(known: readonly FaultName[] | undefined): readonly FaultGroup[] {
  const groups = faultGroups.map(({ title, faults }) => ({
    title,
    faults: faults.filter(({ name }) => known?.includes(name) ?? true),
  }));
  return groups.filter(({ faults }) => faults.length > 0);
}

export function faultLabel(name: FaultName): string {
  return faultGroups.flatMap(({ faults }) => faults).find((fault) => fault.name === name)?.label ?? name;
}

import { journalContract } from '../../support/commands/journal-contract.ts';
import { journalRig } from '../../support/commands/journal-rig.ts';

journalContract(journalRig);

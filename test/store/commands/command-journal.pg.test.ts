import { journalContract } from '../../support/journal-contract.ts';
import { journalRig } from '../../support/journal-rig.ts';

journalContract(journalRig);

import { it } from 'vitest';
import { commandsUnderKillNine } from '../support/commands-under-kill-nine.ts';

// 2,000 of them are in `npm run test:deep`: they take minutes.
it('200 commands through write faults of every kind, killed with -9 every few seconds, a standby taking over: none is sent twice, none is lost, and each verdict is the truth', async () => {
  await commandsUnderKillNine({ commands: 200, kills: 3 });
}, 600_000);

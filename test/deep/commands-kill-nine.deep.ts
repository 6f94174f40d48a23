import { it } from 'vitest';
import { commandsUnderKillNine } from '../support/commands/commands-under-kill-nine.ts';

it('200 commands through write faults of every kind, killed with -9 every few seconds, another process taking over: none is sent twice, none is lost, and each verdict is the truth', async () => {
  await commandsUnderKillNine({ commands: 200, kills: 3 });
}, 600_000);

it('1,000 commands through write faults of every kind, killed with -9 every few seconds, another process taking over: none is sent twice, none is lost, and each verdict is the truth', async () => {
  await commandsUnderKillNine({ commands: 1000, kills: 6 });
}, 1_200_000);

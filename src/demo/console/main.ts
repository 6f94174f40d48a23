import { addScreen } from '../../console/views/screens.tsx';
import { BreakIt } from './break-it.tsx';

// The console of `tidemark demo`: that of every installation, with one screen more.

addScreen({ label: 'Break it', address: '/console/break-it', needs: ['ops:write'], View: BreakIt });
await import('../../console/main.ts');

import type { Session } from '../session.ts';

/** Whether orders can be placed, replaced and cancelled here, by this reader. */
export function mayCommand(session: Session): boolean {
  const state = session.state.peek();
  return session.may('orders:write') && state.kind === 'open' && state.rights.commands === 'on';
}

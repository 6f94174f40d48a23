import type { VNode } from 'preact';
import type { Stream } from '../../../types/records.d.ts';
import type { StatusDocument } from '../../contract/status-answer.ts';
import { orderLink } from '../parts/link.tsx';
import { panelNote } from '../parts/notes.tsx';
import { number, Table } from '../parts/table.tsx';
import { Time } from '../parts/time-text.tsx';

/** Orders open here, but unknown to the platform by its own word. */
export function absentOrders({ absentOrders: all }: StatusDocument): VNode | null {
  if (all.length === 0) return null;
  return (
    <>
      <h2>Orders that the platform does not know</h2>
      <p class="hint">They stay open here until the platform shows them again; nothing is concluded from its answer.</p>
      <div class="panel">
        <Table
          class="roomy"
          label="Orders that the platform does not know"
          head={['Account', 'Reason', number('Orders'), 'The first of them']}
        >
          {all.map(({ account, stream, what, orders, first }) => (
            <tr key={`${stream} ${account} ${what}`}>
              <td>
                {account} <span class="soft">{stream}</span>
              </td>
              <td>{what}</td>
              <td class="number">{orders}</td>
              <td>{linksTo(stream, first)}</td>
            </tr>
          ))}
        </Table>
      </div>
    </>
  );
}

function linksTo(stream: Stream, ids: string): (VNode | string)[] {
  return ids
    .split(' ')
    .filter((id) => id !== '')
    .map((orderId) => <>{orderLink({ stream, orderId })} </>);
}

/** The connections to the platform's streams. */
export function connections({ sources }: StatusDocument): VNode {
  return (
    <>
      <h2>Connections</h2>
      <div class="panel">
        {sources.length === 0 ? (
          panelNote('This instance has no connection to the platform.')
        ) : (
          <Table
            class="roomy"
            label="Connections"
            head={['Login', 'Stream', 'State', 'Last message', 'Last event', 'Last end']}
          >
            {sources.map((source) => (
              <tr key={`${source.credential} ${source.stream}`}>
                <td>{source.credential}</td>
                <td>{source.stream}</td>
                <td>{connectionState(source)}</td>
                <td>
                  <Time at={source.lastFrame} />
                </td>
                <td>
                  <Time at={source.lastEvent} />
                </td>
                <td>
                  {source.lastEndAt === null ? (
                    '–'
                  ) : (
                    <>
                      <Time at={source.lastEndAt} /> <span class="outside">{source.lastEnd}</span>
                    </>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </div>
    </>
  );
}

function connectionState({ connected, paused }: StatusDocument['sources'][number]): VNode {
  if (!connected) return <span class="badge warn">not connected</span>;
  return paused ? (
    <span class="badge warn" title="The queue is full: nothing more is taken from the socket until it has room">
      paused
    </span>
  ) : (
    <span class="badge good">connected</span>
  );
}

const tokens: Readonly<Record<string, string>> = {
  held: 'held',
  waiting: 'waits for a token',
  login_required: 'sign-in needed',
};

/** The logins to the platform, with the end of their tokens. */
export function credentials({ credentials: all }: StatusDocument): VNode | null {
  if (all.length === 0) return null;
  return (
    <>
      <h2>Logins</h2>
      <div class="panel">
        <Table class="roomy" label="Logins" head={['Login', 'Token', 'Ends', 'Last error']}>
          {all.map(({ credential, state, expires, lastError }) => (
            <tr key={credential}>
              <td>{credential}</td>
              <td>
                <span class={`badge ${state === 'held' ? 'good' : 'warn'}`}>{tokens[state] ?? state}</span>
              </td>
              <td>
                <Time at={expires} />
              </td>
              <td class="outside">{lastError ?? '–'}</td>
            </tr>
          ))}
        </Table>
      </div>
    </>
  );
}

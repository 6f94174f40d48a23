import type { ComponentType, VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ConsoleState } from '../state/console-state.ts';
import { html } from './html.ts';
import { loadAgain } from './load-again.ts';

/**
 * A view whose modules are fetched when it is first opened: the
 * first screen does not wait for all others.
 */
export function lazyView<P extends { readonly state: ConsoleState }>(
  load: () => Promise<ComponentType<P>>,
): (props: P) => VNode {
  let view: ComponentType<P> | undefined;
  return function LazyView(props: P) {
    const [state, setState] = useState<'loading' | 'ready' | 'failed'>(view === undefined ? 'loading' : 'ready');
    useEffect(() => {
      if (view !== undefined) return;
      loadAgain(props.state.ports, load)
        .then((loaded) => {
          view = loaded;
          setState('ready');
        })
        .catch(() => setState('failed'));
    }, []);
    if (view !== undefined) return html`<${view} ...${props} />`;
    if (state === 'loading') return html`<p class="alone" role="status">Opening …</p>`;
    // Its address has the digest of a build that the service does
    // not serve any more, or the service is away.
    return html`<p class="alone" role="alert">This screen could not be opened. <a href=${location.href}>Load the page again</a></p>`;
  };
}

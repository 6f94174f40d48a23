import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link } from '../parts/link.tsx';
import { aloneNote } from '../parts/notes.tsx';
import { addressOf } from '../state/address.ts';
import { type Answer, sentenceOf } from '../state/rest.ts';
import { blocksOf, type RunbookBlock, type RunbookWord } from '../state/text/runbook-text.ts';
import type { ScreenProps } from './screen-props.ts';

/** The page for a doubt or an alert: its meaning, how to look, and the fix. */
export function RunbookPage({ state, params: { runbook = '' } }: ScreenProps) {
  const file = `/console/runbooks/${encodeURIComponent(runbook)}.md`;
  const [answer, setAnswer] = useState<Answer<string> | undefined>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    void state.rest
      .get<string>(file, {}, abort.signal, (text) => text)
      .then((read) => abort.signal.aborted || setAnswer(read));
    return () => abort.abort();
  }, [state, file]);
  if (answer === undefined) return aloneNote('status', 'Reading the runbook …');
  if (answer.kind === 'problem' && answer.status === 404) return <p class="alone">There is no runbook of this name.</p>;
  if (answer.kind !== 'ok') return aloneNote('alert', sentenceOf(answer));
  return (
    <article class="screen runbook">
      <p class="crumb">
        Runbook / <a href={file}>as plain text</a>
      </p>
      {blocksOf(answer.body).map(blockView)}
    </article>
  );
}

function blockView(block: RunbookBlock): VNode {
  if (block.kind === 'code') return <pre tabindex={0}>{block.text}</pre>;
  if (block.kind === 'list') {
    const items = block.items.map((item) => <li>{item.map(blockView)}</li>);
    return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
  }
  const words = block.words.map(wordView);
  if (block.kind === 'title') return <h1>{words}</h1>;
  return block.kind === 'heading' ? <h2>{words}</h2> : <p>{words}</p>;
}

function wordView(word: RunbookWord): VNode | string {
  if (word.kind === 'link') return <Link to={addressOf('runbook', { runbook: word.name })}>{word.text}</Link>;
  return word.kind === 'code' ? <code>{word.text}</code> : word.text;
}

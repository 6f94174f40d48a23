import htm from 'htm';
import { h, type VNode } from 'preact';

/**
 * Templates of views. Every value in them is text or a view, never markup: a name such as `<img
 * onerror=…>` shows as it is written.
 */
export const html = htm.bind(h) as unknown as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

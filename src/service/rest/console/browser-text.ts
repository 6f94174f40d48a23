import { stripTypeScriptTypes } from 'node:module';

/**
 * Whole lines alone: text in a template may look like a comment at the end of a line, and is left
 * as it is.
 */
const blockOfLines = /^[ \t]*\/\*\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*$/gm;
const commentLine = /^[ \t]*\/\/.*$/gm;
const trailingSpace = /[ \t]+$/gm;

/**
 * A source as the browser gets it: without types, and without comments on lines of their own. These
 * are a seventh of the first view. Every line keeps its number, so an error in the browser names
 * the source's line.
 */
export function browserText(source: string): string {
  return stripTypeScriptTypes(source)
    .replace(blockOfLines, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(commentLine, '')
    .replace(trailingSpace, '');
}

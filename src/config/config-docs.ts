import { type Option, optionGroups } from './option.ts';
import { optionTable } from './option-table.ts';

const introduction = `# Configuration

Everything is set by environment variables, read once at start. \`tidemark config print\` shows the values in effect.

- A wrong value ends the program with code 78. It prints one line for each fault, and never a secret.
- Each secret can be read from a file instead: \`DATABASE_URL_FILE=/run/secrets/database-url\` in place of \`DATABASE_URL\`.
- Numbers are whole, in the unit that stands with them, digits only: \`5000\`, not \`5s\`.
- A variable that is set but blank counts as not set, except a secret or a list: there it is a fault. A blank proxy variable never is.
- An unknown name is a fault if it is one or two letters away from an option that is not set, or the former name of an option. Any other unknown \`TIDEMARK_*\` or \`OTEL_*\` name gets a warning. So does an unknown name of \`PLATFORM_*\`, \`KAFKA_*\` and \`DATABASE_*\` that looks like an option (\`KAFKA_TOPIC_PREFIX\`).

This page is printed by \`tidemark config docs\`.
`;

/** docs/configuration.md, made from the table. */
export function configDocs(): string {
  const all = Object.values<Option<unknown>>(optionTable);
  const sections = optionGroups.map((group) => {
    const rows = all.filter((option) => option.group === group).map(row);
    return `## ${group}\n\n| Variable | Value | Default | What it does |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return [introduction, ...sections].join('\n');
}

function row(option: Option<unknown>): string {
  const name = option.secret ? `\`${option.env}\` (secret)` : `\`${option.env}\``;
  const fallback = option.fallback === undefined ? 'none' : option.fallback === '' ? 'empty' : `\`${option.fallback}\``;
  // The page says once that numbers are whole.
  const kind = option.kind.replace(/^(?:whole number(?: of|,)|one of) /, '');
  return `| ${[name, kind, fallback, option.describe].map(cell).join(' | ')} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

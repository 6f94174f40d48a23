import { globSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { droppedAt, droppedErrors } from './house/dropped-errors.ts';
import { functionsOver, longestFunction, longestView, reasonsForLength } from './house/long-functions.ts';
import { openedDirectly } from './house/opened-ways.ts';
import { passingOn } from './house/passing-on.ts';

const sourcesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => ({ file: `${folder}/${file}`, text: readFileSync(`${folder}/${file}`, 'utf8') }));

const sources = sourcesIn('src');

/** Classes of bugs that became rules. */
describe('the sources', () => {
  it('take clock, timers, randomness and ids from outside, except in runtime/ and in the two main.ts', () => {
    const direct =
      /\b(Date\.now\(|new Date\(\)|performance\.now\(|Math\.random\(|randomUUID\(|setTimeout\(|setInterval\()/;
    const offenders = sources
      .filter(
        ({ file }) => !file.startsWith('src/runtime/') && file !== 'src/main.ts' && file !== 'src/console/main.ts',
      )
      .filter(({ text }) => direct.test(text))
      .map(({ file }) => file);
    expect(offenders).toEqual([]);
  });

  // A venue's streams have names, and the core asks for their traits (domain/streams.ts).
  it('ask no stream for its name, except where a caller names it and in a venue', () => {
    const asks = /\bstream\w* [!=]== '(?:account|prediction)'|\['account', 'prediction'\]/;
    const named = /^src\/(?:venue|sandbox|demo)\/|^src\/domain\/order\.ts$/;
    const offenders = sources.filter(({ file, text }) => !named.test(file) && asks.test(text)).map(({ file }) => file);
    expect(offenders).toEqual([]);
  });

  // The core calls any venue the platform.
  const others = globSync('src/venue/*/').filter((folder) => !/\/(?:platform|check)\/?$/.test(folder));
  it.each(others.map((folder) => folder.split('/')[2] ?? ''))(
    'name %s only where it is registered, set, chosen and looked at',
    (venue) => {
      const places = [
        'src/cli/demo.ts',
        'src/cli/doctor.ts',
        'src/cli/link.ts',
        'src/cli/sandbox.ts',
        'src/cli/venue.ts',
        'src/config/check-names.ts',
        'src/config/load-config.ts',
        'src/config/unencrypted.ts',
        'src/config/venue-options.ts',
        'src/domain/streams.ts',
        'src/service/run/credential-parts.ts',
      ];
      const word = new RegExp(venue, 'i');
      const isItsOwn = (file: string) => /^src\/(?:venue|sandbox|demo)\//.test(file) || word.test(file);
      const named = sources.filter(({ file, text }) => word.test(text) && !isItsOwn(file)).map(({ file }) => file);
      expect(named.filter((file) => !places.includes(file))).toEqual([]);
    },
  );

  it('leave process to main.ts', () => {
    const touches = /\bprocess\.(env|exit|argv|on|stdout|stderr)\b/;
    const offenders = sources
      .filter(({ file, text }) => file !== 'src/main.ts' && touches.test(text))
      .map(({ file }) => file);
    expect(offenders).toEqual([]);
  });

  it('join signals with abortWith, since Node keeps what AbortSignal.any made for as long as its sources live', () => {
    expect(sources.filter(({ text }) => text.includes('AbortSignal.any(')).map(({ file }) => file)).toEqual([]);
  });

  it('drop an error with a value in its place only where no check is skipped by it: one that can not be made refuses', () => {
    const ofService = sources.filter(({ file }) => !/^src\/(?:cli|console|demo|sandbox)\//.test(file));
    const wrong = ofService.flatMap(({ file, text }) => {
      const lines = droppedAt(file, text);
      const [times, why] = droppedErrors[file] ?? [0];
      return lines.length === times ? [] : [{ file, lines, times, why }];
    });
    expect(wrong).toEqual([]);
    const files = new Set(ofService.map(({ file }) => file));
    expect(Object.keys(droppedErrors).filter((file) => !files.has(file))).toEqual([]);
  });

  // A session of another kind stays with a primary that was demoted.
  it('open no session with Postgres but by createPool and PrimarySession, except in demo/devstack/', () => {
    const opens = /\bnew (pg\.)?(Client|Pool)\(/;
    const offenders = sources
      .filter(({ file }) => !file.startsWith('src/demo/devstack/') && file !== 'src/store/session/pool.ts')
      .filter(({ text }) => opens.test(text))
      .map(({ file }) => file);
    expect(offenders).toEqual([]);
  });

  it('join a host and a port in runtime/url-host.ts alone: an IPv6 address needs brackets', () => {
    const joins = /:\/\/\$\{[^}]*(?:host|address)[^}]*\}:\$\{|lastIndexOf\(':'\)/i;
    const offenders = sources
      .filter(({ file, text }) => file !== 'src/runtime/url-host.ts' && joins.test(text))
      // A database of devstack is on 127.0.0.1, or where Docker
      // publishes it; a container has no other names.
      .filter(({ file }) => !file.startsWith('src/demo/devstack/'));
    expect(offenders.map(({ file }) => file)).toEqual([]);
  });

  it('open every way to the platform through its proxy, except where there is none to go through', () => {
    const direct = {
      'src/service/run/rest-parts.ts': 'forwards between instances of one fleet',
      'src/venue/platform/platform-client.ts': 'a library, which reads no environment',
    };
    const opened = sources.flatMap(({ file, text }) => openedDirectly(file, text).map((call) => ({ file, call })));
    expect(opened.filter(({ file }) => !(file in direct))).toEqual([]);
    expect(opened.map(({ file }) => file).sort()).toEqual(Object.keys(direct).sort());
  });

  it('stay within 400 lines each, comments too', () => {
    expect(sources.filter(({ text }) => text.split('\n').length > 401).map(({ file }) => file)).toEqual([]);
  });

  it('have comments of at most 100 columns; the formatter keeps code to 120', () => {
    const wide = (line: string) =>
      /^\s*(\/\/|\/\*\*|\*) /.test(line) && [...line].length > 100 && !/:\/\/|biome-ignore/.test(line);
    const texts = [...sources, ...sourcesIn('test'), ...sourcesIn('bench')];
    const found = texts.flatMap(({ file, text }) =>
      text
        .split('\n')
        .filter(wide)
        .map((line) => `${file}: ${line}`),
    );
    // That of a deep test of a bug is a title, with a width of its own.
    expect(found.filter((line) => !line.includes('// What a user saw: '))).toEqual([]);
  });

  const rooms = globSync(['src/*/', 'src/service/*/']).map((folder) => folder.replace(/^src\//, ''));
  it.each(rooms)('say the thing and then the reason in comments of %s', (room) => {
    const texts = sources.filter(({ file }) => file.startsWith(`src/${room}/`)).map(({ text }) => text);
    const comments = texts.flatMap((text) => text.match(/\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/[^\n]*/g) ?? []);
    const words = comments.flatMap((text) => text.replace(/`[^`]*`/g, 'X').match(/[A-Za-z][A-Za-z'’-]*/g) ?? []);
    const relative = words.filter((word) => /^(?:that|which|whose|where|of)$/i.test(word));
    // As in the sources of zero-cache, which have 20 to 34. Here it was 70 before.
    expect((1_000 * relative.length) / words.length).toBeLessThan(32);
  });
});

/** What a program of its own exports is of no concern to the others. */
const programs = ['src/console/', 'src/sandbox/'];

describe('the house', () => {
  it('has no function over 60 lines, and no view over 100, but those that say why', () => {
    const long = sources.flatMap(({ file, text }) =>
      functionsOver(file.endsWith('.tsx') ? longestView : longestFunction, file, text),
    );
    expect(long.map(({ place }) => place).sort()).toEqual(Object.keys(reasonsForLength).sort());
  });

  it('has no method in service/commands that only passes its call on', () => {
    const ofPlatform = /^(?:get|set|has|add|delete|clear|keys|values|entries|abort|cancel|then)$/;
    const passedOn = globSync('src/service/commands/**/*.ts').flatMap((file) =>
      passingOn(file, readFileSync(file, 'utf8')).filter(({ callee }) => !ofPlatform.test(callee)),
    );
    expect(passedOn).toEqual([]);
  });

  it('gives no two exported functions of one program the same name', () => {
    const twice = ['', ...programs].flatMap((program) => {
      const files = sources.filter(({ file }) =>
        program === '' ? !programs.some((other) => file.startsWith(other)) : file.startsWith(program),
      );
      const names = files.flatMap(({ text }) =>
        [...text.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, name]) => name),
      );
      return names.filter((name, index) => names.indexOf(name) !== index);
    });
    expect(twice).toEqual([]);
  });

  it.each(['service', 'venue', 'store', 'sandbox', 'console', 'cli', 'demo'])(
    'src/%s opens with a page of at most 40 lines',
    (house) => {
      const page = readFileSync(`src/${house}/README.md`, 'utf8');
      expect(page.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
      const named = [...page.matchAll(/`((?:[\w-]+\/)*[\w-]+\.tsx?)`/g)].map(([, file]) => file ?? '');
      const missing = named.filter((file) => globSync([`src/${house}/**/${file}`, `src/${file}`, file]).length === 0);
      expect(missing).toEqual([]);
    },
  );
});

it('the tests of bugs say what a user saw', () => {
  // One sentence for a reader who has not met the bug: the
  // symptom, and no line that has to be scrolled.
  const titles = sourcesIn('test').flatMap(({ text }) =>
    [...text.matchAll(/^(?:describe\(\s*'issue: (.*)', (?:async )?\(\) => \{|\/\/ What a user saw: (.*))$/gm)].map(
      ([, title, line]) => title?.replaceAll("\\'", "'") ?? line ?? '',
    ),
  );
  expect(titles.length).toBeGreaterThan(300);
  expect(titles.filter((title) => title.length > 95 || !/^[A-Z0-9`"].*\.$/.test(title))).toEqual([]);
});

describe('the parts of the tests', () => {
  it('have names of their own, so that a reader knows which fake a test uses', () => {
    const classesIn = (files: typeof sources) =>
      files.flatMap(({ text }) => [...text.matchAll(/^export class (\w+)/gm)].map(([, name]) => name));
    const ours = new Set(classesIn(sources));
    const theirs = classesIn(sourcesIn('test'));
    expect(theirs.filter((name, i) => ours.has(name) || theirs.indexOf(name) !== i)).toEqual([]);
  });
});

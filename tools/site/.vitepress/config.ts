import { headingAnchor } from '../heading-anchor.ts';
import { sidebar } from '../sidebar.ts';

// Read by VitePress, in the project's folder (build.ts).
export default {
  title: 'Tidemark',
  description:
    'Follows order streams, keeps the newest state of every order in Postgres, and publishes every change to Kafka',
  srcDir: '.cache/pages',
  outDir: 'dist',
  cacheDir: '.cache/vitepress',
  // No icon: without this line a browser asks for one.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // The pictures follow the reader's system, so the page has to as well.
  appearance: 'force-auto',
  // Addresses on the reader's own machine; build.ts checks all others.
  ignoreDeadLinks: 'localhostLinks',
  markdown: { anchor: { slugify: headingAnchor } },
  // The index of the search, which a browser loads at the first search only.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [...sidebar(), { text: 'The command line', link: '/cli' }],
  },
};

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { kafkaVersion } from '../../../src/demo/devstack/kafka-jars.ts';

it('the version that we tell is the one that the pom fetches', () => {
  const pom = readFileSync('src/demo/devstack/pom.xml', 'utf8');
  expect(/<artifactId>kafka_2\.13<\/artifactId>\s*<version>([^<]+)</.exec(pom)?.[1]).toBe(kafkaVersion);
});

import type { TestProject } from 'vitest/node';
import { tellCannotRun } from './cannot-run.ts';
import { findCompose } from './compose-command.ts';
import { findOrStartEngine } from './engine.ts';
import { gatherImages } from './images.ts';
import { say } from './run.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** DOCKER_HOST of the engine on which all this runs. */
    dockerHost: string;
    compose: [string, ...string[]];
    /** Images of docker-compose.yml that can't be had here, and for which there is no stand-in. */
    missingImages: readonly string[];
    /** Tags that we built images of our own for. */
    standIns: readonly string[];
  }
}

/** An engine, Compose and every image, before the first test: without one of them the run fails. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  return prepare(project).catch((error: Error) => {
    tellCannotRun(error);
    throw error;
  });
}

async function prepare(project: TestProject): Promise<() => Promise<void>> {
  const engine = await findOrStartEngine();
  try {
    const compose = await findCompose();
    const images = await gatherImages(engine);
    for (const image of images.missing)
      say(`NOT PROVEN: ${image} can't be pulled and nothing stands in for it: what runs on it is left out`);
    project.provide('dockerHost', engine.host);
    project.provide('compose', [...compose]);
    project.provide('missingImages', images.missing);
    project.provide('standIns', images.standIns);
  } catch (error) {
    await engine.stop();
    throw error;
  }
  return () => engine.stop();
}

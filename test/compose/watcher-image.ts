/**
 * What testcontainers 12 starts beside its containers, to remove them when the process that started
 * them is gone. Without it testcontainers has to be told so.
 */
export const watcherImage = 'testcontainers/ryuk:0.14.0';

import { z } from 'zod';

/** `GET /v1/health`. The specification names the group only: path, shape, and that it is open to everybody are an **assumption**. */
export const health = z.looseObject({ status: z.string() });

export const healthPath = '/v1/health';

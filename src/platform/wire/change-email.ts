import { z } from 'zod';

/** Body of `POST /v1/users/me/email/change`. Specification: `email`. Assumption: the form of an address, and that success is `200 {}`. */
export const changeEmailBody = z.object({ email: z.email().max(254) });

export const changeEmailPath = '/v1/users/me/email/change';

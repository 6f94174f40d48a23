import { z } from 'zod';

/** Specification, "FDA advisory committee calendar response". Dates are `YYYY-MM-DD HH:MM:SS`, in a zone that it does not name. */
export const fdaEvent = z.looseObject({
  fromDate: z.string(),
  toDate: z.string(),
  eventDescription: z.string(),
  url: z.string(),
});

export const fdaCalendar = z.looseObject({ data: z.array(fdaEvent) });

export const fdaCalendarPath = '/v1/stock/fda-advisory-committee-calendar';

export type FdaEvent = z.infer<typeof fdaEvent>;

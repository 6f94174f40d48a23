import type { FdaEvent } from '../../platform/wire/fda-calendar.ts';
import { noise } from './noise.ts';
import { type DayNumber, dayText, isTradingDay } from './trading-days.ts';

const committees = [
  'Oncologic Drugs',
  'Vaccines and Related Biological Products',
  'Cardiovascular and Renal Drugs',
  'Psychopharmacologic Drugs',
  'Antimicrobial Drugs',
  'Endocrinologic and Metabolic Drugs',
] as const;
const weekDays = 7;

/** Meetings of the FDA's advisory committees, oldest first: one a week on a working day, two of them over. */
export function committeeMeetings(seed: number, today: DayNumber, count: number): FdaEvent[] {
  const week = Math.floor(today / weekDays);
  return Array.from({ length: count }, (_, turn) => meetingOf(seed, week - 2 + turn));
}

/** A week's meeting is the same whenever it is asked for. */
function meetingOf(seed: number, week: number): FdaEvent {
  let day = week * weekDays + Math.floor(noise(seed, week, 0) * weekDays);
  while (!isTradingDay(day)) day += 1;
  const committee = committees[Math.floor(noise(seed, week, 1) * committees.length)] ?? committees[0];
  const lastDay = noise(seed, week, 2) < 0.25 ? day + 1 : day;
  return {
    fromDate: `${dayText(day)} 08:30:00`,
    toDate: `${dayText(lastDay)} 17:00:00`,
    eventDescription: `${dayText(day)}: Meeting of the ${committee} Advisory Committee`,
    url: `https://fda.example/advisory-committees/${dayText(day)}-${committee.toLowerCase().replaceAll(' ', '-')}`,
  };
}

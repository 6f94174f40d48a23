import { optionTable } from '../config/option-table.ts';

const rest = `the port of REST (${optionTable.httpPort.fallback} unless ${optionTable.httpPort.env} says otherwise)`;
const admin = `the admin port (${optionTable.adminPort.fallback} unless ${optionTable.adminPort.env} says otherwise)`;

/** For a command that speaks REST. Both ports answer HTTP, so a wrong one is not seen by the connection. */
export const restPortMend = `name ${rest} with --url or ${optionTable.restUrl.env}, not ${admin}.`;
/** For a command that asks the admin port. */
export const adminPortMend = `name ${admin} with --url, not ${rest}.`;

import kafkajs from 'kafkajs';
import { withAdmin } from '../../../src/service/log/with-admin.ts';
import { kafkaDeps, kafkaOptions } from '../../support/servers/kafka-fixture.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

export interface Right {
  readonly on: keyof typeof AclResourceTypes;
  /** Its whole name; with `*` at its end, whatever begins so. */
  readonly name: string;
  readonly may: readonly (keyof typeof AclOperationTypes)[];
}

/** Asked of a broker at which we may do anything. */
export async function grant(openBroker: string, user: string, rights: readonly Right[]): Promise<void> {
  const acl = rights.flatMap((right) =>
    right.may.map((operation) => ({
      resourceType: AclResourceTypes[right.on],
      resourceName: right.name.replace(/\*$/, ''),
      resourcePatternType: right.name.endsWith('*') ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
      principal: `User:${user}`,
      host: '*',
      operation: AclOperationTypes[operation],
      permissionType: AclPermissionTypes.ALLOW,
    })),
  );
  await withAdmin(kafkaDeps, kafkaOptions([openBroker]), (admin) => admin.createAcls({ acl }));
}

/** Takes every right of the user on it, whatever it was. */
export async function revoke(openBroker: string, user: string, { on, name }: Omit<Right, 'may'>): Promise<void> {
  const filter = {
    resourceType: AclResourceTypes[on],
    resourceName: name,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    principal: `User:${user}`,
    operation: AclOperationTypes.ANY,
    permissionType: AclPermissionTypes.ANY,
  };
  await withAdmin(kafkaDeps, kafkaOptions([openBroker]), (admin) => admin.deleteAcls({ filters: [filter] }));
}

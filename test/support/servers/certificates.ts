import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Paths of PEM files. `both`: key and certificate in one file, as Kafka's broker reads them. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
  readonly both: string;
}

/** An authority of the test's own in a folder, with openssl: what it signs is good for a day. */
export class CertificateAuthority {
  readonly cert: string;
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    this.cert = join(folder, 'authority.crt');
    this.openssl(
      'req',
      '-x509',
      '-days',
      '1',
      '-subj',
      '/CN=test authority',
      ...this.newKey('authority'),
      '-out',
      this.cert,
    );
  }

  /** For a server at 127.0.0.1, localhost and, if it is given, `host`, or for a client. */
  sign(name: string, host?: string): Certificate {
    const path = (ending: string) => join(this.folder, `${name}.${ending}`);
    writeFileSync(
      path('ext'),
      `subjectAltName=IP:127.0.0.1,DNS:localhost${host === undefined ? '' : `,DNS:${host}`}\n`,
    );
    this.openssl('req', '-subj', `/CN=${name}`, ...this.newKey(name), '-out', path('csr'));
    const authority = ['-CA', this.cert, '-CAkey', join(this.folder, 'authority.key'), '-CAcreateserial'];
    this.openssl(
      'x509',
      '-req',
      '-days',
      '1',
      ...authority,
      '-extfile',
      path('ext'),
      '-in',
      path('csr'),
      '-out',
      path('crt'),
    );
    writeFileSync(path('pem'), readFileSync(path('key'), 'utf8') + readFileSync(path('crt'), 'utf8'));
    return { key: path('key'), cert: path('crt'), both: path('pem') };
  }

  private newKey(name: string): string[] {
    return [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      join(this.folder, `${name}.key`),
    ];
  }

  private openssl(...args: string[]): void {
    execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: 30_000 });
  }
}

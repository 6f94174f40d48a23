import { spawn } from 'node:child_process';
import { platform } from 'node:os';

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Shows the address in the user's browser. Best effort: the address is printed as well, and a machine without a browser is nothing unusual. */
export function openBrowser(address: string): void {
  const [command = 'xdg-open', ...flags] = openers[platform()] ?? ['xdg-open'];
  const child = spawn(command, [...flags, address], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

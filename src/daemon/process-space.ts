import { readFileSync, readlinkSync } from 'node:fs';

/** Names this boot of the machine, since process ids start again with the next. */
export function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/** Names what process ids mean here: the boot, and the PID namespace. */
export function processSpace(): string {
  const [, namespace = '0'] = /\[(\d+)\]$/.exec(readlinkSync('/proc/self/ns/pid')) ?? [];
  return `${bootId()}/${namespace}`;
}

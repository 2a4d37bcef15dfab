import { closeSync, openSync, readSync } from 'node:fs';
import { isSystemError } from '../errors.js';

/** Length in bytes of the header of a write-ahead log, and what it begins with (SQLite's file format, 4.1). */
const LENGTH = 32;
const MAGIC = [0x377f0682, 0x377f0683];

/**
 * What is wrong with the write-ahead log of a database: SQLite passes over one that does not begin as a log does, and
 * writes over it. Undefined when it is well, or there is none; one that begins with zeros has never been flushed, and
 * holds nothing that anybody was promised.
 */
export function logFault(file: string): string | undefined {
  const header = Buffer.alloc(LENGTH);
  try {
    const fd = openSync(`${file}-wal`, 'r');
    try {
      if (readSync(fd, header, 0, LENGTH, 0) < LENGTH) return undefined;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
  if (MAGIC.includes(header.readUInt32BE(0)) || header.every((byte) => byte === 0)) return undefined;
  return 'its log does not begin as a log does';
}

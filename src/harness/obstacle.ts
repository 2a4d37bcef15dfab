import { accessSync, constants, lstatSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isSystemError } from '../errors.js';

/** What keeps everybody from what lies below a path. */
export interface Obstacle {
  readonly path: string;
  /** What is wrong with it; goes on after its name. */
  readonly what: string;
  /** What to do. */
  readonly todo: string;
}

/** The highest thing on the way to a path that is no folder, or that this user may not enter; undefined when there is none. */
export function obstacleTo(path: string): Obstacle | undefined {
  const above: string[] = [];
  for (let at = dirname(path); at !== dirname(at); at = dirname(at)) above.unshift(at);
  for (const at of above) {
    const stat = statOf(at);
    if (!stat) return undefined;
    if (!stat.isDirectory()) return { path: at, what: 'is not a folder', todo: 'move it away' };
    if (!mayBe(at, constants.X_OK)) return { path: at, what: 'cannot be entered', todo: rights(stat) };
  }
  return undefined;
}

/** Why the user cannot use a folder of his own; undefined for one that he can, and one that is not there. */
export function folderFault(path: string): Obstacle | undefined {
  const above = obstacleTo(path);
  if (above) return above;
  const stat = statOf(path);
  if (!stat) {
    const isLink = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    return isLink ? { path, what: 'is a link that leads nowhere', todo: 'put a folder in its place' } : undefined;
  }
  if (!stat.isDirectory()) return { path, what: 'is not a folder', todo: 'move it away' };
  if (!mayBe(path, constants.R_OK | constants.X_OK)) return { path, what: 'cannot be read', todo: rights(stat) };
  return undefined;
}

/** Why the user cannot make anything in a folder of his own. */
export function writingFault(path: string): Obstacle | undefined {
  const stat = statOf(path);
  if (!stat || mayBe(path, constants.W_OK)) return undefined;
  return { path, what: 'cannot be written to', todo: rights(stat) };
}

function rights({ uid }: Stats): string {
  return uid === process.getuid?.() ? 'give yourself the right with chmod u+rwx' : 'use a home of your own';
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}

function mayBe(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch (error) {
    if (isSystemError(error)) return false;
    throw error;
  }
}

/** What a person may keep of a project, across its trees (spec §3.5). Sizes in bytes. */
export interface Limits {
  readonly files: number;
  readonly bytes: number;
  readonly fileBytes: number;
}

export const DEFAULT_LIMITS: Limits = { files: 2_000, bytes: 32 * 1024 * 1024, fileBytes: 1024 * 1024 };

/** Longest name, in bytes of UTF-8, and deepest level of a path (spec §3.6). */
export const NAME_MAX = 255;
export const DEPTH_MAX = 16;

/** Why a name cannot be in a tree. */
export type NameFault = 'invalid' | 'too long';

/** Checks one name; null stands for bytes that are not UTF-8. */
export function nameFault(name: string | null): NameFault | undefined {
  if (name === null || name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0'))
    return 'invalid';
  if (name.length > NAME_MAX || Buffer.byteLength(name) > NAME_MAX) return 'too long';
  return undefined;
}

/** Checks a path within a tree, `/` between its names. */
export function pathFault(path: string): NameFault | undefined {
  const names = path.split('/');
  if (names.length > DEPTH_MAX) return 'too long';
  for (const name of names) {
    const fault = nameFault(name);
    if (fault) return fault;
  }
  return undefined;
}

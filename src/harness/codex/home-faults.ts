import { lstatSync } from 'node:fs';
import { isSystemError, MendError } from '../../errors.js';
import type { HarnessPlace, LaunchFault } from '../adapter.js';
import { folderFault, obstacleTo, writingFault } from '../obstacle.js';
import { ownSettings } from './shared-links.js';
import { userHome } from './user-home.js';

/** What of the user's home and of the project's hinders Codex, or is not shared. */
export function homeFaults(place: HarnessPlace): readonly LaunchFault[] {
  const serious = unusable(place);
  if (serious) return [serious];
  const { home, env } = place;
  const user = userHome(env);
  const sealed = writingFault(user);
  const own = home === undefined || !lstatOf(home) ? [] : ownSettings(home, user);
  return [
    ...(sealed
      ? [{ what: `Codex's home ${sealed.path} ${sealed.what}, so no login can be kept there`, todo: sealed.todo }]
      : []),
    ...(own.length === 0
      ? []
      : [
          {
            what: `the Codex home ${home} of a project has settings of its own (${own.join(', ')}), which are not those of ${user}`,
            todo: 'remove them there to have yours, or leave them',
            minor: true as const,
          },
        ]),
  ];
}

/** @throws {MendError} when the user's home, or the project's, cannot be used. */
export function refuseFaults(place: HarnessPlace): void {
  const fault = unusable(place);
  if (fault) throw new MendError(`${fault.what}: ${fault.todo}`);
}

function unusable({ home, env }: HarnessPlace): LaunchFault | undefined {
  const user = userHome(env);
  const users = folderFault(user);
  if (users) {
    const what = users.path === user ? users.what : `lies below ${users.path}, which ${users.what}`;
    return { what: `Codex's home ${user}, with the login and the settings, ${what}`, todo: users.todo };
  }
  if (home === undefined) return undefined;
  const there = lstatOf(home);
  if (there && !there.isDirectory()) {
    const what = there.isSymbolicLink() ? 'a symbolic link' : 'no folder';
    return {
      what: `the Codex home ${home} that mend made is ${what}`,
      todo: 'put the folder back, or remove it and have mend make another',
    };
  }
  const way = obstacleTo(home);
  return way && { what: `the Codex homes of projects lie below ${way.path}, which ${way.what}`, todo: way.todo };
}

function lstatOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error)) return undefined;
    throw error;
  }
}

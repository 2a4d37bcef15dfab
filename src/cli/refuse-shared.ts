import { processSpace } from '../daemon/process-space.js';
import { procProcesses } from '../daemon/processes.js';
import { MendError } from '../errors.js';
import { describeError, log } from '../log.js';
import type { ProcessInfo } from '../ports/process.js';
import { storeFolderExists } from '../store/location.js';
import { schemaVersion } from '../store/migrate.js';
import { NamedSessions } from '../store/named-sessions.js';
import { openReadOnly } from '../store/read-only.js';
import { hasScratches } from '../store/scratch-folder.js';
import { ownStoreFolder } from './context.js';

/** The first schema that knows of shared sessions. */
const SHARED_SINCE = 5;

/**
 * Keeps a command from being run within a session that several people steer.
 * @throws {MendError} when this process is one of such a session
 */
export function refuseShared(): void {
  const session = sharedAround();
  if (session !== undefined)
    throw new MendError(`session "${session}" is steered by several people: run this outside of it`);
}

/** The shared session that this process is one of. A store that cannot be read is the command's own to speak of. */
function sharedAround(): string | undefined {
  try {
    const folder = ownStoreFolder();
    if (!storeFolderExists(folder) || !hasScratches(folder)) return undefined;
    const db = openReadOnly(folder);
    try {
      return db && schemaVersion(db) >= SHARED_SINCE ? nearest(new NamedSessions(db)) : undefined;
    } finally {
      db?.close();
    }
  } catch (error) {
    log('debug', 'whether this is a shared session cannot be told', { error: describeError(error) });
    return undefined;
  }
}

function nearest(named: NamedSessions): string | undefined {
  const shared = named.processes(processSpace()).filter((one) => one.shared);
  for (const { pid, start } of ancestors()) {
    const found = shared.find((one) => one.pid === pid && (start === undefined || one.start === start));
    if (found) return found.session.name;
  }
  return undefined;
}

/** This process, its parent, and so on. */
function* ancestors(): Iterable<ProcessInfo> {
  for (let info = procProcesses.info(process.pid); info && info.pid > 1; info = procProcesses.info(info.parent))
    yield info;
}

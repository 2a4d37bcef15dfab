import { closeSync, constants, fsyncSync, lstatSync, mkdirSync, openSync, readlinkSync } from 'node:fs';
import { isSystemError } from '../errors.js';

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * A folder that is held open. Names within it lead to what lies in this very folder, also when its own path leads
 * elsewhere meanwhile: proc_pid_fd(5).
 */
export class HeldFolder {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** @throws {NodeJS.ErrnoException} as open(2) does; ELOOP or ENOTDIR when it is a link, or no folder. */
  static open(path: string): HeldFolder {
    return new HeldFolder(openSync(path, FOLDER));
  }

  /**
   * Opens a folder by its real path.
   * @throws {NodeJS.ErrnoException} as `open` does; ELOOP also when a folder above it has become a link.
   */
  static openReal(path: string): HeldFolder {
    const held = HeldFolder.open(path);
    if (held.path === path) return held;
    held.close();
    throw Object.assign(new Error(`${path} leads through a link`), { code: 'ELOOP' });
  }

  /** Where the folder lies now. */
  get path(): string {
    return readlinkSync(`/proc/self/fd/${this.#fd}`);
  }

  get fd(): number {
    return this.#fd;
  }

  /** A folder in this one. @throws {NodeJS.ErrnoException} as `open` does. */
  enter(name: string): HeldFolder {
    return HeldFolder.open(this.at(name));
  }

  /**
   * Walks down a relative path.
   * @param path where it begins; its real path where that must not lead through a link
   * @param make makes folders that are missing, for the owner alone
   * @returns why not, when something on the way is missing and not to be made, or is no folder
   */
  static walk(
    path: string,
    names: readonly string[],
    make = false,
    isReal = false,
  ): HeldFolder | 'missing' | 'blocked' {
    let at: HeldFolder | undefined;
    try {
      if (make) mkdirSync(path, { recursive: true, mode: 0o700 });
      at = isReal ? HeldFolder.openReal(path) : HeldFolder.open(path);
      for (const name of names) {
        if (make && !lstatSync(at.at(name), { throwIfNoEntry: false })) mkdirSync(at.at(name), { mode: 0o700 });
        const next = at.enter(name);
        at.close();
        at = next;
      }
      return at;
    } catch (error) {
      at?.close();
      if (isSystemError(error, 'ENOENT') && !make) return 'missing';
      if (isSystemError(error, 'ELOOP', 'ENOTDIR', 'EEXIST')) return 'blocked';
      throw error;
    }
  }

  /** The path of a name in this folder, while it is held. */
  at(name = ''): string {
    return `/proc/self/fd/${this.#fd}/${name}`;
  }

  /** Brings its names to the disk: what was renamed or removed in it (fsync(2)). */
  sync(): void {
    try {
      fsyncSync(this.#fd);
    } catch (error) {
      // Some file systems flush no folders.
      if (!isSystemError(error, 'EINVAL')) throw error;
    }
  }

  close(): void {
    closeSync(this.#fd);
  }
}

import type { Agent } from '../mounted/agent.js';
import type { Running, Seen, System } from './play.js';
import type { Mode } from './reference.js';
import type { Process, Session } from './schedule.js';

const FLAGS: Record<Mode, string> = { read: 'r', rw: 'r+', trunc: 'w', append: 'a', create: 'wx' };

/** A mounted memory folder, and real processes: one of each session, and one that looks on. */
export class RealMount implements System {
  readonly #folder: string;
  readonly #agents: Readonly<Record<Session, Agent>>;
  readonly #outsider: Agent;
  #schedules = 0;

  constructor(folder: string, agents: Readonly<Record<Session, Agent>>, outsider: Agent) {
    this.#folder = folder;
    this.#agents = agents;
    this.#outsider = outsider;
  }

  /** Gives names another meaning from now on: files that are not there yet. */
  begin(): void {
    this.#schedules++;
  }

  /** The name that a name of the schedule stands for now. */
  real(name: string): string {
    return `${this.#schedules}-${name}`;
  }

  get now(): number {
    return Math.round((performance.timeOrigin + performance.now()) * 1000);
  }

  wait(): void {
    throw new Error('real time does not jump');
  }

  process({ session }: Process): Running {
    return { pid: this.#agents[session].pid, started: 0, remakes: false };
  }

  end(): void {}

  async open(who: Process, name: string, mode: Mode): Promise<number | string> {
    const agent = this.#agents[who.session];
    try {
      return await agent.run((fs, _, path, flags) => fs.openSync(path, flags), this.#path(name), FLAGS[mode]);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code ?? String(error);
    }
  }

  read(who: Process, fd: number): Promise<string> {
    return this.#agents[who.session].run((fs, _, from) => {
      const bytes = Buffer.alloc(65_536);
      let size = 0;
      for (let got = 1; got > 0; size += got) got = fs.readSync(from, bytes, size, bytes.length - size, size);
      return bytes.toString('latin1', 0, size);
    }, fd);
  }

  async write(who: Process, fd: number, offset: number | null, data: string): Promise<void> {
    await this.#agents[who.session].run(
      (fs, _, to, at, text) => fs.writeSync(to, Buffer.from(text, 'latin1'), 0, text.length, at),
      fd,
      offset,
      data,
    );
  }

  async truncate(who: Process, fd: number, size: number): Promise<void> {
    await this.#agents[who.session].run((fs, _, of, length) => fs.ftruncateSync(of, length), fd, size);
  }

  async closeCopy(): Promise<boolean> {
    return false;
  }

  async closeInherited(who: Process, fd: number): Promise<void> {
    await this.#agents[who.session].run((_fs, _own, inherited) => {
      const { spawnSync } = process.getBuiltinModule('node:child_process');
      spawnSync('true', { stdio: ['ignore', 'ignore', 'ignore', inherited] });
    }, fd);
  }

  async close(who: Process, fd: number): Promise<void> {
    await this.#agents[who.session].run((fs, _, open) => fs.closeSync(open), fd);
  }

  rename(who: Process, from: string, to: string): Promise<string | undefined> {
    const work = (fs: typeof import('node:fs'), _: unknown, source: string, target: string) =>
      fs.renameSync(source, target);
    return this.#agents[who.session].code(work, this.#path(from), this.#path(to));
  }

  unlink(who: Process, name: string): Promise<string | undefined> {
    return this.#agents[who.session].code((fs, _, path) => fs.unlinkSync(path), this.#path(name));
  }

  see(name: string): Promise<Seen> {
    return this.#outsider.run((fs, _, path) => {
      let fd: number;
      try {
        fd = fs.openSync(path, 'r');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        return { text: null, mtime: 0 };
      }
      const mtime = Number(fs.fstatSync(fd, { bigint: true }).mtimeNs / 1000n);
      const text = fs.readFileSync(fd, 'latin1');
      fs.closeSync(fd);
      return { text, mtime };
    }, this.#path(name));
  }

  #path(name: string): string {
    return `${this.#folder}/${this.real(name)}`;
  }
}

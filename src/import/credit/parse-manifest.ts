import { isSystemError, MendError } from '../../errors.js';
import type { MemoryHarness } from '../../harness/adapter.js';
import { memoryHarness } from '../../harness/registry.js';
import { normalizeRemoteUrl } from '../../project/remote-url.js';
import { Field } from './fields.js';
import type {
  CreditedPerson,
  HomeRecord,
  Manifest,
  Organisation,
  ProjectPlace,
  Reading,
  SessionRecords,
  Worktree,
} from './manifest.js';

/**
 * Reads a manifest, strictly: a field that is not known, an id that stands for nothing or for two things, and what
 * contradicts itself is refused, as it may decide who gets memory.
 * @throws {MendError} with one sentence that names the place as a JSON pointer
 */
export function parseManifest(text: string): Manifest {
  const root = new Field(parseJson(text)).object('version', 'organisation', 'people', 'worktrees');
  root.version.oneOf(1);
  const people = parsePeople(root.people);
  const names = new Names(people);
  const organisation = parseOrganisation(root.organisation, names);
  const unique = new Unique();
  const worktrees = root.worktrees.list().map((field) => parseWorktree(field, names, unique));
  return { organisation, people, worktrees };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof RangeError) && !isSystemError(error)) throw error;
    // The engine's message may show a part of the text.
    const place = /position \d+(?: \(line \d+ column \d+\))?/.exec(error.message)?.[0];
    throw new MendError(`the document is not valid JSON${place === undefined ? '' : ` (${place})`}: correct it`);
  }
}

/** Ids that were given, by what they are ids of. */
class Unique {
  readonly #given = new Map<string, Set<string>>();

  /** @throws {MendError} when the id stands for something else already */
  id(field: Field, kind: string, text = field.id()): string {
    const given = this.#given.get(kind) ?? new Set();
    if (given.has(text)) throw field.fault(`is the ${kind} of another one already: give each a ${kind} of its own`);
    this.#given.set(kind, given.add(text));
    return text;
  }
}

/** Tells whether people are known. */
class Names {
  readonly #people: ReadonlyMap<string, CreditedPerson>;

  constructor(people: ReadonlyMap<string, CreditedPerson>) {
    this.#people = people;
  }

  of(field: Field): string {
    const id = field.id();
    if (!this.#people.has(id)) throw field.fault('names nobody of /people: add the person there, or correct the id');
    return id;
  }

  orNobody(field: Field): string | null {
    return field.isThere && field.isNull ? null : this.of(field);
  }
}

function parsePeople(field: Field): Map<string, CreditedPerson> {
  const unique = new Unique();
  const people = field.list().map((one): CreditedPerson => {
    const { id, user, store } = one.object('id', 'user', 'store');
    return {
      id: unique.id(id, 'id'),
      user: user.isThere && user.isNull ? null : unique.id(user, 'user', user.user()),
      store: store.isThere ? store.absolutePath() : undefined,
    };
  });
  return new Map(people.map((person) => [person.id, person]));
}

function parseOrganisation(field: Field, names: Names): Organisation {
  const { id, members } = field.object('id', 'members');
  const unique = new Unique();
  return {
    id: id.id(),
    members: members.list().map((member) => unique.id(member, 'id', names.of(member))),
  };
}

function parseWorktree(field: Field, names: Names, unique: Unique): Worktree {
  const given = field.object('id', 'project', 'workspaces', 'homes', 'sessions', 'readings');
  const id = unique.id(given.id, 'id of a worktree');
  const own = new Unique();
  const workspaces = given.workspaces.list().map((one) => own.id(one, 'id of a workspace'));
  const homes = new Map(
    given.homes.list().map((one): [string, HomeRecord] => {
      const home = parseHome(one, names, own);
      return [home.id, home];
    }),
  );
  const readings = given.readings.list().map((one) => parseReading(one, workspaces, homes, unique));
  refuseLaterThanFinal(given.readings, readings);
  const sessions = parseSessions(given.sessions, names, own);
  return { id, project: parseProject(given.project), workspaces, sessions, readings };
}

function parseProject(field: Field): ProjectPlace {
  const { remote, folder } = field.object('remote', 'folder');
  if (!remote.isThere && !folder.isThere)
    throw field.fault('names no project: add "remote", the URL of its origin, or "folder", a checkout');
  const identity = remote.isThere ? normalizeRemoteUrl(remote.text()) : undefined;
  if (identity === null) throw remote.fault('is not the URL of a repository on a host: correct it, or give "folder"');
  return { remote: identity, folder: folder.isThere ? folder.absolutePath() : undefined };
}

/** A home may belong to a workspace that is none of the worktree: it tells that the record is of another one. */
function parseHome(field: Field, names: Names, unique: Unique): HomeRecord {
  const { id, person, state, workspace } = field.object('id', 'person', 'state', 'workspace');
  return {
    id: unique.id(id, 'id of a home'),
    person: names.orNobody(person),
    state: state.oneOf('settled', 'waiting'),
    workspace: workspace.id(),
  };
}

function parseSessions(field: Field, names: Names, unique: Unique): SessionRecords {
  const { deleted_kept, list } = field.object('deleted_kept', 'list');
  const deletedKept = deleted_kept.flag();
  const sessions = list.list().map((one) => {
    const { id, owner, deleted } = one.object('id', 'owner', 'deleted');
    if (deleted.isThere && deleted.flag() && !deletedKept)
      throw deleted.fault('is of a record that keeps no deleted sessions: correct it, or "deleted_kept"');
    return { id: unique.id(id, 'id of a session'), owner: names.orNobody(owner) };
  });
  return { deletedKept, list: sessions };
}

function parseReading(
  field: Field,
  workspaces: readonly string[],
  homes: ReadonlyMap<string, HomeRecord>,
  unique: Unique,
): Reading {
  const given = field.object('id', 'workspace', 'home', 'harness', 'folder', 'time', 'final');
  const workspace = given.workspace.id();
  if (!workspaces.includes(workspace))
    throw given.workspace.fault('is not one of the workspaces of its worktree: add it there, or correct it');
  const home = given.home.isThere && given.home.isNull ? undefined : homes.get(given.home.id());
  if (!given.home.isNull && !home)
    throw given.home.fault('names no home of its worktree: add its record there, or give null');
  return {
    id: unique.id(given.id, 'id of a reading'),
    ...{ workspace, home },
    harness: parseHarness(given.harness),
    folder: unique.id(given.folder, 'folder', given.folder.absolutePath()),
    time: given.time.time(),
    isFinal: given.final.flag(),
  };
}

function parseHarness(field: Field): MemoryHarness {
  const name = field.id();
  try {
    return memoryHarness(name);
  } catch (error) {
    if (error instanceof MendError) throw field.fault(`cannot be "${name}": ${error.message}`);
    throw error;
  }
}

/** The last save of a workspace is the last one. */
function refuseLaterThanFinal(field: Field, readings: readonly Reading[]): void {
  const fields = field.list();
  const finals = readings.filter(({ isFinal }) => isFinal);
  for (const [index, reading] of readings.entries()) {
    const other = finals.find(
      (one) => one !== reading && one.workspace === reading.workspace && one.harness === reading.harness,
    );
    if (!other || (!reading.isFinal && reading.time <= other.time)) continue;
    throw (fields[index] ?? field).fault(
      reading.isFinal
        ? `says that it is the final one of its workspace, as "${other.id}" does: correct "final" of one`
        : `is later than "${other.id}", the final one of its workspace: correct "time" or "final"`,
    );
  }
}

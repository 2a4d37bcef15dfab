/** A manifest as JSON has it, in the parts that tests change. */
export interface ManifestJson {
  version: number;
  organisation: { id: string; members: string[] };
  people: { id: string; user: string | number | null; store?: string }[];
  worktrees: WorktreeJson[];
}

export interface WorktreeJson {
  id: string;
  project: { remote?: string; folder?: string };
  workspaces: string[];
  homes: { id: string; person: string | null; state: string; workspace: string }[];
  sessions: { deleted_kept: boolean; list: { id: string; owner: string | null; deleted?: boolean }[] };
  readings: ReadingJson[];
}

export interface ReadingJson {
  id: string;
  workspace: string;
  home: string | null;
  harness: string;
  folder: string;
  time: string;
  final: boolean;
}

/** One reading, final, of the only workspace, in a home of Ada's. */
export function manifestJson(): ManifestJson {
  return {
    version: 1,
    organisation: { id: 'garden', members: ['ada', 'ben'] },
    people: [
      { id: 'ada', user: 'ada' },
      { id: 'ben', user: null },
    ],
    worktrees: [worktreeJson()],
  };
}

export function worktreeJson(): WorktreeJson {
  return {
    id: 'w1',
    project: { remote: 'git@example.org:garden/beds.git' },
    workspaces: ['s1'],
    homes: [{ id: 'h1', person: 'ada', state: 'settled', workspace: 's1' }],
    sessions: { deleted_kept: true, list: [{ id: 'a', owner: 'ada' }] },
    readings: [readingJson()],
  };
}

export function readingJson(): ReadingJson {
  return {
    ...{ id: 'r1', workspace: 's1', home: 'h1', harness: 'claude', folder: '/srv/readings/r1' },
    ...{ time: '2026-01-31T09:30:00Z', final: true },
  };
}

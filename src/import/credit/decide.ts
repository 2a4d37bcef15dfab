import type { Organisation, Reading, SessionRecords } from './manifest.js';

/** Whose the memory of a reading is, and why. */
export interface Decision {
  /** Id of the person; null for nobody. */
  readonly person: string | null;
  readonly because:
    | 'the home record'
    | 'every session'
    | 'the only member'
    /** Nothing says whose it is. */
    | 'no evidence'
    /** The harness keeps the memory of many projects in one folder. */
    | 'mixed projects';
  /** Why, as the rest of a sentence about the reading, for people. */
  readonly reason: string;
}

/** An answer of one of the two kinds of evidence: a person, or why it names none. */
type Evidence = Pick<Decision, 'person' | 'because' | 'reason'>;

/**
 * Decides whom the memory of a reading is credited to (spec §10.3): the person whom the home's record names, when that is
 * settled and belongs to the workspace that wrote the reading; else the one person who owned every session that the worktree
 * ever had; else nobody. Pure.
 */
export function decide(reading: Reading, sessions: SessionRecords, organisation: Organisation): Decision {
  if (reading.harness.homePerProject)
    return {
      person: null,
      because: 'mixed projects',
      reason: `${reading.harness.title} keeps the memory of many projects in one folder`,
    };
  const home = homeEvidence(reading);
  if (home.person !== null) return home;
  const owner = sessionEvidence(sessions, organisation);
  if (owner.person !== null) return owner;
  return { ...owner, reason: `${home.reason}, and ${owner.reason}` };
}

function homeEvidence({ home, workspace }: Reading): Evidence {
  const none = (reason: string): Evidence => ({ person: null, because: 'no evidence', reason });
  if (!home) return none('its home has no record');
  const record = `the record of its home "${home.id}"`;
  if (home.state !== 'settled') return none(`${record} has a hand-over that waits`);
  if (home.workspace !== workspace)
    return none(`${record} belongs to workspace "${home.workspace}", not to "${workspace}" that wrote it`);
  if (home.person === null) return none(`${record} names nobody`);
  return { person: home.person, because: 'the home record', reason: `${record} names "${home.person}"` };
}

function sessionEvidence({ deletedKept, list }: SessionRecords, { members }: Organisation): Evidence {
  const none = (reason: string): Evidence => ({ person: null, because: 'no evidence', reason });
  const [first, ...others] = new Set(list.map(({ owner }) => owner));
  const unknown = list.find(({ owner }) => owner === null);
  if (first === undefined) return none('no session of its worktree is recorded');
  if (unknown || first === null) return none(`nobody knows whose session "${unknown?.id}" of its worktree was`);
  if (others.length > 0) return none(`the sessions of its worktree were of ${others.length + 1} people`);
  const all = `"${first}" owned every session`;
  if (deletedKept) return { person: first, because: 'every session', reason: `${all} that its worktree ever had` };
  if (members.length !== 1)
    return none(
      `the sessions that were deleted are not known, while the organisation has ${members.length === 0 ? 'no' : members.length} members`,
    );
  if (members[0] !== first)
    return none(
      `the sessions that were deleted are not known, and "${first}", who owned those kept, is not the organisation's only member`,
    );
  return {
    person: first,
    because: 'the only member',
    reason: `${all} kept of its worktree, and is the only member of the organisation`,
  };
}

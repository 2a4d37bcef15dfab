import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryFolder } from '../cli/person.js';
import { Machine } from '../support/machine.js';
import { withDeadline } from '../support/mounted.js';
import { isRoot, type TestUser } from '../support/users.js';
import { CLAUDE_CODE_VERSION, installClaudeCode } from './claude-code.js';
import { type Loopback, openLoopback } from './loopback.js';
import { ModelStub, type Script, type ToolCall } from './model-stub.js';
import { runSession, type Session } from './session.js';

const PEOPLE = 5;
const TIMEOUT_MS = 240_000;

const program = process.env['MEND_HARNESS'] ? await installClaudeCode() : { unreachable: 'MEND_HARNESS is not set' };
const skipped = 'unreachable' in program ? ` (skipped: ${program.unreachable})` : isRoot ? '' : ' (only for root)';

describe.skipIf(skipped)(`five people with Claude Code ${CLAUDE_CODE_VERSION} in one checkout${skipped}`, () => {
  let machine: Machine;
  let loopback: Loopback;
  let stub: ModelStub;
  let checkout: string;
  let people: readonly TestUser[];

  beforeAll(async () => {
    loopback = await openLoopback();
    stub = new ModelStub(loopback.listener);
    machine = await Machine.open(PEOPLE);
    people = machine.people;
    checkout = await machine.shareCheckout();
    const names = people.map(({ name }) => name);
    expect(await machine.mend(['admin', 'enable', ...names])).toMatchObject({ code: 0, stderr: '' });
    // Claude Code is to refuse nothing by itself: the kernel is. The notes lie in a plain folder, which the first mount takes in.
    const settings = JSON.stringify({ permissions: { allow: ['Read', 'Bash'] } });
    const script = `mkdir -p "$(dirname "$1")"; echo "- $2" >"$1"; printf %s "$3" >"$HOME/.claude/settings.json"
      chmod 711 "$HOME" "$HOME/.claude"`;
    await Promise.all(people.map((person) => machine.sh(person, script, index(person), word(person), settings)));
  }, TIMEOUT_MS);

  afterAll(async () => {
    await machine?.close();
    await stub?.close();
    await loopback?.close();
  }, TIMEOUT_MS);

  const memoryOf = (person: TestUser): string => memoryFolder(person.home, checkout);
  const index = (person: TestUser): string => `${memoryOf(person)}/MEMORY.md`;
  const word = (person: TestUser): string => `word-of-${person.name}`;
  const others = (person: TestUser): TestUser[] => people.filter((one) => one !== person);

  /** A session of a person in the shared checkout, which `mend run` starts. */
  const session = (person: TestUser, script: Script): Promise<Session> => {
    if ('unreachable' in program) throw new Error(program.unreachable);
    const inside = ['nsenter', `--mount=/proc/${machine.inside}/ns/mnt`, `--wd=${checkout}`, '--'];
    const way: Loopback = { ...loopback, enter: (command) => loopback.enter([...inside, ...command]) };
    const launcher = {
      command: [...machine.command, 'run', 'claude'],
      env: { PATH: `${dirname(program.binary)}:${process.env['PATH']}`, USER: person.name },
    };
    const setting = { binary: program.binary, loopback: way, stub, account: person };
    return runSession(setting, { home: person.home, folder: checkout, launcher }, script);
  };

  const all = (script: (person: TestUser) => Script): Promise<Session[]> =>
    withDeadline(200, [], () => Promise.all(people.map((person) => session(person, script(person)))));

  it("at once, each saves their own, and reaches nobody else's", { timeout: TIMEOUT_MS }, async () => {
    const sessions = await all(
      (person) =>
        async function* (): AsyncGenerator<ToolCall, string> {
          const [other] = others(person) as [TestUser];
          yield { tool: 'Read', input: { file_path: index(person) } };
          yield {
            tool: 'Write',
            input: { file_path: `${memoryOf(person)}/topic.md`, content: `Topic of ${person.name}.\n` },
          };
          yield {
            tool: 'Edit',
            input: { file_path: index(person), old_string: word(person), new_string: `${word(person)} twice` },
          };
          yield { tool: 'Read', input: { file_path: index(other) } };
          const paths = [index(other), `${memoryOf(other)}/topic.md`, `/var/lib/mend/${other.uid}/store.db`].join(' ');
          yield { tool: 'Bash', input: { command: `cat ${paths}`, description: 'Looks at memory of somebody else' } };
          return 'Saved.';
        },
    );
    for (const [i, { opening, results }] of sessions.entries()) {
      const person = machine.person(i);
      expect(opening).toContain(word(person));
      expect(results.map(({ failed }) => failed)).toEqual([false, false, false, true, true]);
      expect(results[3]?.text).toMatch(/EACCES|[Pp]ermission denied/);
      expect(results[4]?.text).toMatch(/(Permission denied[\s\S]*){3}/);
      for (const other of others(person)) expect(JSON.stringify({ opening, results })).not.toContain(word(other));
    }
  });

  it('at once, each loads what they saved, and nothing else', { timeout: TIMEOUT_MS }, async () => {
    const sessions = await all(
      (person) =>
        async function* (): AsyncGenerator<ToolCall, string> {
          yield { tool: 'Read', input: { file_path: `${memoryOf(person)}/topic.md` } };
          yield { tool: 'Bash', input: { command: `ls -A '${memoryOf(person)}'`, description: 'Lists the notes' } };
          return 'Read.';
        },
    );
    for (const [i, { opening, results }] of sessions.entries()) {
      const person = machine.person(i);
      expect(opening).toContain(`${word(person)} twice`);
      expect(results[0]?.text).toContain(`Topic of ${person.name}.`);
      expect(results[1]).toEqual({ failed: false, text: 'MEMORY.md\ntopic.md' });
      for (const other of others(person)) expect(JSON.stringify({ opening, results })).not.toContain(word(other));
    }
    const status = JSON.parse((await machine.mend(['admin', 'status', '--json'])).stdout) as {
      user: string;
      mounts: string[];
      pid: number;
    }[];
    const ours = people.map(({ name }) => status.find(({ user }) => user === name));
    expect(ours.map((one) => one?.mounts)).toEqual(people.map((person) => [memoryOf(person)]));
    expect(new Set(ours.map((one) => one?.pid)).size).toBe(PEOPLE);
  });
});

import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { memoryFolder } from '../cli/person.js';
import { attemptAll } from '../mounted/cross-access.js';
import { Machine } from '../support/machine.js';
import { withDeadline } from '../support/mounted.js';
import { securityTable } from '../support/security-table.js';
import { isRoot, type TestUser } from '../support/users.js';
import { type Loopback, openLoopback } from './loopback.js';
import { ModelStub, type Script, type ToolCall } from './model-stub.js';
import { runSession, type Session } from './session.js';
import { withClaudeCodeAlone } from './with-claude-code.js';

const PEOPLE = 5;
const TIMEOUT_MS = 240_000;

withClaudeCodeAlone(
  ', five people in one checkout',
  TIMEOUT_MS,
  (binary) => {
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
    const topic = (person: TestUser): string => `${memoryOf(person)}/topic.md`;
    const word = (person: TestUser): string => `word-of-${person.name}`;
    const others = (person: TestUser): TestUser[] => people.filter((one) => one !== person);

    /** A session of a person in the shared checkout, which `mend run` starts. */
    const session = (person: TestUser, script: Script): Promise<Session> => {
      const inside = ['nsenter', `--mount=/proc/${machine.inside}/ns/mnt`, `--wd=${checkout}`, '--'];
      const way: Loopback = { ...loopback, enter: (command) => loopback.enter([...inside, ...command]) };
      const launcher = {
        command: [...machine.command, 'run', 'claude'],
        env: { PATH: `${dirname(binary)}:${process.env['PATH']}`, USER: person.name },
      };
      const setting = { binary, loopback: way, stub, account: person };
      return runSession(setting, { home: person.home, folder: checkout, launcher }, script);
    };

    it("at once, each loads and saves their own, and reaches nobody else's", async () => {
      let running = 0;
      let open = (): void => undefined;
      const allRun = new Promise<void>((resolve) => {
        open = resolve;
      });
      const script = (person: TestUser): Script =>
        async function* (): AsyncGenerator<ToolCall, string> {
          running += 1;
          if (running === PEOPLE) open();
          await allRun;
          yield { tool: 'Read', input: { file_path: index(person) } };
          yield { tool: 'Write', input: { file_path: topic(person), content: `Topic of ${person.name}.\n` } };
          yield {
            tool: 'Edit',
            input: { file_path: index(person), old_string: word(person), new_string: `${word(person)} twice` },
          };
          const [other] = others(person) as [TestUser];
          yield { tool: 'Read', input: { file_path: index(other) } };
          const paths = others(person).flatMap((one) => [index(one), topic(one), `/var/lib/mend/${one.uid}/store.db`]);
          yield {
            tool: 'Bash',
            input: {
              command: `cat '${topic(person)}'; cat '${paths.join("' '")}'`,
              description: 'Looks at memory of somebody else',
            },
          };
          return 'Saved.';
        };
      const sessions = await withDeadline(200, [], () =>
        Promise.all(people.map((person) => session(person, script(person)).finally(open))),
      );
      for (const [i, { opening, results }] of sessions.entries()) {
        const person = machine.person(i);
        expect(opening).toContain(word(person));
        expect(results.map(({ failed }) => failed)).toEqual([false, false, false, true, true]);
        expect(results[3]?.text).toMatch(/EACCES|[Pp]ermission denied/);
        expect(results[4]?.text).toContain(`Topic of ${person.name}.`);
        expect(results[4]?.text.match(/Permission denied/g)).toHaveLength(3 * (PEOPLE - 1));
        for (const other of others(person)) {
          expect(JSON.stringify({ opening, results })).not.toContain(word(other));
          expect(JSON.stringify({ opening, results })).not.toContain(`Topic of ${other.name}`);
        }
      }
    });

    it('each has a daemon and a mount of their own, and in it what they saved', async () => {
      const saved = 'cd "$1"; ls -A; cat MEMORY.md topic.md';
      const seen = await Promise.all(people.map((person) => machine.sh(person, saved, memoryOf(person))));
      for (const [i, text] of seen.entries()) {
        const person = machine.person(i);
        expect(text).toBe(`MEMORY.md\ntopic.md\n- ${word(person)} twice\nTopic of ${person.name}.\n`);
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

    it('no way in that the documentation names leads one to the memory of another', async () => {
      const ways = securityTable('Another user, and root');
      const wanted = Object.fromEntries([...ways].map(([attempt, [result]]) => [attempt, result]));
      const people = '/var/lib/mend/people';
      const tried = machine.people.map(async (person, i) => {
        const other = machine.person((i + 1) % PEOPLE);
        const { uid, gid } = other;
        const { pid } = JSON.parse((await machine.mend(['status', '--json'], other)).stdout) as { pid: number };
        const store = `/var/lib/mend/${uid}`;
        const socket = (await machine.sh(machine.root, 'echo "$1"/run/*.sock', store)).trim();
        const mount = memoryOf(other);
        return attemptAll(person, { uid, gid, mount, pid, store, socket, backup: `${store}/store.db`, people });
      });
      for (const results of await Promise.all(tried)) expect(results).toEqual(wanted);
    });

    it('the next session loads what the one before it saved', async () => {
      const person = machine.person(PEOPLE - 1);
      const next = await session(
        person,
        // biome-ignore lint/correctness/useYield: it calls no tool
        async function* (): AsyncGenerator<ToolCall, string> {
          return 'Read.';
        },
      );
      expect(next.opening).toContain(`${word(person)} twice`);
      for (const other of others(person)) expect(next.opening).not.toContain(word(other));
    });
  },
  isRoot ? undefined : 'only root can make users',
);

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { codexEnv, conversationPlace, layConversation, shellOf } from './codex-person.js';
import { Person, until } from './person.js';

const TIMEOUT_MS = 240_000;

let person: Person;

beforeEach(async () => {
  person = await Person.make();
  await shellOf(person, 'mkdir -p "$1/.codex" "$1/two"', person.user.home);
});

afterEach(async () => {
  await person.mend(['unmount', '--all', '--force']);
  await person.user.remove();
});

it(
  'a conversation that a running Codex has open is not replaced by what it was held on with elsewhere',
  async () => {
    const { home } = person.user;
    const one = (await codexEnv(person)).environment['CODEX_HOME'] ?? '';
    await layConversation(person, one, 1, ['begun'], '202611282100');
    await codexEnv(person);
    const two = (await codexEnv(person, { home: join(home, 'two') })).environment['CODEX_HOME'] ?? '';
    // Codex goes on with it here, and has not said anything yet.
    const open =
      'exec 3>>"$1"; : >"$2/open"; while ! test -e "$2/say"; do sleep 0.1; done; echo "{\\"says\\":\\"here\\"}" >&3';
    const running = shellOf(person, open, join(one, conversationPlace(1)), home);
    await until(() => existsSync(join(home, 'open')));
    await layConversation(person, two, 1, ['begun', 'there'], '202611282200');
    await layConversation(person, two, 2, ['new'], '202611282200');
    await codexEnv(person, { home: join(home, 'two') });
    await codexEnv(person);
    // What the home lacks is there at once.
    expect(readFileSync(join(one, conversationPlace(2)), 'utf8')).toContain('new');
    await shellOf(person, ': >"$1/say"', home);
    await running;
    const held = readFileSync(join(one, conversationPlace(1)), 'utf8');
    expect(held).toContain('here');
    expect(held).not.toContain('there');
    // One that nobody has open is brought up to date.
    await layConversation(person, two, 2, ['new', 'more'], '202611282300');
    await codexEnv(person, { home: join(home, 'two') });
    await codexEnv(person);
    expect(readFileSync(join(one, conversationPlace(2)), 'utf8')).toContain('more');
  },
  TIMEOUT_MS,
);

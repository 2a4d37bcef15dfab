import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FROZEN, frozen, headsOf } from '../store/frozen.js';
import { staged } from './stage.js';

test.each(FROZEN)(
  'a store of schema %i is mounted, with what it had and what a daemon that died left',
  (schema) =>
    staged(60, async (stage) => {
      await stage.sh('git -C "$1" remote add origin git@example.org:ada/garden.git', stage.repository);
      const thaw = ['sh', '-c', 'umask 077; mkdir "$0"; cat > "$0/store.db"', stage.store] as const;
      expect(await stage.user.run(thaw, { input: readFileSync(frozen(schema)) })).toMatchObject({ code: 0 });
      const folder = await stage.mount();
      for (const [path, text] of Object.entries(headsOf(schema)))
        expect(await stage.sh('cat "$1"', `${folder}/${path}`)).toBe(text);
      expect(await stage.sh('ls -A "$1"', folder)).toContain('empty\n');
      expect(await stage.contents('draft.md', 'interrupted')).toEqual(['half a li']);
      await stage.sh('echo more >> "$1/soil.md"', folder);
      expect(await stage.kinds('soil.md')).toEqual([
        'saved',
        'interrupted',
        ...(schema >= 3 ? ['imported'] : []),
        'imported',
      ]);
      await stage.mend(['store', 'check']);
      await stage.mend(['unmount', '--all']);
      await stage.mend(['store', 'check']);
      expect(await stage.sh('ls "$1"', stage.store)).toContain(`store.db.schema-${schema}.backup\n`);
    })(),
  90_000,
);

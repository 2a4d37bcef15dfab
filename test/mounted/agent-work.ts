import type { Agent } from './agent.js';

/** Opens a file for writing, and writes without closing. */
export const begin = (agent: Agent, path: string, text: string, flags = 'w') =>
  agent.run(
    (fs, own, file, content, how) => {
      own['fd'] = fs.openSync(file, how);
      fs.writeSync(own['fd'], content);
    },
    path,
    text,
    flags,
  );

export const end = (agent: Agent) => agent.run((fs, own) => fs.closeSync(own['fd'] ?? -1));

export const read = (agent: Agent, path: string) => agent.run((fs, _, file) => fs.readFileSync(file, 'utf8'), path);

/** What a program started by an agent prints; with `inherit`, the open file of the agent is its descriptor 3. */
export const program = (agent: Agent, script: string, path: string, inherit = false) =>
  agent.run(
    (_, own, text, argument, inherits) => {
      const { spawnSync } = process.getBuiltinModule('node:child_process');
      const stdio = inherits
        ? (['ignore', 'pipe', 'pipe', own['fd'] ?? -1] as const)
        : (['ignore', 'pipe', 'pipe'] as const);
      const { stdout, status, stderr } = spawnSync('sh', ['-euc', text, 'sh', argument], {
        stdio: [...stdio],
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(stderr);
      return stdout;
    },
    script,
    path,
    inherit,
  );

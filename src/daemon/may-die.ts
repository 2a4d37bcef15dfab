/** For tests: one in how many times this process ends itself where its successor has most to find out. */
const ONE_IN = Number(process.env['MEND_DIE_ONE_IN'] ?? 0);

/** Called after each commit, and before each answer. */
export const mayDie =
  ONE_IN === 0
    ? (): void => undefined
    : (): void => {
        if (Math.random() * ONE_IN < 1) process.kill(process.pid, 'SIGKILL');
      };

import type { Stage } from './stage.js';

/** Everything in a folder: `<mode> <path>` and, for files, the content, sorted by path. */
export function contentsOf(stage: Stage, folder: string): Promise<string> {
  const script =
    'cd "$1"; find . -mindepth 1 -type f | sort | while read -r f; do echo "$(stat -c %a "$f") $f: $(cat "$f")"; done';
  return stage.sh(script, folder);
}

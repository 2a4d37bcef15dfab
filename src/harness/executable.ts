const REPLACED = ' (deleted)';

/** The path of an executable without the mark the kernel adds once the file was replaced or removed. */
export function executablePath(executable: string): string {
  return executable.endsWith(REPLACED) ? executable.slice(0, -REPLACED.length) : executable;
}

/** The last segment of an executable's path. */
export function executableName(executable: string): string {
  const path = executablePath(executable);
  return path.slice(path.lastIndexOf('/') + 1);
}

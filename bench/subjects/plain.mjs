import { copySeed, makeFolder } from './subject.mjs';

/**
 * An ordinary folder on the disk that holds the other subjects' stores.
 * @param {import('./subject.mjs').Context} context
 * @returns {Promise<import('./subject.mjs').Subject>}
 */
export async function plain(context) {
  const folder = makeFolder(context, 'plain');
  await copySeed(context, folder);
  return { name: 'plain', version: '', start: async () => folder, stop: async () => {} };
}

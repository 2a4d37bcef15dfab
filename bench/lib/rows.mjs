/**
 * The workload: each row is one call of the client on a subject's folder.
 *
 * @typedef {object} Row
 * @property {string} id
 * @property {string} title
 * @property {string} operation what one operation is
 * @property {(turn: number, scale: Scale) => string} call the client's row and options, parted by blanks; `turn` is
 *   another number in every call of the row, which makes new names and new content
 * @property {((turn: number, scale: Scale) => string) | null} after untimed call that tidies up
 * @property {'c' | 'node'} client
 * @property {string} folder folder under the subject's: '' (the notes) or 'start' (the start-up scan's)
 * @property {number} repeat calls in each round: where the scheduler puts client and server is settled anew in each
 * @property {Record<string, string>} series title of each series the client prints, by its name
 *
 * @typedef {typeof scales.full} Scale how much one call does
 */

export const scales = {
  full: { notes: 1000, start: 200, stats: 5, scans: 3, create: 250, sync: 100, rename: 125, mixed: 300, ms: 1000 },
  quick: { notes: 1000, start: 200, stats: 1, scans: 1, create: 50, sync: 20, rename: 25, mixed: 50, ms: 300 },
};

/** @param {Pick<Row, 'id' | 'title' | 'operation' | 'call'> & Partial<Row>} given @returns {Row} */
function row(given) {
  return { client: 'c', folder: '', after: null, repeat: 1, series: { all: given.title }, ...given };
}

/** All rows, in the order they run; the first one meets folders that were mounted a moment ago. */
export const rows = [
  row({
    id: 'read-cold',
    title: 'read 2 KB, first pass',
    operation: 'open, read, close of a file not touched since the mount',
    call: (_, s) => `read -n ${s.notes}`,
  }),
  row({
    id: 'read-warm',
    title: 'read 2 KB, warm',
    operation: 'open, read, close of a file read before',
    call: (_, s) => `read -n ${s.notes} -w 1`,
    repeat: 3,
  }),
  row({
    id: 'getattr',
    title: 'getattr round trip',
    operation: 'statx with AT_STATX_FORCE_SYNC, which no cache answers',
    call: (_, s) => `getattr -n ${s.notes} -w 1`,
    repeat: 6,
  }),
  row({
    id: 'stat-warm',
    title: 'warm stat',
    operation: 'statx of a file whose attributes were read just before',
    call: (_, s) => `stat -n ${s.notes} -w 1 -p ${s.stats}`,
    repeat: 3,
  }),
  row({
    id: 'scan',
    title: 'scan as ls -l',
    operation: 'opendir, readdir and lstat of all 1,000 files',
    call: (_, s) => `scan -n ${s.notes} -p ${s.scans}`,
    repeat: 3,
  }),
  row({
    id: 'start',
    title: 'start-up scan',
    operation: 'readdir, lstat and first 4 KB of all 200 files, in C',
    call: (_, s) => `start -n ${s.start} -p ${s.scans}`,
    folder: 'start',
    repeat: 3,
  }),
  row({
    id: 'start-node',
    title: 'start-up scan in Node.js',
    operation: 'the same by node:fs/promises, as a harness written in JavaScript does it',
    call: (_, s) => `${s.start} ${s.scans}`,
    client: 'node',
    folder: 'start',
    repeat: 3,
  }),
  row({
    id: 'create',
    title: 'create+write+close',
    operation: 'a new 2 KB file',
    call: (turn, s) => `create -n ${s.create} -t ${turn * 10 + 1}`,
    after: (turn, s) => `remove -n ${s.create} -t ${turn * 10 + 1}`,
    repeat: 2,
  }),
  row({
    id: 'create-sync',
    title: 'create+write+fsync+close',
    operation: 'a new 2 KB file, flushed to disk before its close',
    call: (turn, s) => `create -n ${s.sync} -s 1 -t ${turn * 10 + 2}`,
    after: (turn, s) => `remove -n ${s.sync} -t ${turn * 10 + 2}`,
  }),
  row({
    id: 'rename',
    title: 'temporary and rename over',
    operation: 'a new 2 KB file under a temporary name, renamed over an existing file',
    call: (turn, s) => `rename -n ${s.rename} -t ${turn * 10 + 3}`,
    repeat: 2,
  }),
  row({
    id: 'mixed',
    title: '8 readers with 1 writer',
    operation: 'open, read, close by 8 processes while another opens with O_TRUNC, writes and closes',
    call: (turn, s) => `mixed -n ${s.notes} -p ${s.mixed} -m ${s.ms} -t ${turn * 10 + 4}`,
    series: { reads: '8 readers with 1 writer: reads', writes: '8 readers with 1 writer: writes' },
  }),
];

/** Every series of every row; `id` is the row's, with the series' name where a row has more than one. */
export const allSeries = rows.flatMap((item) =>
  Object.entries(item.series).map(([name, title]) => ({ id: seriesId(item, name), title, row: item })),
);

/** @param {Row} item @param {string} name */
export function seriesId(item, name) {
  return name === 'all' ? item.id : `${item.id}-${name}`;
}

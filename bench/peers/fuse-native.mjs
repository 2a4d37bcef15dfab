/**
 * The peer "fuse-native": a plain in-memory file system on the npm package, without versions, sessions or a disk.
 * Usage: node fuse-native.mjs <package folder> <seed folder> <mount point>; serves the seed's files until it is ended.
 *
 * Its callbacks take an errno first, except that read and write take the count of bytes in that place.
 * Operations it leaves out (access, flush, extended attributes) are refused once by the library and then no longer
 * asked by the kernel, and the package's timer for each operation is off: both are in its favour.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/**
 * @typedef {object} Node
 * @property {number} mode
 * @property {Date} mtime
 * @property {Date} ctime
 * @property {Buffer} bytes content with room to grow; empty for a folder
 * @property {number} size
 * @property {Map<string, Node> | null} children null for a file
 */

const [packageFolder = '', seedFolder = '', mountPoint = ''] = process.argv.slice(2);
const Fuse = createRequire(import.meta.url)(packageFolder);

/** @type {Map<string, Node>} */
const nodes = new Map();
/** @type {Map<number, Node>} */
const handles = new Map();
let nextHandle = 1;

/** @param {number} mode @param {boolean} isFolder @returns {Node} */
function makeNode(mode, isFolder) {
  const now = new Date();
  return {
    mode,
    mtime: now,
    ctime: now,
    bytes: Buffer.alloc(isFolder ? 0 : 4096),
    size: 0,
    children: isFolder ? new Map() : null,
  };
}

/** @param {string} file @param {Node} node */
function attach(file, node) {
  nodes.set(file, node);
  if (file !== '/') nodes.get(path.posix.dirname(file))?.children?.set(path.posix.basename(file), node);
}

/** @param {string} file */
function detach(file) {
  nodes.delete(file);
  nodes.get(path.posix.dirname(file))?.children?.delete(path.posix.basename(file));
}

/** @param {Node} node @param {number} size */
function resize(node, size) {
  if (size > node.bytes.length) {
    const grown = Buffer.alloc(Math.max(size, node.bytes.length * 2));
    node.bytes.copy(grown, 0, 0, node.size);
    node.bytes = grown;
  } else if (size < node.size) {
    node.bytes.fill(0, size, node.size);
  }
  node.size = size;
  node.mtime = new Date();
  node.ctime = node.mtime;
}

/** @param {string} from @param {string} file */
function load(from, file) {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const below = path.posix.join(file, entry.name);
    if (entry.isDirectory()) {
      attach(below, makeNode(0o40700, true));
      load(path.join(from, entry.name), below);
    } else {
      const node = makeNode(0o100600, false);
      const bytes = readFileSync(path.join(from, entry.name));
      resize(node, bytes.length);
      bytes.copy(node.bytes);
      attach(below, node);
    }
  }
}

/** @param {Node} node */
function attributes(node) {
  return {
    mtime: node.mtime,
    atime: node.mtime,
    ctime: node.ctime,
    nlink: 1,
    size: node.size,
    mode: node.mode,
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
  };
}

/** @param {Node} node */
function openHandle(node) {
  const handle = nextHandle++;
  handles.set(handle, node);
  return handle;
}

/** @typedef {(error: number, ...results: unknown[]) => void} Callback */

/** @type {Record<string, (...args: any[]) => void>} */
const operations = {
  getattr(/** @type {string} */ file, /** @type {Callback} */ done) {
    const node = nodes.get(file);
    return node === undefined ? done(Fuse.ENOENT) : done(0, attributes(node));
  },
  fgetattr(file, _handle, done) {
    operations['getattr']?.(file, done);
  },
  readdir(file, done) {
    const children = nodes.get(file)?.children;
    if (!children) return done(Fuse.ENOENT);
    const names = [...children.keys()];
    return done(0, names, [...children.values()].map(attributes));
  },
  open(file, _flags, done) {
    const node = nodes.get(file);
    return node === undefined ? done(Fuse.ENOENT) : done(0, openHandle(node));
  },
  create(file, mode, done) {
    const node = makeNode(0o100000 | (mode & 0o7777), false);
    attach(file, node);
    done(0, openHandle(node));
  },
  read(_file, handle, buffer, length, offset, done) {
    const node = handles.get(handle);
    if (node === undefined) return done(Fuse.EBADF);
    const end = Math.min(node.size, offset + length);
    return done(offset >= end ? 0 : node.bytes.copy(buffer, 0, offset, end));
  },
  write(_file, handle, buffer, length, offset, done) {
    const node = handles.get(handle);
    if (node === undefined) return done(Fuse.EBADF);
    resize(node, Math.max(node.size, offset + length));
    return done(buffer.copy(node.bytes, offset, 0, length));
  },
  truncate(file, size, done) {
    const node = nodes.get(file);
    if (node === undefined) return done(Fuse.ENOENT);
    resize(node, size);
    return done(0);
  },
  ftruncate(_file, handle, size, done) {
    const node = handles.get(handle);
    if (node === undefined) return done(Fuse.EBADF);
    resize(node, size);
    return done(0);
  },
  release(_file, handle, done) {
    handles.delete(handle);
    done(0);
  },
  fsync: (_file, _dataOnly, _handle, done) => done(0),
  unlink(file, done) {
    if (!nodes.has(file)) return done(Fuse.ENOENT);
    detach(file);
    return done(0);
  },
  rename(from, to, done) {
    const node = nodes.get(from);
    if (node === undefined) return done(Fuse.ENOENT);
    detach(from);
    attach(to, node);
    return done(0);
  },
  mkdir(file, mode, done) {
    attach(file, makeNode(0o40000 | (mode & 0o7777), true));
    done(0);
  },
  chmod: (_file, _mode, done) => done(0),
  chown: (_file, _uid, _gid, done) => done(0),
  utimens: (_file, _atime, _mtime, done) => done(0),
  statfs(_file, done) {
    const room = { bsize: 4096, frsize: 4096, blocks: 8192, bfree: 8192, bavail: 8192 };
    done(0, { ...room, files: 2000, ffree: 2000, favail: 2000, fsid: 1, flag: 0, namemax: 255 });
  },
};

attach('/', makeNode(0o40700, true));
load(seedFolder, '/');
const fuse = new Fuse(mountPoint, operations, { timeout: false });
fuse.mount((/** @type {Error | null} */ error) => {
  if (error) {
    process.stderr.write(`fuse-native: ${error.message}\n`);
    process.exit(1);
  }
});

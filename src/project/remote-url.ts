import { isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';

/**
 * What a remote URL identifies. `everywhere`: `host/path`, the same on every machine. `machine`: a loopback
 * host or a folder, which says something only on the machine where it was read.
 */
export interface RemoteIdentity {
  readonly scope: 'everywhere' | 'machine';
  readonly value: string;
}

/** Ports that say nothing: the spec's two for any scheme, and the usual one of a scheme. */
const SCHEME_PORTS = new Map<string, string | undefined>([
  ['ssh', undefined],
  ['git+ssh', undefined],
  ['ssh+git', undefined],
  ['https', undefined],
  ['git+https', undefined],
  ['http', '80'],
  ['git+http', '80'],
  ['git', '9418'],
]);

/** Hosts by which a forge offers SSH on port 443 for networks that block 22. */
const SSH_OVER_443 = new Map([
  ['ssh.github.com', 'github.com'],
  ['altssh.gitlab.com', 'gitlab.com'],
  ['altssh.bitbucket.org', 'bitbucket.org'],
]);

const URL_FORM = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/i;
/** `[user@]host:path`, with an IPv6 host (or host and port) in brackets. */
const SCP_FORM = /^((?:[^/:@[\]]+@)?\[[^/[\]]+\]|[^/:[\]]+):(?!\/\/)(.*)$/;
const HELPER_FORM = /^[a-z0-9][a-z0-9+.-]*::/i;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
const HOST = /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?$/;
const PORT = /^[0-9]{1,5}$/;

/**
 * Normalises the URL of a Git remote to the identity that all its spellings share: scheme, credentials, port 22
 * or 443, a trailing `.git`, surplus slashes and the case of the host are dropped. The path keeps its case.
 * Null for what names no repository on a host: a path (see `localRemotePath`), a transport helper
 * (`helper::address`), another scheme, an HTTP query (it can hold a credential or the repository), odd input.
 */
export function normalizeRemoteUrl(url: string): RemoteIdentity | null {
  const text = url.trim();
  if (text === '' || CONTROL.test(text) || HELPER_FORM.test(text)) return null;
  const form = URL_FORM.exec(text);
  if (form !== null) return fromUrl((form[1] ?? '').toLowerCase(), form[2] ?? '', form[3] ?? '');
  if (localRemotePath(text) !== null) return null;
  const scp = SCP_FORM.exec(text);
  if (scp === null) return null;
  return identity(scpAuthority(scp[1] ?? ''), undefined, scp[2] ?? '');
}

/**
 * The path of a remote that is a folder of this machine: absolute, or relative to the work tree (as Git
 * reads it). Null for every other remote.
 */
export function localRemotePath(url: string): string | null {
  if (url === '' || CONTROL.test(url) || HELPER_FORM.test(url)) return null;
  const file = /^file:\/\/(?:localhost)?(\/.*)$/i.exec(url);
  if (file !== null) return decodePath(file[1] ?? '');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) return null;
  const colon = url.indexOf(':');
  const slash = url.indexOf('/');
  return colon === -1 || (slash !== -1 && slash < colon) ? url : null;
}

function fromUrl(scheme: string, authority: string, rest: string): RemoteIdentity | null {
  if (!SCHEME_PORTS.has(scheme)) return null;
  if (scheme.includes('http') && /[?#]/.test(rest)) return null;
  const path = decodePath(rest);
  return path === null ? null : identity(withoutUser(authority), SCHEME_PORTS.get(scheme), path);
}

/** `[user@host:port]:path` is how the scp form spells a port; Git reads it so. */
function scpAuthority(text: string): string {
  const bracketed = /\[(.*)\]$/.exec(text)?.[1];
  if (bracketed === undefined) return withoutUser(text);
  const inner = withoutUser(bracketed);
  return isIPv6(inner) ? `[${inner}]` : inner;
}

function identity(authority: string, usualPort: string | undefined, rawPath: string): RemoteIdentity | null {
  const split = /^(\[[^\]]*\]|[^:]*)(?::([^:]*))?$/.exec(authority);
  if (split === null) return null;
  const host = normalizeHost(split[1] ?? '');
  const port = split[2] ?? '';
  const path = normalizePath(rawPath);
  if (host === null || path === null || (port !== '' && !isPort(port))) return null;
  const plainPort = port === '' ? '' : String(Number(port));
  const silent = plainPort === '' || plainPort === '22' || plainPort === '443' || plainPort === usualPort;
  return {
    scope: isLoopback(host) ? 'machine' : 'everywhere',
    value: `${SSH_OVER_443.get(host) ?? host}${silent ? '' : `:${plainPort}`}/${path}`,
  };
}

function isPort(text: string): boolean {
  return PORT.test(text) && Number(text) > 0 && Number(text) < 65536;
}

function withoutUser(authority: string): string {
  return authority.slice(authority.lastIndexOf('@') + 1);
}

function normalizeHost(text: string): string | null {
  if (text.startsWith('[')) {
    const address = text.slice(1, -1);
    return isIPv6(address) && !address.includes('%') ? new URL(`http://[${address}]/`).hostname : null;
  }
  const ascii = /^[\x20-\x7e]*$/.test(text) ? text.toLowerCase() : domainToASCII(text);
  const host = ascii.replace(/\.$/, '');
  return HOST.test(host) ? host : null;
}

function isLoopback(host: string): boolean {
  return (
    host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || (isIP(host) === 4 && /^127\./.test(host))
  );
}

/** Decodes `%xx` as Git does in URLs; an encoded slash stays encoded, as it is part of a name. */
function decodePath(path: string): string | null {
  const decoded: string[] = [];
  for (const segment of path.split('/')) {
    try {
      const text = decodeURIComponent(segment);
      decoded.push(text.includes('/') ? segment : text);
    } catch {
      decoded.push(segment);
    }
  }
  const text = decoded.join('/');
  return CONTROL.test(text) ? null : text;
}

function normalizePath(path: string): string | null {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) return null;
  const last = segments.pop();
  if (last === undefined) return null;
  const name = last.replace(/\.git$/, '');
  if (name !== '') segments.push(name);
  return segments.length === 0 ? null : segments.join('/');
}

import { describe, expect, it } from 'vitest';
import { localRemotePath, normalizeRemoteUrl } from '../../src/project/remote-url.js';

const APP = 'github.com/owner/app';

const EVERYWHERE: readonly (readonly [url: string, value: string])[] = [
  // one repository, every spelling
  ['git@github.com:owner/app', APP],
  ['git@github.com:owner/app.git', APP],
  ['git@github.com:/owner/app.git', APP],
  ['github.com:owner/app.git', APP],
  ['org-123@github.com:owner/app.git', APP],
  ['[git@github.com:22]:owner/app.git', APP],
  ['ssh://git@github.com/owner/app.git', APP],
  ['ssh://git@github.com:22/owner/app', APP],
  ['ssh://git@ssh.github.com:443/owner/app.git', APP],
  ['git+ssh://git@github.com/owner/app.git', APP],
  ['SSH://git@GitHub.COM/owner/app.git', APP],
  ['https://github.com/owner/app', APP],
  ['https://github.com/owner/app/', APP],
  ['https://github.com/owner/app.git/', APP],
  ['https://github.com//owner///app.git//', APP],
  ['https://github.com:443/owner/app.git', APP],
  ['https://user:secret@github.com/owner/app.git', APP],
  ['https://user:p@ss@github.com/owner/app.git', APP],
  ['https://github.com./owner/./app.git', APP],
  ['http://github.com:80/owner/app.git', APP],
  ['git://github.com/owner/app.git', APP],
  ['git://github.com:9418/owner/app.git', APP],
  ['https://github.com/owner/app/.git', APP],
  ['  https://github.com/owner/app\n', APP],
  ['https://github.com/%6Fwner/app', APP],
  ['ssh://git:secret@GITHUB.com:22//owner/app.git/', APP],
  ['https://secret@github.com/owner/app.git/.', APP],
  ['git+https://github.com/owner/app', APP],
  ['git@altssh.gitlab.com:me/app', 'gitlab.com/me/app'],
  // what differs stays different
  ['https://github.com/Owner/App', 'github.com/Owner/App'],
  ['https://github.com/owner/app.git.git', 'github.com/owner/app.git'],
  ['https://github.com/owner/app.github.io', 'github.com/owner/app.github.io'],
  ['ssh://git@host.example:2222/a/b.git', 'host.example:2222/a/b'],
  ['[git@host.example:2222]:a/b', 'host.example:2222/a/b'],
  ['https://host.example:8443/a/b', 'host.example:8443/a/b'],
  ['https://host.example:02222/a/b', 'host.example:2222/a/b'],
  ['ssh://host.example:80/a/b', 'host.example:80/a/b'],
  ['git@host.example:2222/a/b', 'host.example/2222/a/b'], // the scp form knows no port
  ['https://github.com/owner/app.GIT', 'github.com/owner/app.GIT'],
  ['git@github.com:~owner/app', 'github.com/~owner/app'],
  // hosts
  ['me@work:a/b', 'work/a/b'],
  ['work:b', 'work/b'],
  ['my_host:a/b.git', 'my_host/a/b'],
  ['ssh://git@[2001:DB8::0:1]:22/a/b', '[2001:db8::1]/a/b'],
  ['[2001:db8::1]:a/b', '[2001:db8::1]/a/b'],
  ['git@[2001:db8::1]:a/b.git', '[2001:db8::1]/a/b'],
  ['https://b\u00fccher.example/a/b', 'xn--bcher-kva.example/a/b'],
  ['https://10.0.0.7/a/b', '10.0.0.7/a/b'],
  // paths
  ['https://gitlab.com/group/sub/group/app.git', 'gitlab.com/group/sub/group/app'],
  ['host:~me/app.git', 'host/~me/app'],
  ['ssh://host/~me/app.git', 'host/~me/app'],
  ['host:/srv/git/my app.git', 'host/srv/git/my app'],
  ['ssh://host/srv/git/my%20app.git', 'host/srv/git/my app'],
  ['https://host/a%2Fb/c', 'host/a%2Fb/c'],
  ['https://host/100%/c', 'host/100%/c'],
  ['https://host/a/b%2egit', 'host/a/b'],
  ['https://host/a/%C3%A9', 'host/a/\u00e9'],
  ['https://dev.azure.com/org/project/_git/app', 'dev.azure.com/org/project/_git/app'],
  ['ssh://host/a?b#c', 'host/a?b#c'],
];

const MACHINE: readonly (readonly [url: string, value: string])[] = [
  ['http://localhost:3000/me/app.git', 'localhost:3000/me/app'],
  ['http://proxy@127.0.0.1:4242/git/owner/app', '127.0.0.1:4242/git/owner/app'],
  ['ssh://git@[::1]:2222/a/b', '[::1]:2222/a/b'],
  ['https://gitea.localhost/a/b', 'gitea.localhost/a/b'],
];

const NOTHING = [
  '',
  '   ',
  'https://',
  'https://github.com',
  'https://github.com/',
  'https:///owner/app',
  'https://github.com/.git',
  'git@github.com:',
  'git@:owner/app',
  ':owner/app',
  'https://github.com/owner/../app',
  'git@github.com:../app',
  'https://host:port/a/b',
  'https://host:0/a/b',
  'https://host:99999/a/b',
  'https://ho st/a/b',
  'https://-host/a/b',
  'ssh://[2001:db8::1/a/b',
  'ssh://[nonsense]/a/b',
  'ssh://[fe80::1%25eth0]/a/b',
  'https://host/a/b?token=x',
  'https://host/a/b#x',
  'https://host/a/%2e%2e/b',
  'https://[2001:db8::1]:/x/../y',
  'https://user@/a/b',
  'javascript://host/a',
  'https://host/a\u0000b',
  'https://host/a%00b',
  'https://host/a\nb/c',
  'ext::ssh host %S /a/b',
  'codecommit::eu-west-1://app',
  's3://bucket/app',
  'ftp://host/a/b',
];

const LOCAL: readonly (readonly [url: string, path: string])[] = [
  ['/srv/git/app.git', '/srv/git/app.git'],
  ['../app', '../app'],
  ['app', 'app'],
  ['./host:app', './host:app'],
  ['/a@b:c/d', '/a@b:c/d'],
  ['file:///srv/git/my%20app.git', '/srv/git/my app.git'],
  ['file://localhost/srv/app', '/srv/app'],
  ['FILE:///srv/app', '/srv/app'],
  ['file:////srv/app', '//srv/app'],
  ['~/app', '~/app'],
  [' app ', ' app '],
  ['/srv/a?b#c', '/srv/a?b#c'],
];

describe('normalizeRemoteUrl', () => {
  it.each(EVERYWHERE)('%j', (url, value) => {
    expect(normalizeRemoteUrl(url)).toEqual({ scope: 'everywhere', value });
    expect(localRemotePath(url)).toBeNull();
  });

  it.each(MACHINE)('%j says something only on its machine', (url, value) => {
    expect(normalizeRemoteUrl(url)).toEqual({ scope: 'machine', value });
  });

  it.each(NOTHING)('%j identifies nothing', (url) => expect(normalizeRemoteUrl(url)).toBeNull());

  it('never lets a credential through', () => {
    for (const url of [
      'https://u:hunter2@h/a',
      'ssh://hunter2@h/a',
      'hunter2@h:a',
      '[hunter2@h:2222]:a',
      'https://h/a?k=hunter2',
    ]) {
      expect(JSON.stringify(normalizeRemoteUrl(url))).not.toContain('hunter2');
    }
  });

  it('normalises what it made to itself', () => {
    for (const [, value] of EVERYWHERE) {
      if (/[?#%]/.test(value)) continue; // these mean something else in a URL than in a path
      expect(normalizeRemoteUrl(`ssh://${value.replace(/(\.git)$/, '$1.git')}`)?.value).toBe(value);
    }
  });
});

describe('localRemotePath', () => {
  it.each(LOCAL)('%j', (url, path) => {
    expect(localRemotePath(url)).toBe(path);
    expect(normalizeRemoteUrl(url)).toBeNull();
  });

  it.each(['file://host/srv/app', 'file://', 'ext::sh -c x', 'https://h/a', 'h:a', '', 'a\0b', 'file:///a%00b'])(
    '%j is no path here',
    (url) => expect(localRemotePath(url)).toBeNull(),
  );
});

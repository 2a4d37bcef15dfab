# shellcheck shell=bash
# Set-up that scripts/start and scripts/test share. Sourced with `root` set to the checkout.

say() { printf 'mend: %s\n' "$*" >&2; }

fail() {
  say "$1"
  exit "${2:-1}"
}

have() { command -v "$1" >/dev/null 2>&1; }

is_root() { [ "$(id -u)" -eq 0 ]; }

# need_node MAJOR MINOR
need_node() {
  have node || fail "Node.js was not found; install Node.js $1.$2 or newer (https://nodejs.org) and start again."
  node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > +process.argv[1] || (major === +process.argv[1] && minor >= +process.argv[2]) ? 0 : 1);
  ' "$1" "$2" || fail "Node.js $(node --version) is too old; install Node.js $1.$2 or newer and start again."
}

need_git() {
  have git || fail 'Git was not found; install it (as root: apt-get install git) and start again.'
}

# apt_install PACKAGE...: installs as root, else names the command and stops.
apt_install() {
  if ! have apt-get; then
    fail "these packages are missing: $*; install them with the package manager of this system and start again."
  fi
  is_root || fail "these packages are missing: $*; run: sudo apt-get install --no-install-recommends $*"
  say "installing with apt: $*"
  local log
  log=$(mktemp)
  local get=(env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=120)
  if ! "${get[@]}" install --no-install-recommends "$@" >"$log" 2>&1; then
    say 'the package lists are missing or old; running apt-get update.'
    if ! { "${get[@]}" update && "${get[@]}" install --no-install-recommends "$@"; } >"$log" 2>&1; then
      tail -n 20 "$log" >&2
      rm -f "$log"
      fail "apt could not install: $*; see its messages above."
    fi
  fi
  rm -f "$log"
}

# What compiles native code, as far as it is missing.
missing_build_packages() {
  have cc && have c++ || printf 'g++\n'
  have make || printf 'make\n'
  python3 -c '' >/dev/null 2>&1 || printf 'python3\n'
}

need_build_packages() {
  local missing
  mapfile -t missing < <(missing_build_packages)
  [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
}

need_fuse() {
  local device=/dev/fuse
  have fusermount3 || apt_install fuse3
  have fusermount3 || fail 'fuse3 is installed but fusermount3 is not on PATH; add its folder and start again.'
  if [ ! -c "$device" ] && is_root && have modprobe; then modprobe fuse 2>/dev/null; fi
  if [ ! -c "$device" ]; then
    fail 'this machine has no /dev/fuse; load the kernel module (sudo modprobe fuse), or start the container with --device /dev/fuse --cap-add SYS_ADMIN.'
  fi
  [ "$(($(stat -c '0%a' "$device") & 06))" -eq 6 ] && return
  if is_root; then
    chmod 0666 "$device" || fail '/dev/fuse is closed to other users and its mode cannot be changed here.'
    say '/dev/fuse was closed to other users; its mode is 0666 now, as udev sets it.'
  elif [ ! -r "$device" ] || [ ! -w "$device" ]; then
    fail '/dev/fuse is closed to you; run: sudo chmod 0666 /dev/fuse'
  fi
}

sqlite_loads() {
  (cd "$root" && node -e 'new (require("better-sqlite3"))(":memory:").close()') >/dev/null 2>&1
}

modules_stamp() {
  { cat "$root/package-lock.json" && node -p 'process.versions.modules + process.arch'; } | sha256sum | cut -d ' ' -f 1
}

modules_are_current() {
  local stamp=$root/node_modules/.mend-stamp
  [ -d "$root/node_modules" ] || return 1
  if [ -f "$stamp" ]; then
    [ "$(cat "$stamp")" = "$(modules_stamp)" ]
    return
  fi
  # Installed by hand: npm keeps a copy of the lock that is as new as the installation.
  [ "$root/node_modules/.package-lock.json" -nt "$root/package-lock.json" ] && sqlite_loads
}

# Where Node.js brings its headers, native packages compile without downloading them.
use_own_headers() {
  local prefix
  prefix=$(node -p 'require("node:path").join(process.execPath, "../..")')
  [ ! -e "$prefix/include/node/node_api.h" ] || export npm_config_nodedir=$prefix
}

npm_ci() { (cd "$root" && npm ci --no-fund --no-audit --loglevel=error >&2); }

install_modules() {
  modules_are_current || {
    have npm || fail 'npm was not found; install it (it comes with Node.js from https://nodejs.org) and start again.'
    must_write "$root/node_modules"
    use_own_headers
    say 'installing the packages of package-lock.json (npm ci); this can take a minute.'
    if ! npm_ci; then
      [ -n "$(missing_build_packages)" ] || fail 'npm ci failed; see its messages above.'
      need_build_packages
      npm_ci || fail 'npm ci failed; see its messages above.'
    fi
  }
  [ -f "$root/node_modules/.mend-stamp" ] && return
  if ! sqlite_loads; then
    need_build_packages
    use_own_headers
    (cd "$root" && npm rebuild better-sqlite3 --loglevel=error >&2) || fail 'better-sqlite3 could not be built; see the messages above.'
    sqlite_loads || fail 'better-sqlite3 does not load; remove node_modules and start again.'
  fi
  modules_stamp >"$root/node_modules/.mend-stamp"
}

# must_write PATH: a folder that an earlier run of another user left cannot be replaced.
must_write() {
  [ ! -e "$1" ] || [ -w "$1" ] || fail "$1 belongs to $(stat -c %U "$1"); run: sudo chown -R $(id -un) $1"
}

addon_is_current() {
  local addon=$root/native/build/Release/mend.node
  [ -f "$addon" ] && [ ! "$root/native/mend.c" -nt "$addon" ] && [ ! "$root/native/binding.gyp" -nt "$addon" ]
}

build() {
  addon_is_current || need_build_packages
  if [ "$(node "$root/scripts/build.mjs" --state)" != current ] || ! addon_is_current; then
    must_write "$root/dist"
    must_write "$root/native/build"
    say 'building.'
    (cd "$root" && npm run --silent build -- --if-needed >&2) || fail 'the build failed; see its messages above.'
  fi
  addon_is_current || fail 'the addon could not be built; see the messages above.'
}

# A person who cannot write to the checkout uses what its owner built.
use_existing_build() {
  local owner
  owner=$(stat -c %U "$root")
  local ask="ask $owner to run $root/scripts/start, or use a checkout of your own."
  [ -r "$root/package-lock.json" ] && [ -r "$root/dist/main.js" ] && [ -r "$root/native/build/Release/mend.node" ] ||
    fail "you cannot write to $root and it holds no complete build; $ask"
  case $(node "$root/scripts/build.mjs" --state) in
    current) ;;
    stale) say "the build in $root is older than its sources and you cannot write there; it is used as it is." ;;
    *) fail "you cannot write to $root and it holds no complete build; $ask" ;;
  esac
  sqlite_loads || fail "the packages in $root/node_modules do not load for you; $ask"
}

# Root at work in somebody's checkout leaves nothing that its owner cannot replace.
give_to_owner() {
  is_root && [ "$(stat -c %u "$root")" -ne 0 ] || return 0
  local made=()
  for name in node_modules dist native/build .stamp; do
    [ ! -e "$root/$name" ] || made+=("$root/$name")
  done
  chown -R --no-dereference --reference="$root" "${made[@]}"
}

# set_up MAJOR MINOR: everything that running mend needs; nothing is done twice.
set_up() {
  need_node "$1" "$2"
  need_git
  if [ ! -w "$root" ]; then
    use_existing_build
    need_fuse
    return
  fi
  need_fuse
  mkdir -p "$root/.stamp" && must_write "$root/.stamp"
  {
    flock -w 600 9 || fail 'another set-up of this checkout does not end; stop it and start again.'
    install_modules 9>&-
    build 9>&-
    give_to_owner
  } 9>"$root/.stamp/lock"
}

// Loaded into a program with LD_PRELOAD: writes down, in order, every call that changes or syncs files below some
// folders, with the bytes. What a disk had when its power went can be made up from that; see disk.ts.
//
//   POWER_RECORD   the record; several processes append to it
//   POWER_ROOTS    the folders, absolute, divided by ':'
//   POWER_IGNORE   parts of paths that are not recorded, divided by ':'
//   POWER_FAILS    while this file is there, calls that it names fail: lines of `CALL ERRNO END_OF_PATH`, with CALL one
//                  of `sync` and `write`; with a fourth word `once` the file is removed by the first call that fails
//
// A call and its entry are one step to all threads and processes, by a lock on the record. So a process must not be
// killed while it holds it: whoever kills takes the lock first (flock(1)). A sync has two entries, before and after: it
// vouches for what was written before the first, once the second is there.
//
// Paths are taken as they are written, with no look at the file system: the programs that are recorded serve a mount,
// and would wait for themselves.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FDS 65536
#define REAL(name) ((__typeof__(&name))find(#name))

enum {
  CREATE = 'c', WRITE = 'w', ZEROS = 'z', SIZE = 's', SYNC_BEGINS = 'b', SYNC_ENDS = 'e', SYNC_FAILS = 'f',
  RENAME = 'r', UNLINK = 'u', LINK = 'l', MKDIR = 'm', RMDIR = 'd', WRITE_FAILS = 'x', UNKNOWN = '?',
};

struct entry {
  uint32_t size;
  uint8_t op, pad[3];
  uint16_t path, other; // lengths of the two paths, which follow
  int32_t pid;
  uint64_t inode;
  int64_t offset, length, nanoseconds;
};

static struct watched {
  dev_t dev;
  ino_t inode;
  char *path;
} fds[FDS];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *roots, *ignored;
static const char *fails;
static int record = -1;

static void *find(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (!function) abort();
  return function;
}

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("POWER_RECORD"), *list = getenv("POWER_ROOTS"), *parts = getenv("POWER_IGNORE");
  if (!path || !list) return;
  roots = strdup(list);
  ignored = strdup(parts ? parts : "");
  fails = getenv("POWER_FAILS");
  record = REAL(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (record < 0) abort();
}

// Whether a list has an item for which `fits` holds.
static int any(const char *list, const char *path, int (*fits)(const char *, const char *, size_t)) {
  for (const char *item = list; *item;) {
    size_t length = strcspn(item, ":");
    if (length > 0 && fits(path, item, length)) return 1;
    item += length + (item[length] == ':');
  }
  return 0;
}

static int below(const char *path, const char *root, size_t length) {
  return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int has(const char *path, const char *part, size_t length) {
  return memmem(path, strlen(path), part, length) != NULL;
}

// The path that a call means, when it is to be recorded.
static int concerns(int at, const char *path, char full[PATH_MAX]) {
  char link[64], base[PATH_MAX] = "";
  if (record < 0 || !path) return 0;
  int number, used = 0;
  if (path[0] != '/') {
    if (at == AT_FDCWD) strcpy(link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", at);
  } else if (sscanf(path, "/proc/self/fd/%d%n", &number, &used) == 1) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", number);
    path += used + (path[used] == '/');
  } else link[0] = 0;
  if (link[0]) {
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return 0;
    base[length] = 0;
  }
  if (snprintf(full, PATH_MAX, "%s%s%s", base, base[0] && *path ? "/" : "", path) >= PATH_MAX) return 0;
  for (size_t end = strlen(full); end > 1; full[--end] = 0)
    if (full[end - 1] != '/' && (full[end - 1] != '.' || full[end - 2] != '/')) break;
  return any(roots, full, below) && !any(ignored, full, has);
}

static void lock(void) {
  pthread_mutex_lock(&mutex);
  while (flock(record, LOCK_EX) != 0)
    if (errno != EINTR) abort();
}

static void unlock(void) {
  int error = errno;
  flock(record, LOCK_UN);
  pthread_mutex_unlock(&mutex);
  errno = error;
}

static void note(int op, const char *path, const char *other, ino_t inode, off_t offset, off_t length,
                 const struct iovec *data, int count) {
  int error = errno;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct entry entry = {
    .op = op, .path = strlen(path), .other = strlen(other), .pid = getpid(), .inode = inode, .offset = offset,
    .length = length, .nanoseconds = now.tv_sec * 1000000000LL + now.tv_nsec,
  };
  struct iovec parts[3 + IOV_MAX] = {
    {&entry, sizeof entry}, {(void *)path, entry.path}, {(void *)other, entry.other},
  };
  int used = 3;
  for (off_t left = length; left > 0 && count > 0; data++, count--) {
    size_t part = data->iov_len < (size_t)left ? data->iov_len : (size_t)left;
    parts[used++] = (struct iovec){data->iov_base, part};
    left -= part;
  }
  size_t size = 0;
  for (int i = 0; i < used; i++) size += parts[i].iov_len;
  entry.size = size;
  if (used > IOV_MAX || REAL(writev)(record, parts, used) != (ssize_t)size) abort();
  errno = error;
}

static ino_t inode_of(int at, const char *path) {
  struct stat stat;
  return fstatat(at, path, &stat, AT_SYMLINK_NOFOLLOW) == 0 ? stat.st_ino : 0;
}

// What a descriptor leads to, when it is recorded. It may have been closed and used again by a call that is not seen.
static struct watched *watched(int fd) {
  struct stat stat;
  if (record < 0 || fd < 0 || fd >= FDS || !fds[fd].path) return NULL;
  if (fstat(fd, &stat) != 0 || stat.st_dev != fds[fd].dev || stat.st_ino != fds[fd].inode) return NULL;
  return &fds[fd];
}

static int remember(int fd, const char *path) {
  if (fd < 0 || fd >= FDS) return fd;
  struct stat stat;
  free(fds[fd].path);
  fds[fd].path = NULL;
  if (!path || fstat(fd, &stat) != 0) return fd;
  fds[fd] = (struct watched){stat.st_dev, stat.st_ino, strdup(path)};
  return fd;
}

// Whether a call is to fail; errno is set then. Under the lock.
static int is_to_fail(const char *call, const char *path) {
  if (!fails) return 0;
  int fd = REAL(open)(fails, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024], which[16], end[256], once[16];
  ssize_t length = read(fd, text, sizeof text - 1);
  REAL(close)(fd);
  text[length < 0 ? 0 : length] = 0;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    int error, words = sscanf(line, "%15s %d %255s %15s", which, &error, end, once);
    if (words < 3 || strcmp(which, call) != 0) continue;
    if (strlen(end) > strlen(path) || strcmp(path + strlen(path) - strlen(end), end) != 0) continue;
    if (words == 4) REAL(unlink)(fails);
    errno = error;
    return 1;
  }
  return 0;
}

static int is_zero(const char *bytes, size_t length) {
  return length > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

static int opened(int (*real)(int, const char *, int, mode_t), int at, const char *path, int flags, mode_t mode) {
  char full[PATH_MAX];
  if (!concerns(at, path, full)) return remember(real(at, path, flags, mode), NULL);
  lock();
  struct stat before;
  int existed = fstatat(at, path, &before, 0) == 0;
  int fd = remember(real(at, path, flags, mode), full);
  if (fd >= 0 && !existed && (flags & O_CREAT)) note(CREATE, full, "", fds[fd].inode, 0, 0, NULL, 0);
  else if (fd >= 0 && (flags & O_TRUNC) && S_ISREG(before.st_mode) && before.st_size > 0)
    note(SIZE, full, "", fds[fd].inode, 0, 0, NULL, 0);
  unlock();
  return fd;
}

static int real_openat(int at, const char *path, int flags, mode_t mode) {
  return REAL(openat)(at, path, flags, mode);
}

static mode_t mode_of(int flags, va_list list) {
  return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? va_arg(list, mode_t) : 0;
}

#define OPEN(name)                                        \
  int name(const char *path, int flags, ...) {            \
    va_list list;                                         \
    va_start(list, flags);                                \
    mode_t mode = mode_of(flags, list);                   \
    va_end(list);                                         \
    return opened(real_openat, AT_FDCWD, path, flags, mode); \
  }
#define OPENAT(name)                                      \
  int name(int at, const char *path, int flags, ...) {    \
    va_list list;                                         \
    va_start(list, flags);                                \
    mode_t mode = mode_of(flags, list);                   \
    va_end(list);                                         \
    return opened(real_openat, at, path, flags, mode);    \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
int __open_2(const char *path, int flags) { return opened(real_openat, AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return opened(real_openat, AT_FDCWD, path, flags, 0); }
int __openat_2(int at, const char *path, int flags) { return opened(real_openat, at, path, flags, 0); }
int __openat64_2(int at, const char *path, int flags) { return opened(real_openat, at, path, flags, 0); }
int creat(const char *path, mode_t mode) {
  return opened(real_openat, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
  if (record >= 0 && fd == record) return 0;
  remember(fd, NULL);
  return REAL(close)(fd);
}

static int copied(int from, int fd) {
  struct watched *it = watched(from);
  return remember(fd, it ? it->path : NULL);
}
int dup(int from) { return copied(from, REAL(dup)(from)); }
int dup2(int from, int to) { return copied(from, REAL(dup2)(from, to)); }
int dup3(int from, int to, int flags) { return copied(from, REAL(dup3)(from, to, flags)); }

// Writes at an offset, or with -1 where the descriptor stands.
static ssize_t written(int fd, const struct iovec *data, int count, off_t offset, int flags) {
  struct watched *it = watched(fd);
  if (!it) {
    if (flags) return REAL(pwritev2)(fd, data, count, offset, flags);
    if (offset >= 0) return count == 1 ? REAL(pwrite)(fd, data->iov_base, data->iov_len, offset)
                                       : REAL(pwritev)(fd, data, count, offset);
    return count == 1 ? REAL(write)(fd, data->iov_base, data->iov_len) : REAL(writev)(fd, data, count);
  }
  lock();
  struct stat stat;
  off_t at = offset;
  if (fcntl(fd, F_GETFL) & O_APPEND) at = fstat(fd, &stat) == 0 ? stat.st_size : 0;
  else if (at < 0) at = lseek(fd, 0, SEEK_CUR);
  ssize_t length;
  if (is_to_fail("write", it->path)) {
    length = -1;
    note(WRITE_FAILS, it->path, "", it->inode, at, 0, NULL, 0);
  } else length = offset >= 0 ? REAL(pwritev)(fd, data, count, offset) : REAL(writev)(fd, data, count);
  if (length > 0 && count == 1 && is_zero(data->iov_base, length))
    note(ZEROS, it->path, "", it->inode, at, length, NULL, 0);
  else if (length > 0) note(WRITE, it->path, "", it->inode, at, length, data, count);
  unlock();
  return length;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  return written(fd, &(struct iovec){(void *)bytes, length}, 1, -1, 0);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  return written(fd, &(struct iovec){(void *)bytes, length}, 1, offset, 0);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) { return pwrite(fd, bytes, length, offset); }
ssize_t writev(int fd, const struct iovec *data, int count) { return written(fd, data, count, -1, 0); }
ssize_t pwritev(int fd, const struct iovec *data, int count, off_t offset) {
  return written(fd, data, count, offset, 0);
}
ssize_t pwritev64(int fd, const struct iovec *data, int count, off_t offset) {
  return written(fd, data, count, offset, 0);
}
ssize_t pwritev2(int fd, const struct iovec *data, int count, off_t offset, int flags) {
  return written(fd, data, count, offset, flags);
}
ssize_t pwritev64v2(int fd, const struct iovec *data, int count, off_t offset, int flags) {
  return written(fd, data, count, offset, flags);
}

int ftruncate(int fd, off_t length) {
  struct watched *it = watched(fd);
  if (!it) return REAL(ftruncate)(fd, length);
  lock();
  int result = is_to_fail("write", it->path) ? -1 : REAL(ftruncate)(fd, length);
  if (result == 0) note(SIZE, it->path, "", it->inode, length, 0, NULL, 0);
  unlock();
  return result;
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

// Calls that change a file in a way that is not recorded; whoever reads the record is told.
static void unknown(int fd, const char *call) {
  struct watched *it = watched(fd);
  if (!it) return;
  lock();
  note(UNKNOWN, it->path, call, it->inode, 0, 0, NULL, 0);
  unlock();
}
int fallocate(int fd, int mode, off_t offset, off_t length) {
  unknown(fd, "fallocate");
  return REAL(fallocate)(fd, mode, offset, length);
}
int fallocate64(int fd, int mode, off_t offset, off_t length) { return fallocate(fd, mode, offset, length); }
int posix_fallocate(int fd, off_t offset, off_t length) {
  unknown(fd, "posix_fallocate");
  return REAL(posix_fallocate)(fd, offset, length);
}
int posix_fallocate64(int fd, off_t offset, off_t length) { return posix_fallocate(fd, offset, length); }
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags) {
  unknown(out, "copy_file_range");
  return REAL(copy_file_range)(in, from, out, to, length, flags);
}
ssize_t sendfile(int out, int in, off_t *offset, size_t length) {
  unknown(out, "sendfile");
  return REAL(sendfile)(out, in, offset, length);
}
ssize_t sendfile64(int out, int in, off_t *offset, size_t length) { return sendfile(out, in, offset, length); }
void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  if ((protection & PROT_WRITE) && (flags & MAP_TYPE) == MAP_SHARED) unknown(fd, "mmap");
  return REAL(mmap)(at, length, protection, flags, fd, offset);
}
void *mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
  return mmap(at, length, protection, flags, fd, offset);
}

static int synced(int (*real)(int), int fd, int is_data_only) {
  struct watched *it = watched(fd);
  if (!it) return real(fd);
  lock();
  int fail = is_to_fail("sync", it->path), error = errno;
  note(SYNC_BEGINS, it->path, "", it->inode, fd, is_data_only, NULL, 0);
  unlock();
  errno = error;
  int result = fail ? -1 : real(fd);
  lock();
  // The first entry of a sync is known by its process and descriptor.
  note(result == 0 ? SYNC_ENDS : SYNC_FAILS, it->path, "", it->inode, fd, is_data_only, NULL, 0);
  unlock();
  return result;
}
int fsync(int fd) { return synced(REAL(fsync), fd, 0); }
int fdatasync(int fd) { return synced(REAL(fdatasync), fd, 1); }

static int named(int op, int result, const char *path, const char *other, ino_t inode) {
  if (result == 0) note(op, path, other, inode, 0, 0, NULL, 0);
  unlock();
  return result;
}

int renameat2(int at, const char *from, int to_at, const char *to, unsigned flags) {
  char path[PATH_MAX] = "", other[PATH_MAX] = "";
  int one = concerns(at, from, path), two = concerns(to_at, to, other);
  if (!one && !two) return REAL(renameat2)(at, from, to_at, to, flags);
  lock();
  ino_t inode = inode_of(at, from);
  return named(one && two && !(flags & ~RENAME_NOREPLACE) ? RENAME : UNKNOWN, REAL(renameat2)(at, from, to_at, to, flags), path, other, inode);
}
int renameat(int at, const char *from, int to_at, const char *to) { return renameat2(at, from, to_at, to, 0); }
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int at, const char *path, int flags) {
  char full[PATH_MAX];
  if (!concerns(at, path, full)) return REAL(unlinkat)(at, path, flags);
  lock();
  ino_t inode = inode_of(at, path);
  return named(flags & AT_REMOVEDIR ? RMDIR : UNLINK, REAL(unlinkat)(at, path, flags), full, "", inode);
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int linkat(int at, const char *from, int to_at, const char *to, int flags) {
  char path[PATH_MAX] = "", other[PATH_MAX];
  if (!concerns(to_at, to, other)) return REAL(linkat)(at, from, to_at, to, flags);
  int known = concerns(at, from, path);
  lock();
  ino_t inode = inode_of(at, from);
  return named(known ? LINK : UNKNOWN, REAL(linkat)(at, from, to_at, to, flags), path, other, inode);
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int mkdirat(int at, const char *path, mode_t mode) {
  char full[PATH_MAX];
  if (!concerns(at, path, full)) return REAL(mkdirat)(at, path, mode);
  lock();
  int result = REAL(mkdirat)(at, path, mode);
  return named(MKDIR, result, full, "", result == 0 ? inode_of(at, path) : 0);
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

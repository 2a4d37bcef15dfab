/*
 * The benchmark's client: runs one row of the workload on a folder and prints what each operation took.
 *
 *   client <row> <folder> [-n files] [-p passes] [-w untimed passes] [-t tag] [-s 1 = fsync] [-m least milliseconds]
 *
 * Prints one JSON document: {"<series>":{"elapsed_ns":N,"ops":N,"samples":[ns,...]},...}. Written in C because a
 * client in an interpreter costs more per operation than the difference it should measure.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOTE_BYTES = 2048, START_BYTES = 4096, READERS = 8, READER_SAMPLES = 16384 };

static const char *folder;
static long files = 1000, passes = 1, warm_passes, tag, sync_each, least_ms;
static char **paths;

static void fail(const char *what, const char *path) {
  fprintf(stderr, "client: %s %s: %s\n", what, path, strerror(errno));
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Latencies of one kind of operation, in nanoseconds. */
struct series {
  uint32_t *ns;
  long count, room;
  uint64_t elapsed;
};

static void record(struct series *s, uint64_t ns) {
  if (s->count == s->room) {
    s->room = s->room ? s->room * 2 : 4096;
    s->ns = realloc(s->ns, (size_t)s->room * sizeof *s->ns);
    if (!s->ns) fail("out of memory for", "samples");
  }
  s->ns[s->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
  s->elapsed += ns;
}

static void print_series(const char *name, uint64_t elapsed, long ops, const uint32_t *ns, long count) {
  printf("\"%s\":{\"elapsed_ns\":%llu,\"ops\":%ld,\"samples\":[", name, (unsigned long long)elapsed, ops);
  for (long i = 0; i < count; i++) printf(i ? ",%u" : "%u", ns[i]);
  printf("]}");
}

static char *note_path(const char *kind, long i) {
  char path[PATH_MAX];
  if (strcmp(kind, "note") == 0) snprintf(path, sizeof path, "%s/note-%04ld.md", folder, i);
  else snprintf(path, sizeof path, "%s/%s-%ld-%04ld.md", folder, kind, tag, i);
  return strdup(path);
}

static void list_paths(const char *kind) {
  paths = calloc((size_t)files, sizeof *paths);
  for (long i = 0; i < files; i++) paths[i] = note_path(kind, i);
}

/* 2 KB of words in lines; the first and the last line carry the same stamp, so that a torn read shows. */
static void fill_note(char *out, uint64_t stamp) {
  char mark[32];
  uint64_t state = (stamp + 1) * 0x9e3779b97f4a7c15u;
  int at = snprintf(mark, sizeof mark, "stamp %016llx\n", (unsigned long long)stamp);
  memcpy(out, mark, (size_t)at);
  for (int column = 0; at < NOTE_BYTES; at++, column++) {
    uint64_t r = next_random(&state);
    out[at] = column > 60 && r % 8 == 0 ? '\n' : r % 6 == 0 ? ' ' : (char)('a' + (r >> 8) % 26);
    if (out[at] == '\n') column = -1;
  }
  size_t length = strlen(mark);
  out[NOTE_BYTES - length - 1] = '\n';
  memcpy(out + NOTE_BYTES - length, mark, length);
}

static int is_torn(const char *bytes, ssize_t length) {
  enum { MARK = 23 };
  return length != NOTE_BYTES || memcmp(bytes, bytes + NOTE_BYTES - MARK, MARK) != 0;
}

static void write_note(const char *path, int flags, const char *bytes, int do_sync) {
  int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);
  if (fd < 0) fail("open", path);
  if (write(fd, bytes, NOTE_BYTES) != NOTE_BYTES) fail("write", path);
  if (do_sync && fsync(fd) != 0) fail("fsync", path);
  if (close(fd) != 0) fail("close", path);
}

static ssize_t read_note(const char *path, char *bytes, size_t room) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("open", path);
  ssize_t length = read(fd, bytes, room);
  if (length < 0) fail("read", path);
  if (close(fd) != 0) fail("close", path);
  return length;
}

static void stat_once(const char *path, int flags) {
  struct statx st;
  if (statx(AT_FDCWD, path, flags | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &st) != 0) fail("stat", path);
  if (st.stx_size != NOTE_BYTES) errno = EIO, fail("unexpected size of", path);
}

static void row_stat(struct series *s, int flags) {
  for (long pass = -warm_passes; pass < passes; pass++)
    for (long i = 0; i < files; i++) {
      uint64_t start = now_ns();
      stat_once(paths[i], pass < 0 ? 0 : flags);
      if (pass >= 0) record(s, now_ns() - start);
    }
}

static void row_read(struct series *s) {
  char bytes[START_BYTES];
  for (long pass = -warm_passes; pass < passes; pass++)
    for (long i = 0; i < files; i++) {
      uint64_t start = now_ns();
      ssize_t length = read_note(paths[i], bytes, sizeof bytes);
      if (pass >= 0) record(s, now_ns() - start);
      if (is_torn(bytes, length)) errno = EIO, fail("torn read of", paths[i]);
    }
}

/* One operation is one whole scan of the folder; with `contents`, each file's first 4 KB are read as well. */
static void row_scan(struct series *s, int contents) {
  char bytes[START_BYTES], path[PATH_MAX];
  for (long pass = -warm_passes; pass < passes; pass++) {
    uint64_t start = now_ns();
    long seen = 0;
    DIR *dir = opendir(folder);
    if (!dir) fail("opendir", folder);
    for (struct dirent *entry; (entry = readdir(dir));) {
      if (strncmp(entry->d_name, "note-", 5) != 0) continue;
      snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
      struct stat st;
      if (lstat(path, &st) != 0) fail("lstat", path);
      if (contents && read_note(path, bytes, sizeof bytes) != NOTE_BYTES) errno = EIO, fail("short read of", path);
      seen++;
    }
    closedir(dir);
    if (pass >= 0) record(s, now_ns() - start);
    if (seen != files) errno = EIO, fail("wrong number of files in", folder);
  }
}

static void row_create(struct series *s) {
  char bytes[NOTE_BYTES];
  for (long i = 0; i < files; i++) {
    fill_note(bytes, (uint64_t)tag * 1000003u + (uint64_t)i);
    uint64_t start = now_ns();
    write_note(paths[i], O_CREAT | O_EXCL, bytes, (int)sync_each);
    record(s, now_ns() - start);
  }
}

/* How an editor or a harness saves: a new temporary file beside the target, renamed over it. */
static void row_rename(struct series *s) {
  char temporary[PATH_MAX], bytes[NOTE_BYTES];
  uint64_t state = (uint64_t)tag * 77 + (uint64_t)getpid() + 1;
  for (long i = 0; i < files; i++) {
    snprintf(temporary, sizeof temporary, "%s.tmp.%d.%012llx", paths[i], getpid(),
             (unsigned long long)(next_random(&state) & 0xffffffffffffu));
    fill_note(bytes, (uint64_t)tag * 1000033u + (uint64_t)i);
    uint64_t start = now_ns();
    write_note(temporary, O_CREAT | O_EXCL, bytes, 0);
    if (rename(temporary, paths[i]) != 0) fail("rename", temporary);
    record(s, now_ns() - start);
  }
}

struct reader {
  long reads, torn;
  uint32_t ns[READER_SAMPLES];
};
struct shared {
  volatile int go, stop, ready;
  struct reader readers[READERS];
};

static void be_reader(struct shared *shared, int number) {
  struct reader *me = &shared->readers[number];
  uint64_t state = 0x1234567u * (uint64_t)(number + 1) + (uint64_t)tag;
  char bytes[START_BYTES];
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid(); /* each reader is a session of its own, as another agent would be */
  __atomic_fetch_add(&shared->ready, 1, __ATOMIC_SEQ_CST);
  while (!shared->go) usleep(100);
  while (!shared->stop) {
    const char *path = paths[next_random(&state) % (uint64_t)files];
    uint64_t start = now_ns();
    ssize_t length = read_note(path, bytes, sizeof bytes);
    me->ns[me->reads++ % READER_SAMPLES] = (uint32_t)(now_ns() - start);
    me->torn += is_torn(bytes, length);
  }
  _exit(0);
}

/* Eight processes read random files while this one rewrites: at least `passes` writes and `least_ms`. */
static void row_mixed(void) {
  struct shared *shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("mmap", "shared memory");
  for (int i = 0; i < READERS; i++) {
    pid_t child = fork();
    if (child < 0) fail("fork", "reader");
    if (child == 0) be_reader(shared, i);
  }
  while (shared->ready < READERS) usleep(100);
  struct series writes = {0}, reads = {0};
  char bytes[NOTE_BYTES];
  uint64_t state = (uint64_t)tag + 99, begin = now_ns(), now = begin;
  shared->go = 1;
  while (writes.count < passes || now - begin < (uint64_t)least_ms * 1000000u) {
    const char *path = paths[next_random(&state) % (uint64_t)files];
    fill_note(bytes, (uint64_t)tag * 1000037u + (uint64_t)writes.count);
    uint64_t start = now_ns();
    write_note(path, O_TRUNC, bytes, 0);
    now = now_ns();
    record(&writes, now - start);
  }
  uint64_t elapsed = now - begin;
  shared->stop = 1;
  for (int i = 0, status; i < READERS; i++)
    if (wait(&status) < 0 || status != 0) errno = EIO, fail("a reader failed in", folder);
  long total = 0, torn = 0;
  for (int i = 0; i < READERS; i++) {
    const struct reader *r = &shared->readers[i];
    for (long k = 0; k < r->reads && k < READER_SAMPLES; k++) record(&reads, r->ns[k]);
    total += r->reads;
    torn += r->torn;
  }
  printf("{");
  print_series("reads", elapsed, total, reads.ns, reads.count);
  printf(",");
  print_series("writes", elapsed, writes.count, writes.ns, writes.count);
  printf(",\"torn\":%ld}\n", torn);
}

static void remove_all(void) {
  for (long i = 0; i < files; i++)
    if (unlink(paths[i]) != 0) fail("unlink", paths[i]);
}

int main(int argc, char **argv) {
  if (argc < 3) return fprintf(stderr, "client: usage: client <row> <folder> [options]\n"), 2;
  const char *row = argv[1];
  folder = argv[2];
  optind = 3;
  for (int c; (c = getopt(argc, argv, "n:p:w:t:s:m:")) != -1;) {
    long *value = c == 'n' ? &files : c == 'p' ? &passes : c == 'w' ? &warm_passes : c == 't' ? &tag
                : c == 's' ? &sync_each : c == 'm' ? &least_ms : NULL;
    if (!value) return 2;
    *value = atol(optarg);
  }
  struct series s = {0};
  int makes_new = strcmp(row, "create") == 0 || strcmp(row, "remove") == 0;
  list_paths(makes_new ? "new" : "note");
  if (strcmp(row, "getattr") == 0) row_stat(&s, AT_STATX_FORCE_SYNC);
  else if (strcmp(row, "stat") == 0) row_stat(&s, 0);
  else if (strcmp(row, "read") == 0) row_read(&s);
  else if (strcmp(row, "scan") == 0) row_scan(&s, 0);
  else if (strcmp(row, "start") == 0) row_scan(&s, 1);
  else if (strcmp(row, "create") == 0 || strcmp(row, "seed") == 0) row_create(&s);
  else if (strcmp(row, "rename") == 0) row_rename(&s);
  else if (strcmp(row, "remove") == 0) remove_all();
  else if (strcmp(row, "mixed") == 0) return row_mixed(), 0;
  else return fprintf(stderr, "client: no row is called %s\n", row), 2;
  printf("{");
  print_series("all", s.elapsed, s.count, s.ns, s.count);
  printf("}\n");
  return 0;
}

/*
 * What mend needs from C: pass a descriptor through a socket, watch it on the event loop, read and write it
 * without blocking, send kernel notifications from a thread of their own, lock a file, tell who connected, and start a
 * program in one's own place and be its parent.
 * See README.md beside this file for threads and ownership.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <node_api.h>
#include <uv.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(env, call)                                                        \
  do {                                                                          \
    if ((call) != napi_ok) {                                                    \
      bool pending_ = false;                                                    \
      napi_is_exception_pending((env), &pending_);                              \
      if (!pending_) napi_throw_error((env), "ERR_MEND_NATIVE", "wrong argument: " #call); \
      return NULL;                                                              \
    }                                                                           \
  } while (0)

/* Throws unless `value` is a Buffer; Node's own accessor ends the process on anything else. */
static bool is_buffer(napi_env env, napi_value value) {
  bool yes = false;
  if (napi_is_buffer(env, value, &yes) == napi_ok && yes) return true;
  napi_throw_error(env, "ERR_MEND_NATIVE", "wrong argument: not a Buffer");
  return false;
}

static bool is_function(napi_env env, napi_value value) {
  napi_valuetype type;
  if (napi_typeof(env, value, &type) == napi_ok && type == napi_function) return true;
  napi_throw_error(env, "ERR_MEND_NATIVE", "wrong argument: not a function");
  return false;
}

static napi_value number(napi_env env, int64_t value) {
  napi_value out;
  CHECK(env, napi_create_int64(env, value, &out));
  return out;
}

/* socketPair() -> [ours, theirs], connected and close-on-exec, or -errno. */
static napi_value socket_pair(napi_env env, napi_callback_info info) {
  (void)info;
  napi_value out;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return number(env, -errno);
  CHECK(env, napi_create_array_with_length(env, 2, &out));
  for (uint32_t i = 0; i < 2; i++) CHECK(env, napi_set_element(env, out, i, number(env, ends[i])));
  return out;
}

/* receiveDescriptor(socket) -> descriptor, made non-blocking and close-on-exec, or -errno. */
static napi_value receive_descriptor(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  size_t argc = 1;
  int32_t sock;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &sock));

  char byte;
  struct iovec iov = {.iov_base = &byte, .iov_len = 1};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t n;
  do n = recvmsg(sock, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  while (n < 0 && errno == EINTR);
  if (n < 0) return number(env, -errno);
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return number(env, -ENOMSG);
  int fd;
  memcpy(&fd, CMSG_DATA(header), sizeof fd);
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    int code = errno;
    close(fd);
    return number(env, -code);
  }
  return number(env, fd);
}

/* sendDescriptor(socket, descriptor) -> 0 or -errno. The other end gets a copy; ours stays open. */
static napi_value send_descriptor(napi_env env, napi_callback_info info) {
  napi_value argv[2];
  size_t argc = 2;
  int32_t sock, fd;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &sock));
  CHECK(env, napi_get_value_int32(env, argv[1], &fd));

  char byte = 0;
  struct iovec iov = {.iov_base = &byte, .iov_len = 1};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control = {.bytes = {0}};
  struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  ssize_t n;
  do n = sendmsg(sock, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return number(env, n < 0 ? -errno : 0);
}

/* closeDescriptor(descriptor) -> 0 or -errno. */
static napi_value close_descriptor(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  size_t argc = 1;
  int32_t fd;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &fd));
  return number(env, close(fd) < 0 ? -errno : 0);
}

static napi_value take_lock(napi_env env, napi_callback_info info, int operation) {
  napi_value argv[1];
  size_t argc = 1;
  int32_t fd;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &fd));
  return number(env, flock(fd, operation | LOCK_NB) < 0 ? -errno : 0);
}

/* lockFile(descriptor) -> 0, or -EWOULDBLOCK while another open file description holds the lock (flock(2)). */
static napi_value lock_file(napi_env env, napi_callback_info info) { return take_lock(env, info, LOCK_EX); }

/* shareLock(descriptor) -> the same, where any number may hold the lock at once, and lockFile fails for all others. */
static napi_value share_lock(napi_env env, napi_callback_info info) { return take_lock(env, info, LOCK_SH); }

/* peerProcess(socket) -> id of the process that connected (0 when it is in no PID namespace seen from here), or -errno. */
static napi_value peer_process(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  size_t argc = 1;
  int32_t fd;
  struct ucred who;
  socklen_t length = sizeof who;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &fd));
  return number(env, getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0 ? -errno : who.pid);
}

/* adoptOrphans() -> 0 or -errno: descendants whose parents end become children of this process (PR_SET_CHILD_SUBREAPER). */
static napi_value adopt_orphans(napi_env env, napi_callback_info info) {
  (void)info;
  return number(env, prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ? -errno : 0);
}

/* buryOrphans(own) -> wait status (wait(2)) of `own` when it has ended, else -1. Waits for all other children that ended, too. */
static napi_value bury_orphans(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  size_t argc = 1;
  int32_t own;
  int64_t ending = -1;
  int status;
  pid_t pid;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &own));
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
    if (pid == own) ending = status;
  return number(env, ending);
}

/* Copies an array of Buffers to C strings with NULL behind them, freed as one; `spare` entries in front are left free. */
static char **strings(napi_env env, napi_value array, size_t spare) {
  uint32_t count;
  size_t bytes = 0, length;
  void *data;
  napi_value item;
  if (napi_get_array_length(env, array, &count) != napi_ok) {
    napi_throw_error(env, "ERR_MEND_NATIVE", "wrong argument: not an array");
    return NULL;
  }
  for (uint32_t i = 0; i < count; i++) {
    CHECK(env, napi_get_element(env, array, i, &item));
    if (!is_buffer(env, item)) return NULL;
    CHECK(env, napi_get_buffer_info(env, item, &data, &length));
    bytes += length + 1;
  }
  char **list = calloc(1, (spare + count + 1) * sizeof *list + bytes);
  if (list == NULL) {
    napi_throw_error(env, "ERR_MEND_NATIVE", "out of memory");
    return NULL;
  }
  char *next = (char *)(list + spare + count + 1);
  for (uint32_t i = 0; i < count; i++) {
    if (napi_get_element(env, array, i, &item) != napi_ok || napi_get_buffer_info(env, item, &data, &length) != napi_ok) break;
    if (length > 0) memcpy(next, data, length);
    list[spare + i] = next;
    next += length + 1;
  }
  return list;
}

/* fork(2) without a signal that reaches a handler of Node.js in the child, where all are blocked. `before`: the mask of the parent. */
static pid_t fork_quietly(sigset_t *before) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, before);
  pid_t pid = fork();
  int code = errno;
  if (pid != 0) pthread_sigmask(SIG_SETMASK, before, NULL);
  errno = code;
  return pid;
}

/*
 * startProgram(file, arguments, environment, folder, descriptors) -> process id, or -errno of fork, chdir or execve.
 * All texts are Buffers without NUL, `descriptors` stay open besides 0 to 2. A file that is no program is a shell script.
 */
static napi_value start_program(napi_env env, napi_callback_info info) {
  napi_value argv[5], item;
  size_t argc = 5;
  uint32_t count = 0;
  int32_t kept[1024];
  int report[2], code = 0;
  sigset_t mask;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_array_length(env, argv[4], &count));
  if (count > sizeof kept / sizeof kept[0]) return number(env, -EMFILE);
  for (uint32_t i = 0; i < count; i++) {
    CHECK(env, napi_get_element(env, argv[4], i, &item));
    CHECK(env, napi_get_value_int32(env, item, &kept[i]));
  }
  napi_value places;
  CHECK(env, napi_create_array_with_length(env, 2, &places));
  CHECK(env, napi_set_element(env, places, 0, argv[0]));
  CHECK(env, napi_set_element(env, places, 1, argv[3]));
  char **place = strings(env, places, 0);
  char **arguments = place == NULL ? NULL : strings(env, argv[1], 1);
  char **environment = arguments == NULL ? NULL : strings(env, argv[2], 0);
  pid_t pid = -1;
  if (environment != NULL) {
    if (pipe2(report, O_CLOEXEC) < 0) {
      code = errno;
    } else if ((pid = fork_quietly(&mask)) == 0) {
      for (int i = 0; i < 3; i++) {
        int flags = fcntl(i, F_GETFL);
        if (flags >= 0) fcntl(i, F_SETFL, flags & ~O_NONBLOCK);
        fcntl(i, F_SETFD, 0);
      }
      for (uint32_t i = 0; i < count; i++) fcntl(kept[i], F_SETFD, 0);
      for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
      sigemptyset(&mask);
      pthread_sigmask(SIG_SETMASK, &mask, NULL);
      if (chdir(place[1]) == 0) {
        execve(place[0], arguments + 1, environment);
        if (errno == ENOEXEC) {
          arguments[0] = "/bin/sh";
          arguments[1] = place[0];
          execve(arguments[0], arguments, environment);
        }
      }
      code = errno;
      ssize_t written = write(report[1], &code, sizeof code);
      _exit(written > 0 ? 127 : 126);
    } else {
      if (pid < 0) code = errno;
      close(report[1]);
      ssize_t n;
      do n = pid < 0 ? 0 : read(report[0], &code, sizeof code);
      while (n < 0 && errno == EINTR);
      close(report[0]);
      if (n > 0) waitpid(pid, NULL, 0);
    }
  }
  free(place);
  free(arguments);
  free(environment);
  return number(env, code != 0 ? -code : pid);
}

/* Gives a process that stays a copy of this one a name of its own: ps(1) shows it, and pkill(1) does not take it for mend. */
static void rename_process(const char *name, char *arguments, size_t length) {
  prctl(PR_SET_NAME, name);
  if (arguments != NULL && length > 0) {
    memset(arguments, 0, length);
    strncpy(arguments, name, length - 1);
  }
}

static int close_all_from(unsigned int first) {
#ifdef SYS_close_range
  return (int)syscall(SYS_close_range, first, ~0U, 0);
#else
  (void)first;
  return -1;
#endif
}

/*
 * watchGroup(arguments, length) -> [process id, descriptor] or -errno: starts a process in the group of this one that
 * writes to a pipe each signal it gets, as a byte. A signal that it gets, too, was sent to the group. It ends with the thread
 * that called. `arguments`: address of this process's own (proc_pid_stat(5)), which are replaced in the copy.
 */
static napi_value watch_group(napi_env env, napi_callback_info info) {
  napi_value argv[2], out;
  size_t argc = 2;
  int64_t address, length;
  int ends[2];
  sigset_t mask;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int64(env, argv[0], &address));
  CHECK(env, napi_get_value_int64(env, argv[1], &length));
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return number(env, -errno);
  pid_t parent = getpid(), pid = fork_quietly(&mask);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    rename_process("mend-signals", (char *)(uintptr_t)address, (size_t)length);
    dup2(ends[1], 0);
    if (close_all_from(1) < 0)
      for (int i = 1; i < 65536; i++) close(i);
    for (;;) {
      sigfillset(&mask);
      int code = sigwaitinfo(&mask, NULL);
      unsigned char byte = (unsigned char)code;
      if (code > 0 && write(0, &byte, 1) < 0 && errno == EPIPE) _exit(0);
    }
  }
  int code = errno;
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return number(env, -code);
  }
  CHECK(env, napi_create_array_with_length(env, 2, &out));
  CHECK(env, napi_set_element(env, out, 0, number(env, pid)));
  CHECK(env, napi_set_element(env, out, 1, number(env, ends[0])));
  return out;
}

/* exitAtOnce(status): ends the process; unlike Node.js it leaves the terminal as it is. */
static napi_value exit_at_once(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  size_t argc = 1;
  int32_t status;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &status));
  _exit(status);
}

/* endBySignal(signal): ends the process as the signal does by default, without a core file. */
static napi_value end_by_signal(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  size_t argc = 1;
  int32_t code;
  struct rlimit none = {0, 0};
  sigset_t only;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &code));
  setrlimit(RLIMIT_CORE, &none);
  signal(code, SIG_DFL);
  sigemptyset(&only);
  sigaddset(&only, code);
  pthread_sigmask(SIG_UNBLOCK, &only, NULL);
  kill(getpid(), code);
  /* The first process of a PID namespace does not die of it. */
  _exit(128 + code);
}

/* receive(descriptor, buffer) -> length of one request, 0 when none is waiting, or -errno. */
static napi_value receive(napi_env env, napi_callback_info info) {
  napi_value argv[2];
  size_t argc = 2, size;
  int32_t fd;
  void *data;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &fd));
  if (!is_buffer(env, argv[1])) return NULL;
  CHECK(env, napi_get_buffer_info(env, argv[1], &data, &size));
  for (;;) {
    ssize_t n = read(fd, data, size);
    if (n >= 0) return number(env, n);
    if (errno == EINTR || errno == ENOENT) continue; /* ENOENT: the request was interrupted before it was read */
    return number(env, errno == EAGAIN ? 0 : -errno);
  }
}

/* send(descriptor, head, headLength, tail | undefined, tailOffset, tailLength) -> 0 or -errno. One gathered write. */
static napi_value send_reply(napi_env env, napi_callback_info info) {
  napi_value argv[6];
  size_t argc = 6, size;
  int32_t fd;
  int64_t head_length, offset = 0, length = 0;
  void *data;
  struct iovec iov[2];
  int parts = 1;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &fd));
  if (!is_buffer(env, argv[1])) return NULL;
  CHECK(env, napi_get_buffer_info(env, argv[1], &data, &size));
  CHECK(env, napi_get_value_int64(env, argv[2], &head_length));
  if (head_length < 0 || (uint64_t)head_length > size) return number(env, -EINVAL);
  iov[0] = (struct iovec){.iov_base = data, .iov_len = (size_t)head_length};
  if (argc >= 6) {
    CHECK(env, napi_get_value_int64(env, argv[4], &offset));
    CHECK(env, napi_get_value_int64(env, argv[5], &length));
    if (length > 0) {
      if (!is_buffer(env, argv[3])) return NULL;
      CHECK(env, napi_get_buffer_info(env, argv[3], &data, &size));
      if (offset < 0 || (uint64_t)offset > size || (uint64_t)length > size - (uint64_t)offset) return number(env, -EINVAL);
      iov[1] = (struct iovec){.iov_base = (char *)data + offset, .iov_len = (size_t)length};
      parts = 2;
    }
  }
  ssize_t n;
  do n = writev(fd, iov, parts);
  while (n < 0 && errno == EINTR);
  return number(env, n < 0 ? -errno : 0);
}

/* One notification on its way to the kernel, then back to JavaScript. */
struct notice {
  struct notice *next;
  napi_ref callback;
  int result;
  size_t length;
  unsigned char bytes[];
};

/* A watched descriptor. Freed when the loop has closed both handles and the thread (if any) has ended. */
struct channel {
  napi_env env;
  int fd;
  int thread_fd; /* the thread's own descriptor: `fd` can be closed, and be another file, while it writes */
  napi_ref on_readable;
  napi_async_context context;
  napi_async_cleanup_hook_handle hook;
  uv_poll_t poll;
  uv_async_t async;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  struct notice *waiting, **waiting_end; /* to be written; guarded by mutex */
  struct notice *writing; /* the thread's own, being written; guarded by mutex */
  struct notice *finished, **finished_end; /* to be told; guarded by mutex */
  bool thread_started, closing; /* guarded by mutex */
  int references; /* handles not yet closed + thread; guarded by mutex */
  bool closed; /* loop thread only: close was asked for */
};

static void release(struct channel *c) {
  pthread_mutex_lock(&c->mutex);
  bool last = --c->references == 0;
  pthread_mutex_unlock(&c->mutex);
  if (!last) return;
  pthread_mutex_destroy(&c->mutex);
  pthread_cond_destroy(&c->wake);
  free(c);
}

static void *notification_thread(void *argument) {
  struct channel *c = argument;
  pthread_mutex_lock(&c->mutex);
  for (;;) {
    while (c->waiting == NULL && !c->closing) pthread_cond_wait(&c->wake, &c->mutex);
    if (c->closing) break;
    struct notice *n = c->writing = c->waiting;
    c->waiting = n->next;
    if (c->waiting == NULL) c->waiting_end = &c->waiting;
    pthread_mutex_unlock(&c->mutex);
    ssize_t written;
    do written = write(c->thread_fd, n->bytes, n->length);
    while (written < 0 && errno == EINTR);
    n->result = written < 0 ? -errno : 0;
    n->next = NULL;
    pthread_mutex_lock(&c->mutex);
    c->writing = NULL;
    if (c->closing) { /* its callback was called by shut */
      free(n);
      break;
    }
    *c->finished_end = n;
    c->finished_end = &n->next;
    uv_async_send(&c->async);
  }
  pthread_mutex_unlock(&c->mutex);
  close(c->thread_fd);
  release(c);
  return NULL;
}

static struct notice *take(struct notice **head, struct notice ***end) {
  struct notice *list = *head;
  *head = NULL;
  *end = head;
  return list;
}

static void call_back(struct channel *c, napi_ref reference, int result) {
  napi_value receiver, callback, argument;
  if (napi_get_global(c->env, &receiver) == napi_ok && napi_get_reference_value(c->env, reference, &callback) == napi_ok &&
      napi_create_int32(c->env, result, &argument) == napi_ok)
    napi_make_callback(c->env, c->context, receiver, callback, 1, &argument, NULL);
  napi_delete_reference(c->env, reference);
}

/* Tells JavaScript how each of a list of notifications went, and frees the list. */
static void tell(struct channel *c, struct notice *list) {
  napi_handle_scope scope;
  if (napi_open_handle_scope(c->env, &scope) != napi_ok) return;
  while (list != NULL) {
    struct notice *n = list;
    list = n->next;
    call_back(c, n->callback, n->result);
    free(n);
  }
  napi_close_handle_scope(c->env, scope);
}

/* One at a time: a callback may call unwatch, which then tells of all the others. */
static void on_async(uv_async_t *handle) {
  struct channel *c = handle->data;
  for (;;) {
    pthread_mutex_lock(&c->mutex);
    struct notice *n = c->finished;
    if (n != NULL) {
      c->finished = n->next;
      if (c->finished == NULL) c->finished_end = &c->finished;
      n->next = NULL;
    }
    pthread_mutex_unlock(&c->mutex);
    if (n == NULL) return;
    tell(c, n);
  }
}

static void on_poll(uv_poll_t *handle, int status, int events) {
  (void)events;
  struct channel *c = handle->data;
  napi_handle_scope scope;
  if (napi_open_handle_scope(c->env, &scope) != napi_ok) return;
  napi_value receiver, callback, argument;
  if (napi_get_global(c->env, &receiver) == napi_ok && napi_get_reference_value(c->env, c->on_readable, &callback) == napi_ok &&
      napi_create_int32(c->env, status, &argument) == napi_ok)
    napi_make_callback(c->env, c->context, receiver, callback, 1, &argument, NULL);
  napi_close_handle_scope(c->env, scope);
}

static void on_handle_closed(uv_handle_t *handle) {
  struct channel *c = handle->data;
  if (handle == (uv_handle_t *)&c->async) {
    /* Not in shut: a callback that runs in this context may have called it. */
    napi_async_destroy(c->env, c->context);
    napi_remove_async_cleanup_hook(c->hook);
  }
  release(c);
}

static void shut(struct channel *c) {
  if (c->closed) return;
  c->closed = true;
  uv_poll_stop(&c->poll);
  pthread_mutex_lock(&c->mutex);
  c->closing = true;
  struct notice *waiting = take(&c->waiting, &c->waiting_end), *finished = take(&c->finished, &c->finished_end);
  napi_ref writing = c->writing != NULL ? c->writing->callback : NULL;
  pthread_cond_signal(&c->wake);
  pthread_mutex_unlock(&c->mutex);
  for (struct notice *n = waiting; n != NULL; n = n->next) n->result = -ECANCELED;
  tell(c, finished);
  napi_handle_scope scope;
  if (writing != NULL && napi_open_handle_scope(c->env, &scope) == napi_ok) {
    call_back(c, writing, -ECANCELED);
    napi_close_handle_scope(c->env, scope);
  }
  tell(c, waiting);
  napi_delete_reference(c->env, c->on_readable);
  uv_close((uv_handle_t *)&c->poll, on_handle_closed);
  uv_close((uv_handle_t *)&c->async, on_handle_closed);
}

static void on_cleanup(napi_async_cleanup_hook_handle hook, void *argument) {
  (void)hook;
  shut(argument);
}

/* watch(descriptor, onReadable(status)) -> channel. The descriptor stays the caller's. */
static napi_value watch(napi_env env, napi_callback_info info) {
  napi_value argv[2], name, out;
  size_t argc = 2;
  int32_t fd;
  uv_loop_t *loop;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &fd));
  if (!is_function(env, argv[1])) return NULL;
  CHECK(env, napi_get_uv_event_loop(env, &loop));
  struct channel *c = calloc(1, sizeof *c);
  if (c == NULL) return number(env, -ENOMEM);
  c->env = env;
  c->fd = fd;
  c->waiting_end = &c->waiting;
  c->finished_end = &c->finished;
  c->references = 2;
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->wake, NULL);
  c->poll.data = c->async.data = c;
  int code = uv_poll_init(loop, &c->poll, fd);
  if (code < 0) {
    free(c);
    return number(env, code);
  }
  uv_async_init(loop, &c->async, on_async);
  CHECK(env, napi_create_reference(env, argv[1], 1, &c->on_readable));
  CHECK(env, napi_create_string_utf8(env, "mend.channel", NAPI_AUTO_LENGTH, &name));
  CHECK(env, napi_async_init(env, NULL, name, &c->context));
  CHECK(env, napi_add_async_cleanup_hook(env, on_cleanup, c, &c->hook));
  code = uv_poll_start(&c->poll, UV_READABLE, on_poll);
  if (code < 0) {
    shut(c);
    return number(env, code);
  }
  CHECK(env, napi_create_external(env, c, NULL, NULL, &out));
  return out;
}

/* unwatch(channel): stops watching; notifications not yet written end with -ECANCELED. Call once. */
static napi_value unwatch(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  size_t argc = 1;
  void *c;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_external(env, argv[0], &c));
  shut(c);
  return NULL;
}

/* notify(channel, message, callback(result)) -> 0 or -errno. Copies the message; written by the channel's own thread. */
static napi_value notify(napi_env env, napi_callback_info info) {
  napi_value argv[3];
  size_t argc = 3, size;
  void *pointer, *data;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_external(env, argv[0], &pointer));
  if (!is_buffer(env, argv[1]) || !is_function(env, argv[2])) return NULL;
  CHECK(env, napi_get_buffer_info(env, argv[1], &data, &size));
  struct channel *c = pointer;
  if (c->closed) return number(env, -ECANCELED);
  struct notice *n = calloc(1, sizeof *n + size);
  if (n == NULL) return number(env, -ENOMEM);
  n->length = size;
  memcpy(n->bytes, data, size);
  CHECK(env, napi_create_reference(env, argv[2], 1, &n->callback));
  int code = 0;
  pthread_mutex_lock(&c->mutex);
  if (!c->thread_started) {
    pthread_t thread;
    c->thread_fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
    code = c->thread_fd < 0 ? errno : pthread_create(&thread, NULL, notification_thread, c);
    if (code != 0 && c->thread_fd >= 0) close(c->thread_fd);
    if (code == 0) {
      pthread_detach(thread);
      c->thread_started = true;
      c->references++;
    }
  }
  if (code == 0) {
    *c->waiting_end = n;
    c->waiting_end = &n->next;
    pthread_cond_signal(&c->wake);
  }
  pthread_mutex_unlock(&c->mutex);
  if (code != 0) {
    napi_delete_reference(env, n->callback);
    free(n);
  }
  return number(env, -code);
}

NAPI_MODULE_INIT() {
  static const struct {
    const char *name;
    napi_callback call;
  } methods[] = {
      {"socketPair", socket_pair}, {"receiveDescriptor", receive_descriptor}, {"sendDescriptor", send_descriptor}, {"closeDescriptor", close_descriptor}, {"lockFile", lock_file}, {"shareLock", share_lock},
      {"peerProcess", peer_process}, {"adoptOrphans", adopt_orphans}, {"buryOrphans", bury_orphans}, {"startProgram", start_program}, {"watchGroup", watch_group}, {"exitAtOnce", exit_at_once}, {"endBySignal", end_by_signal},
      {"receive", receive}, {"send", send_reply}, {"watch", watch}, {"unwatch", unwatch}, {"notify", notify},
  };
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    napi_value function;
    CHECK(env, napi_create_function(env, methods[i].name, NAPI_AUTO_LENGTH, methods[i].call, NULL, &function));
    CHECK(env, napi_set_named_property(env, exports, methods[i].name, function));
  }
  return exports;
}

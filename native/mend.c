/*
 * What mend needs from C: pass a descriptor through a socket, watch it on the event loop, read and write it
 * without blocking, send kernel notifications from a thread of their own, lock a file, tell who connected, and be the parent
 * of a program that is started in one's own place.
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

/* buryOrphans(own) -> how many children that ended were waited for, up to one of `own`, which is left to Node.js. */
static napi_value bury_orphans(napi_env env, napi_callback_info info) {
  napi_value argv[1];
  size_t argc = 1;
  int32_t own;
  int64_t buried = 0;
  CHECK(env, napi_get_cb_info(env, info, &argc, argv, NULL, NULL));
  CHECK(env, napi_get_value_int32(env, argv[0], &own));
  for (;;) {
    siginfo_t who = {0};
    if (waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT) < 0 || who.si_pid == 0 || who.si_pid == own) break;
    if (waitpid(who.si_pid, NULL, WNOHANG) > 0) buried++;
  }
  return number(env, buried);
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
      {"peerProcess", peer_process}, {"adoptOrphans", adopt_orphans}, {"buryOrphans", bury_orphans}, {"exitAtOnce", exit_at_once}, {"endBySignal", end_by_signal},
      {"receive", receive}, {"send", send_reply}, {"watch", watch}, {"unwatch", unwatch}, {"notify", notify},
  };
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    napi_value function;
    CHECK(env, napi_create_function(env, methods[i].name, NAPI_AUTO_LENGTH, methods[i].call, NULL, &function));
    CHECK(env, napi_set_named_property(env, exports, methods[i].name, function));
  }
  return exports;
}

/* Loaded before all other libraries, it counts calls of one kind and has the k-th fail.
 *
 *   allocation   operator new, called from the library whose name ends the path given to faults_core
 *   write, read  of descriptors that lead into the folder given to faults_folder
 *   open, rename of paths in that folder
 *   thread       pthread_create, by whoever
 *
 * What the library allocated and has not given back is counted too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum Kind { kNone, kAllocation, kWrite, kRead, kOpen, kRename, kThread };

static volatile int armed = kNone;
static volatile long count, wanted, fired, live;
static char core_name[256], folder[1024];
static unsigned long core_start, core_end;

static int find_core(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size, (void)data;
  const size_t n = strlen(info->dlpi_name), m = strlen(core_name);
  if (!m || n < m || strcmp(info->dlpi_name + n - m, core_name)) return 0;
  core_start = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const unsigned long end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    if (info->dlpi_phdr[i].p_type == PT_LOAD && end > core_end) core_end = end;
  }
  return 1;
}

int faults_core(const char* name) {
  snprintf(core_name, sizeof core_name, "%s", name);
  return dl_iterate_phdr(find_core, NULL);
}
void faults_folder(const char* path) { snprintf(folder, sizeof folder, "%s", path); }

/* Fails call number k from now on, counted from 1; with 0 they are counted only. */
void faults_arm(int kind, long k) {
  count = fired = 0, wanted = k;
  __sync_synchronize();
  armed = kind;
}
long faults_disarm(void) {
  armed = kNone;
  return count;
}
long faults_fired(void) { return fired; }
long faults_live(void) { return live; }

static int fails(enum Kind kind) {
  if (armed != (int)kind) return 0;
  if (__sync_add_and_fetch(&count, 1) != wanted) return 0;
  fired = 1;
  return 1;
}

static int inside(const char* path) { return folder[0] && path && !strncmp(path, folder, strlen(folder)); }
static int leads_inside(int fd) {
  char name[64], path[1024];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(name, path, sizeof path - 1);
  if (n <= 0) return 0;
  path[n] = 0;
  return inside(path);
}

/* ---- allocations of the core: pointers in a table, so that what it frees can be told from what others free */

#define PLACES (1 << 20)
static void* places[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned long place_of(const void* p) { return ((unsigned long)p >> 4) * 0x9E3779B97F4A7C15ul >> 44; }
static void remember(void* p) {
  pthread_mutex_lock(&lock);
  unsigned long at = place_of(p);
  while (places[at] && places[at] != (void*)1) at = (at + 1) % PLACES;
  places[at] = p, ++live;
  pthread_mutex_unlock(&lock);
}
static void forget(void* p) {
  pthread_mutex_lock(&lock);
  unsigned long at = place_of(p);
  while (places[at] && places[at] != p) at = (at + 1) % PLACES;
  if (places[at]) places[at] = (void*)1, --live;
  pthread_mutex_unlock(&lock);
}

typedef void* New(size_t);
typedef void* NewAligned(size_t, size_t);
typedef void Delete(void*);

static void* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}
static int from_core(void* caller) { return (unsigned long)caller >= core_start && (unsigned long)caller < core_end; }

/* std::bad_alloc is thrown by the library's own operator new, asked for more than there is */
#define ASK_TOO_MUCH ((size_t)1 << 62)
#define DEFINE_NEW(name)                                                              \
  void* name(size_t n) {                                                              \
    static New* original;                                                             \
    if (!original) original = (New*)next(#name);                                      \
    if (!from_core(__builtin_return_address(0))) return original(n);                  \
    void* p = original(fails(kAllocation) ? ASK_TOO_MUCH : n);                        \
    remember(p);                                                                      \
    return p;                                                                         \
  }
#define DEFINE_NEW_ALIGNED(name)                                                      \
  void* name(size_t n, size_t alignment) {                                            \
    static NewAligned* original;                                                      \
    if (!original) original = (NewAligned*)next(#name);                               \
    if (!from_core(__builtin_return_address(0))) return original(n, alignment);       \
    void* p = original(fails(kAllocation) ? ASK_TOO_MUCH : n, alignment);             \
    remember(p);                                                                      \
    return p;                                                                         \
  }
#define DEFINE_DELETE(name, parameters, ...)                                          \
  void name parameters {                                                              \
    static void (*original) parameters;                                               \
    if (!original) original = (void (*) parameters)next(#name);                       \
    if (p && live) forget(p);                                                         \
    original(__VA_ARGS__);                                                            \
  }
DEFINE_NEW(_Znwm)
DEFINE_NEW(_Znam)
DEFINE_NEW_ALIGNED(_ZnwmSt11align_val_t)
DEFINE_NEW_ALIGNED(_ZnamSt11align_val_t)
DEFINE_DELETE(_ZdlPv, (void* p), p)
DEFINE_DELETE(_ZdaPv, (void* p), p)
DEFINE_DELETE(_ZdlPvm, (void* p, size_t n), p, n)
DEFINE_DELETE(_ZdaPvm, (void* p, size_t n), p, n)
DEFINE_DELETE(_ZdlPvSt11align_val_t, (void* p, size_t a), p, a)
DEFINE_DELETE(_ZdaPvSt11align_val_t, (void* p, size_t a), p, a)
DEFINE_DELETE(_ZdlPvmSt11align_val_t, (void* p, size_t n, size_t a), p, n, a)

/* ---- files and threads */

ssize_t write(int fd, const void* data, size_t n) {
  static ssize_t (*original)(int, const void*, size_t);
  if (!original) original = next("write");
  if (armed == kWrite && leads_inside(fd) && fails(kWrite)) return errno = ENOSPC, -1;
  return original(fd, data, n);
}
#define DEFINE_READ(name, parameters, ...)                                            \
  ssize_t name parameters {                                                           \
    static ssize_t(*original) parameters;                                             \
    if (!original) original = next(#name);                                            \
    if (armed == kRead && leads_inside(fd) && fails(kRead)) return errno = EIO, -1;   \
    return original(__VA_ARGS__);                                                     \
  }
DEFINE_READ(read, (int fd, void* data, size_t n), fd, data, n)
DEFINE_READ(pread, (int fd, void* data, size_t n, off_t at), fd, data, n, at)
DEFINE_READ(pread64, (int fd, void* data, size_t n, off64_t at), fd, data, n, at)

#define DEFINE_OPEN(name)                                                             \
  int name(const char* path, int flags, ...) {                                        \
    static int (*original)(const char*, int, ...);                                    \
    if (!original) original = next(#name);                                            \
    va_list rest;                                                                     \
    va_start(rest, flags);                                                            \
    const mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;   \
    va_end(rest);                                                                     \
    if (armed == kOpen && inside(path) && fails(kOpen)) return errno = EMFILE, -1;    \
    return original(path, flags, mode);                                               \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

int rename(const char* from, const char* to) {
  static int (*original)(const char*, const char*);
  if (!original) original = next("rename");
  if (armed == kRename && inside(to) && fails(kRename)) return errno = EIO, -1;
  return original(from, to);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  static int (*original)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!original) original = next("pthread_create");
  return fails(kThread) ? EAGAIN : original(thread, attributes, start, argument);
}

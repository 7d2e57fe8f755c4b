/* Makes one chosen call of a process fail, or end it there. Loaded by bench/faults.py with LD_PRELOAD.

   FAULT_CALL: write, pwrite, fsync, rename, truncate, allocate.  FAULT_NTH: which one, from 1, counted while armed.
   FAULT_HOW: ENOSPC, EIO, ENOMEM: the call fails; short: half is written and then it fails; kill: SIGKILL before it;
   torn: half is written, then SIGKILL.  Nothing is counted before fault_arm() is called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE, PWRITE, FSYNC, RENAME, TRUNCATE, ALLOCATE, N_CALLS };
enum { FAIL, SHORT, KILL, TORN };
static const size_t LARGE = 64 * 1024;
static atomic_int armed;
static atomic_long counts[N_CALLS];
static int chosen = -1, how, code, is_lasting;
static long nth;

void fault_arm(int call, long place, int way, int error, int lasting) {
    chosen = call, nth = place, how = way, code = error, is_lasting = lasting;
    for (int each = 0; each < N_CALLS; each++) atomic_store(&counts[each], 0);
    atomic_store(&armed, 1);
}
long fault_count(int call) { return atomic_load(&counts[call]); }
void fault_disarm(void) { atomic_store(&armed, 0); }

/* 1 where this call is to go wrong. A full disk stays full. */
static int hit(int call) {
    if (!atomic_load(&armed)) return 0;
    long place = atomic_fetch_add(&counts[call], 1) + 1;
    if (call != chosen || (is_lasting ? place < nth : place != nth)) return 0;
    if (how == KILL) kill(getpid(), SIGKILL);
    return place == nth ? 2 : 1;
}
/* Only the first write to a full disk finds room for half. */
static int is_half(int hit) { return hit == 2 && (how == SHORT || how == TORN); }
#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int file, const void *data, size_t size) {
    REAL(write);
    int found = file > 2 ? hit(WRITE) : 0;
    if (found) {
        if (is_half(found) && size > 1) real(file, data, size / 2);
        if (how == TORN) kill(getpid(), SIGKILL);
        errno = code; return -1;
    }
    return real(file, data, size);
}
static ssize_t at(__typeof__(pwrite) *real, int file, const void *data, size_t size, off_t place) {
    int found = hit(PWRITE);
    if (found) {
        if (is_half(found) && size > 1) real(file, data, size / 2, place);
        if (how == TORN) kill(getpid(), SIGKILL);
        errno = code; return -1;
    }
    return real(file, data, size, place);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t place) { REAL(pwrite); return at(real, file, data, size, place); }
ssize_t pwrite64(int file, const void *data, size_t size, off_t place) { REAL(pwrite64); return at(real, file, data, size, place); }
int fsync(int file) { REAL(fsync); if (hit(FSYNC)) { errno = code; return -1; } return real(file); }
int fdatasync(int file) { REAL(fdatasync); if (hit(FSYNC)) { errno = code; return -1; } return real(file); }
int rename(const char *from, const char *to) { REAL(rename); if (hit(RENAME)) { errno = code; return -1; } return real(from, to); }
int ftruncate(int file, off_t size) { REAL(ftruncate); if (hit(TRUNCATE)) { errno = code; return -1; } return real(file, size); }
int ftruncate64(int file, off_t size) { REAL(ftruncate64); if (hit(TRUNCATE)) { errno = code; return -1; } return real(file, size); }
void *malloc(size_t size) {
    REAL(malloc);
    if (size >= LARGE && hit(ALLOCATE)) { errno = ENOMEM; return NULL; }
    return real(size);
}

/* Put before the C library by LD_PRELOAD, for tests: a disk that is full or read-only below a folder, and a clock that
   is set back, while the program runs. What shall happen stands in a file that the test shares. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct control {
    int64_t seconds;             /* added to the clock of the day */
    int32_t write_error, change_error;
    int64_t refused;             /* how many calls were refused so far */
    char folder[1024];           /* with the slash at its end */
};

static struct control *control(void) {
    static struct control *shared;
    const char *path = getenv("GPU_STUDIO_TEST_FAULTS");
    if (!shared && path) {
        int (*plain)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
        int descriptor = plain(path, O_RDWR | O_CLOEXEC);
        if (descriptor >= 0) {
            void *found = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
            if (found != MAP_FAILED) shared = found;
            close(descriptor);
        }
    }
    return shared;
}

static int below(const char *path) {
    struct control *shared = control();
    return shared && shared->folder[0] && !strncmp(path, shared->folder, strlen(shared->folder));
}

static int refused(int error) {
    __atomic_add_fetch(&control()->refused, 1, __ATOMIC_SEQ_CST);
    errno = error;
    return -1;
}

ssize_t write(int descriptor, const void *data, size_t size) {
    static ssize_t (*plain)(int, const void *, size_t);
    if (!plain) plain = dlsym(RTLD_NEXT, "write");
    struct control *shared = control();
    if (shared && shared->write_error) {
        char link[64], path[1100];
        snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length > 0) {
            path[length] = 0;
            if (below(path)) return refused(shared->write_error);
        }
    }
    return plain(descriptor, data, size);
}

static int opened(const char *name, const char *path, int flags, int mode) {
    int (*plain)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
    struct control *shared = control();
    if (shared && shared->change_error && (flags & (O_WRONLY | O_RDWR | O_CREAT)) && below(path))
        return refused(shared->change_error);
    return plain(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    return opened("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    return opened("open64", path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
    int (*plain)(const char *, mode_t) = dlsym(RTLD_NEXT, "mkdir");
    struct control *shared = control();
    if (shared && shared->change_error && below(path)) return refused(shared->change_error);
    return plain(path, mode);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*plain)(clockid_t, struct timespec *);
    if (!plain) plain = dlsym(RTLD_NEXT, "clock_gettime");
    int result = plain(clock, now);
    if (clock == CLOCK_REALTIME && control()) now->tv_sec += control()->seconds;
    return result;
}

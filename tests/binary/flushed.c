/* Preloaded into a server: each time it has flushed a file of its database, the file is copied to the directory
 * FLUSHED. With FORGETFUL set, the write-ahead log is not copied: this simulates a disk that reports a flush but did
 * not do it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void copy(const char *from, const char *to) {
    static char bytes[1 << 20];
    int source = open(from, O_RDONLY), target = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t count;
    while ((count = read(source, bytes, sizeof bytes)) > 0)
        if (write(target, bytes, count) != count) abort();
    if (source < 0 || target < 0 || count < 0) abort();
    close(source);
    close(target);
}

static void keep(int file) {
    char link[64], path[4096], copied[4200], kept[4200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) abort();
    path[length] = 0;
    const char *name = strrchr(path, '/'), *directory = getenv("FLUSHED");
    if (!name || !directory || strncmp(name, "/restante.db", 12)) return;
    if (getenv("FORGETFUL") && strstr(name, "-wal")) return;
    snprintf(copied, sizeof copied, "%s/copied", directory);
    snprintf(kept, sizeof kept, "%s%s", directory, name);
    pthread_mutex_lock(&one_at_a_time);
    copy(path, copied);
    if (rename(copied, kept)) abort();
    pthread_mutex_unlock(&one_at_a_time);
}

static int flush(const char *call, int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, call);
    int result = real(file);
    if (result == 0) keep(file);
    return result;
}

int fsync(int file) { return flush("fsync", file); }

int fdatasync(int file) { return flush("fdatasync", file); }

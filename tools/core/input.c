/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of a profile; see read.h. */
#include "core/read.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "core/model.h"

/* Time that a pipe waits for its other end to be opened. */
#define PIPE_SECONDS 5
#define CHUNK ((size_t)64 << 10)
#define GZIP_WINDOW (15 + 16) /* zlib: window bits + "gzip only" */
/* Profiles shrink by a factor of 2 to 20. A large input that shrank by more than this is a bomb:
 * once read, its contents would take several times as much memory. */
#define RATIO_MAX 300
#define RATIO_FREE ((uint64_t)64 << 20)

struct ct_input {
	int fd;		       /* -1: memory */
	bool kept;	       /* the descriptor belongs to the caller */
	const uint8_t *memory; /* bytes that are not yet read */
	size_t memory_left;
	void *fetched;	      /* memory to be freed, or NULL */
	uint8_t chunk[CHUNK]; /* raw bytes that were read ahead */
	size_t chunk_at, chunk_end;
	int known, gzip,
		ended; /* the kind is known; the input is gzip; its last member is complete */
	z_stream z;
	uint64_t raw; /* bytes taken from the source */
	uint64_t total,
		most; /* bytes given to the caller, and their limit; MOST 0 = CT_INPUT_MAX */
};

void ct_input_fault_say(struct ct_fault *fault, uint64_t offset, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fault->offset = offset;
	vsnprintf(fault->text, sizeof(fault->text), fmt, args);
	va_end(args);
}

int ct_input_is_url(const char *source)
{
	return !strncmp(source, "http://", 7) || !strncmp(source, "https://", 8);
}

struct ct_input *ct_input_descriptor(int fd)
{
	struct ct_input *in = ct_memory_alloc(sizeof(*in));

	in->fd = fd;
	in->kept = true;
	return in;
}

struct ct_input *ct_input_memory(const void *data, size_t size)
{
	struct ct_input *in = ct_memory_alloc(sizeof(*in));

	in->fd = -1;
	in->memory = data;
	in->memory_left = size;
	return in;
}

void ct_input_limit(struct ct_input *in, uint64_t most)
{
	in->most = most;
}

static int open_url(struct ct_input **in, const char *url, struct ct_fault *fault)
{
	void *data;
	size_t size;
	int r = ct_fetch(url, &data, &size, fault);

	if (r)
		return r;
	*in = ct_input_memory(data, size);
	(*in)->fetched = data;
	return 0;
}

/* Says that SOURCE is missing. If another process wrote with this name, the program's file has its
 * pid after the name. */
static void say_missing(const char *source, struct ct_fault *fault)
{
	char *pattern = ct_siblings_pattern(source);
	const char *other = NULL;
	glob_t found = { 0 };

	if (!glob(pattern, 0, NULL, &found))
		for (size_t i = 0; !other && i < found.gl_pathc; i++)
			if (ct_siblings_process(found.gl_pathv[i] + strlen(source) + 1))
				other = found.gl_pathv[i];
	if (other)
		ct_input_fault_say(fault, 0, "%s; there is %s", strerror(ENOENT), other);
	else
		ct_input_fault_say(fault, 0, "%s", strerror(ENOENT));
	globfree(&found);
	free(pattern);
}

static void interrupt(int sig)
{
	(void)sig;
}

/* Opens a named pipe, and waits for a writer, though not for ever. */
static int open_pipe(const char *path)
{
	const struct sigaction mine = { .sa_handler = interrupt };
	struct sigaction before;
	int fd, error;

	sigaction(SIGALRM, &mine, &before);
	alarm(PIPE_SECONDS);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	error = errno;
	alarm(0);
	sigaction(SIGALRM, &before, NULL);
	errno = error;
	return fd;
}

int ct_input_open(struct ct_input **in, const char *source, struct ct_fault *fault)
{
	struct stat st;
	int fd;

	if (ct_input_is_url(source))
		return open_url(in, source, fault);
	if (!strcmp(source, "-"))
		fd = STDIN_FILENO;
	else if (!stat(source, &st) && S_ISFIFO(st.st_mode))
		fd = open_pipe(source);
	else
		fd = open(source, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		int error = errno;

		if (error == ENOENT)
			say_missing(source, fault);
		else if (error == EINTR)
			ct_input_fault_say(fault, 0, "is a pipe that nobody writes to");
		else
			ct_input_fault_say(fault, 0, "%s", strerror(error));
		return -error;
	}
	if (S_ISDIR(st.st_mode)) {
		close(fd);
		ct_input_fault_say(fault, 0, "is a directory: give the profiles in it");
		return -EISDIR;
	}
	*in = ct_memory_alloc(sizeof(**in));
	(*in)->fd = fd;
	return 0;
}

void ct_input_close(struct ct_input *in)
{
	if (!in)
		return;
	if (in->gzip)
		inflateEnd(&in->z);
	if (in->fd > STDIN_FILENO && !in->kept)
		close(in->fd);
	free(in->fetched);
	free(in);
}

int64_t ct_input_written(const struct ct_input *in)
{
	struct stat st;

	return in->fd >= 0 && !fstat(in->fd, &st) && S_ISREG(st.st_mode)
		       ? st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec
		       : 0;
}

/* Reads more raw bytes after those in the chunk; returns 0 at the end. */
static long fill_chunk(struct ct_input *in, struct ct_fault *fault)
{
	size_t room;
	long n;

	if (in->chunk_at == in->chunk_end)
		in->chunk_at = in->chunk_end = 0;
	room = CHUNK - in->chunk_end;
	if (in->fd < 0) {
		n = (long)(in->memory_left < room ? in->memory_left : room);
		if (n)
			memcpy(in->chunk + in->chunk_end, in->memory, (size_t)n);
		in->memory += n;
		in->memory_left -= (size_t)n;
	} else {
		do
			n = read(in->fd, in->chunk + in->chunk_end, room);
		while (n < 0 && errno == EINTR);
	}
	if (n < 0) {
		ct_input_fault_say(fault, in->total, "can't be read: %s", strerror(errno));
		return -EIO;
	}
	in->chunk_end += (size_t)n;
	in->raw += (uint64_t)n;
	return n;
}

/* Tells gzip from plain bytes by gzip's two magic bytes. */
static long look_for_gzip(struct ct_input *in, struct ct_fault *fault)
{
	long n = 1;

	while (in->chunk_end < 2 && n > 0)
		n = fill_chunk(in, fault);
	if (n < 0)
		return n;
	in->known = 1;
	in->gzip = in->chunk_end >= 2 && in->chunk[0] == 0x1f && in->chunk[1] == 0x8b;
	if (in->gzip && inflateInit2(&in->z, GZIP_WINDOW) != Z_OK) {
		in->gzip = 0;
		ct_input_fault_say(fault, 0, "zlib can't be used");
		return -ENOMEM;
	}
	return 0;
}

static long read_plain(struct ct_input *in, void *buffer, size_t size, struct ct_fault *fault)
{
	size_t n;

	if (in->chunk_at == in->chunk_end) {
		long r = fill_chunk(in, fault);

		if (r <= 0)
			return r;
	}
	n = in->chunk_end - in->chunk_at;
	if (n > size)
		n = size;
	memcpy(buffer, in->chunk + in->chunk_at, n);
	in->chunk_at += n;
	return (long)n;
}

static long bad_gzip(struct ct_input *in, struct ct_fault *fault, const char *why)
{
	ct_input_fault_say(fault, in->total, "damaged gzip data: %s", why);
	return -EBADMSG;
}

/* After a member, another one follows (files may be concatenated), or the end. */
static long next_member(struct ct_input *in, struct ct_fault *fault)
{
	if (in->chunk_at == in->chunk_end) {
		long n = fill_chunk(in, fault);

		if (n <= 0)
			return n;
	}
	in->ended = 0;
	return inflateReset(&in->z) == Z_OK ? 1 : bad_gzip(in, fault, "zlib's state");
}

static long inflate_some(struct ct_input *in, struct ct_fault *fault)
{
	long n = 1;
	int r;

	if (in->ended)
		n = next_member(in, fault);
	else if (in->chunk_at == in->chunk_end)
		n = fill_chunk(in, fault);
	if (n < 0 || (!n && in->ended))
		return n;
	if (!n)
		return bad_gzip(in, fault, "the file is cut short: copy or fetch it anew");
	in->z.next_in = in->chunk + in->chunk_at;
	in->z.avail_in = (unsigned)(in->chunk_end - in->chunk_at);
	r = inflate(&in->z, Z_NO_FLUSH);
	in->chunk_at = in->chunk_end - in->z.avail_in;
	in->ended = r == Z_STREAM_END;
	if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
		return bad_gzip(in, fault, in->z.msg ? in->z.msg : "unknown reason");
	return 1;
}

static long read_gzip(struct ct_input *in, void *buffer, size_t size, struct ct_fault *fault)
{
	long r = 1;

	if (size > CHUNK * 16)
		size = CHUNK * 16;
	in->z.next_out = buffer;
	in->z.avail_out = (unsigned)size;
	while (r > 0 && in->z.avail_out == size)
		r = inflate_some(in, fault);
	return r < 0 ? r : (long)(size - in->z.avail_out);
}

long ct_input_read(struct ct_input *in, void *buffer, size_t size, struct ct_fault *fault)
{
	long n = in->known ? 0 : look_for_gzip(in, fault);

	if (n < 0)
		return n;
	n = in->gzip ? read_gzip(in, buffer, size, fault) : read_plain(in, buffer, size, fault);
	if (n < 0)
		return n;
	in->total += (uint64_t)n;
	if (in->total > (in->most ? in->most : CT_INPUT_MAX)) {
		ct_input_fault_say(fault, in->total, "more data than the limit allows");
		return -EFBIG;
	}
	if (in->total > RATIO_FREE && in->total / RATIO_MAX > in->raw) {
		ct_input_fault_say(fault, in->total,
				   "data of more than %d times the compressed size", RATIO_MAX);
		return -EFBIG;
	}
	return n;
}

int ct_input_reopen_plain(int found)
{
	char *again = ct_memory_printf("/proc/self/fd/%d", found);
	int fd = -1, error = errno;
	struct stat st;

	if (found >= 0) {
		error = EINVAL;
		if (!fstat(found, &st) && S_ISREG(st.st_mode)) {
			fd = open(again, O_RDONLY | O_CLOEXEC);
			error = errno;
		}
		close(found);
	}
	free(again);
	errno = error;
	return fd;
}

int ct_input_open_plain(const char *path)
{
	int fd = ct_input_reopen_plain(open(path, O_PATH | O_CLOEXEC));

	/* Used if /proc is missing. */
	if (fd < 0 && errno == ENOENT)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd;
}

/* Mapped files that are cut short while they are read: zeros, in place of SIGBUS. */

static volatile sig_atomic_t seen;
static uintptr_t page_size;

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	void *page = (void *)((uintptr_t)info->si_addr & -page_size);

	(void)context;
	seen = 1;
	/* If this fails, the instruction faults again, which ends the process. */
	if (info->si_code != BUS_ADRERR ||
	    mmap(page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED)
		signal(sig, SIG_DFL);
}

void ct_input_catch_shrunk(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };

	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	action.sa_sigaction = on_bus_error;
	sigaction(SIGBUS, &action, NULL);
}

bool ct_input_is_shrunk(void)
{
	return seen;
}

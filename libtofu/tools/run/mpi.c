/* SPDX-License-Identifier: MIT */
/*
 * Tell which MPI a program uses: an ELF file that needs an MPI library. The file
 * is not trusted: all offsets and sizes are bounded here. And tell the version of
 * the system's Open MPI.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/run.h"

/* Most segments and entries that are read; linkers make far fewer. */
#define SEGMENTS_MAX 256
#define DYNAMIC_MAX 4096

/* Prefixes of MPI libraries */
static const struct {
	const char *prefix;
	enum tofu_mpi mpi;
} libraries[] = {
	{ "libmpi.so.12", TOFU_MPI_WIRE },
	{ "libmpi.so", TOFU_MPI_OTHER },
	{ "libmpi_", TOFU_MPI_OTHER },
	{ "libmpich", TOFU_MPI_MPICH },
	{ "libmpifort", TOFU_MPI_MPICH },
	{ "libmpicxx", TOFU_MPI_MPICH },
	{ "libfjmpi", TOFU_MPI_OTHER },
};

/**
 * struct image - an ELF file
 * @head:    header of the file
 * @dynamic: segment for the dynamic linker
 * @strings: offset of the dynamic linker's strings in the file
 */
struct image {
	int fd;
	Elf64_Ehdr head;
	Elf64_Phdr dynamic;
	struct {
		uint64_t at;
		uint64_t size;
	} strings;
};

/* Return: bytes read, of @size at most */
static size_t read_some(const struct image *image, void *to, size_t size,
			uint64_t base, uint64_t offset)
{
	uint64_t at;
	ssize_t got;

	if (__builtin_add_overflow(base, offset, &at) || at > INT64_MAX)
		return 0;
	got = pread(image->fd, to, size, (off_t)at);
	return got > 0 ? (size_t)got : 0;
}

static bool read_all(const struct image *image, void *to, size_t size,
		     uint64_t base, uint64_t offset)
{
	return read_some(image, to, size, base, offset) == size;
}

static bool head_read(struct image *image)
{
	static const unsigned char wanted[] = { ELFMAG0, ELFMAG1, ELFMAG2,
						ELFMAG3, ELFCLASS64, ELFDATA2LSB };
	const Elf64_Ehdr *head = &image->head;

	return read_all(image, &image->head, sizeof(*head), 0, 0) &&
	       !memcmp(head->e_ident, wanted, sizeof(wanted)) &&
	       head->e_phentsize == sizeof(Elf64_Phdr) &&
	       head->e_phnum <= SEGMENTS_MAX;
}

static bool segment_read(const struct image *image, unsigned int i,
			 Elf64_Phdr *segment)
{
	return i < image->head.e_phnum &&
	       read_all(image, segment, sizeof(*segment), image->head.e_phoff,
			i * sizeof(*segment));
}

static bool dynamic_find(struct image *image)
{
	unsigned int i = 0;

	while (segment_read(image, i++, &image->dynamic))
		if (image->dynamic.p_type == PT_DYNAMIC)
			return true;
	return false;
}

static bool entry_read(const struct image *image, unsigned int i,
		       Elf64_Dyn *entry)
{
	return i < DYNAMIC_MAX &&
	       i < image->dynamic.p_filesz / sizeof(*entry) &&
	       read_all(image, entry, sizeof(*entry), image->dynamic.p_offset,
			i * sizeof(*entry)) &&
	       entry->d_tag != DT_NULL;
}

/* Find the offset in the file of what the program loads at @address. */
static bool place_find(const struct image *image, uint64_t address,
		       uint64_t *place)
{
	Elf64_Phdr segment;
	unsigned int i = 0;

	while (segment_read(image, i++, &segment))
		if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
		    address - segment.p_vaddr < segment.p_filesz)
			return !__builtin_add_overflow(segment.p_offset,
						       address - segment.p_vaddr,
						       place);
	return false;
}

static bool strings_find(struct image *image)
{
	bool found = false;
	Elf64_Dyn entry;
	unsigned int i = 0;

	while (entry_read(image, i++, &entry)) {
		if (entry.d_tag == DT_STRTAB)
			found = place_find(image, entry.d_un.d_ptr,
					   &image->strings.at);
		else if (entry.d_tag == DT_STRSZ)
			image->strings.size = entry.d_un.d_val;
	}
	return found;
}

static enum tofu_mpi mpi_of_library(const struct image *image, uint64_t string)
{
	char name[16] = "";

	if (string >= image->strings.size)
		return TOFU_MPI_NONE;
	read_some(image, name, sizeof(name) - 1, image->strings.at, string);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!strncmp(name, libraries[i].prefix,
			     strlen(libraries[i].prefix)))
			return libraries[i].mpi;
	return TOFU_MPI_NONE;
}

/* The first that is certain: a library over several MPIs says little. */
static enum tofu_mpi mpi_needed(struct image *image)
{
	enum tofu_mpi mpi = TOFU_MPI_NONE;
	Elf64_Dyn entry;
	unsigned int i = 0;

	if (!head_read(image) || !dynamic_find(image) || !strings_find(image))
		return mpi;
	while (mpi != TOFU_MPI_MPICH && entry_read(image, i++, &entry)) {
		enum tofu_mpi found = entry.d_tag == DT_NEEDED ?
					      mpi_of_library(image,
							     entry.d_un.d_val) :
					      TOFU_MPI_NONE;

		if (found)
			mpi = found;
	}
	return mpi;
}

/* ---- The program's file ---- */

/* Regular files only: not a folder, and nothing that blocks when opened. */
static bool is_program(const char *path)
{
	struct stat st;

	return !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Search as execvp() does. */
static bool program_find(const char *name, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX &&
		       is_program(path);
	for (const char *at = folders ? folders : "/bin:/usr/bin"; at;) {
		size_t len = strcspn(at, ":");
		int need = snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, at,
				    len ? "/" : "", name);

		if (need > 0 && need < PATH_MAX && is_program(path))
			return true;
		at = at[len] ? at + len + 1 : NULL;
	}
	return false;
}

enum tofu_mpi tofu_program_mpi(const char *name)
{
	struct image image = { .fd = -1 };
	char path[PATH_MAX];
	enum tofu_mpi mpi;

	if (!program_find(name, path))
		return TOFU_MPI_NONE;
	image.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (image.fd < 0)
		return TOFU_MPI_NONE;
	mpi = mpi_needed(&image);
	close(image.fd);
	return mpi;
}

/* ---- The version of Open MPI ---- */

#define OPEN_MPI "libmpi.so.40"
/* The most that any MPI writes */
#define VERSION_TEXT 8192
/* What loads for longer has no version that is known. */
#define VERSION_SECONDS 10

static int version_ask(void)
{
	void *library = dlopen(OPEN_MPI, RTLD_LAZY | RTLD_LOCAL);
	int (*get)(char *text, int *length);
	static char text[VERSION_TEXT];
	unsigned int major;
	int length;

	if (!library)
		return 0;
	*(void **)&get = dlsym(library, "MPI_Get_library_version");
	if (!get || get(text, &length) ||
	    sscanf(text, "Open MPI v%u", &major) != 1 || major > UINT8_MAX)
		return 0;
	return (int)major;
}

/* In a process of its own: what the library brings with it stays there. */
unsigned int tofu_open_mpi_version(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		alarm(VERSION_SECONDS);
		_exit(version_ask());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 0;
	return (unsigned int)WEXITSTATUS(status);
}

// SPDX-License-Identifier: MIT

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sim/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_MACHINE EM_X86_64
#define THIS_COPY R_X86_64_COPY
#else
#define THIS_MACHINE EM_AARCH64
#define THIS_COPY R_AARCH64_COPY
#endif

/* A tag that the dynamic linker does not know, and so ignores */
#define TAG_HIDDEN (DT_LOOS + 0x70f00)

/**
 * struct file - the copy, while it is read and changed
 * @headers: program headers
 * @dynamic: entries up to DT_NULL
 */
struct file {
	const char *path;
	uint8_t *bytes;
	size_t size;
	const Elf64_Phdr *headers;
	size_t header_count;
	Elf64_Dyn *dynamic;
	size_t dynamic_count;
	const char *strings;
	size_t strings_size;
	char **why;
};

static int __attribute__((format(printf, 3, 4)))
refuse(const struct file *file, int err, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text || asprintf(file->why, "%s: %s", file->path, text) < 0)
		*file->why = NULL;
	free(text);
	return err;
}

static int damaged(const struct file *file, const char *what)
{
	return refuse(file, -ENOEXEC, "the file is damaged: %s", what);
}

static int no_memory(const struct file *file)
{
	return refuse(file, -ENOMEM, "no memory");
}

/* ---- Places in the file ---- */

static void *at_offset(const struct file *file, uint64_t offset, uint64_t len)
{
	if (offset > file->size || len > file->size - offset || offset % 4)
		return NULL;
	return file->bytes + offset;
}

/* at_address - what of the file is loaded there, or NULL */
static void *at_address(const struct file *file, uint64_t addr, uint64_t len)
{
	for (size_t i = 0; i < file->header_count; i++) {
		const Elf64_Phdr *header = &file->headers[i];

		if (header->p_type != PT_LOAD || addr < header->p_vaddr)
			continue;
		if (addr - header->p_vaddr >= header->p_filesz ||
		    len > header->p_filesz - (addr - header->p_vaddr))
			continue;
		return at_offset(file,
				 header->p_offset + (addr - header->p_vaddr),
				 len);
	}
	return NULL;
}

static Elf64_Dyn *find_tag(const struct file *file, int64_t tag)
{
	for (size_t i = 0; i < file->dynamic_count; i++) {
		if (file->dynamic[i].d_tag == tag)
			return &file->dynamic[i];
	}
	return NULL;
}

static uint64_t tag_value(const struct file *file, int64_t tag)
{
	const Elf64_Dyn *entry = find_tag(file, tag);

	return entry ? entry->d_un.d_val : 0;
}

static struct sim_range tag_range(const struct file *file, int64_t tag,
				  int64_t size)
{
	return (struct sim_range){
		.at = tag_value(file, tag),
		.len = tag_value(file, size),
	};
}

/* The name ends in the table, or there is none. */
static const char *name_at(const struct file *file, uint64_t offset)
{
	if (offset >= file->strings_size ||
	    !memchr(file->strings + offset, 0, file->strings_size - offset))
		return NULL;
	return file->strings + offset;
}

/* ---- The copy in memory ---- */

static int copy_to_memory(struct file *file, int *fd)
{
	int from = open(file->path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	off_t at = 0;
	int err;

	if (from < 0)
		return refuse(file, -errno, "%s", strerror(errno));
	*fd = memfd_create("tofu-sim-program", MFD_CLOEXEC);
	if (*fd < 0 || fstat(from, &stat))
		goto err;
	while (at < stat.st_size) {
		ssize_t sent = sendfile(*fd, from, &at, stat.st_size - at);

		if (sent < 0)
			goto err;
		if (!sent)
			break;
	}
	close(from);
	file->size = at;
	return 0;
err:
	err = -errno;
	close(from);
	return refuse(file, err, "%s", strerror(-err));
}

static int map_copy(struct file *file, int fd)
{
	void *map;

	if (file->size < sizeof(Elf64_Ehdr))
		return refuse(file, -ENOEXEC, "is not a program");
	map = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return no_memory(file);
	file->bytes = map;
	return 0;
}

/* ---- What kind of file it is ---- */

static int check_header(struct file *file)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file->bytes;

	if (memcmp(header->e_ident, ELFMAG, SELFMAG))
		return refuse(file, -ENOEXEC, "is not a program, or a script");
	if (header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != THIS_MACHINE)
		return refuse(file, -ENOEXEC, "is for another machine");
	if (header->e_type == ET_EXEC)
		return refuse(file, -ENOEXEC,
			      "is bound to one address: compile it with "
			      "-fPIE and link it with -pie");
	if (header->e_type != ET_DYN)
		return refuse(file, -ENOEXEC, "is not linked");
	file->header_count = header->e_phnum;
	file->headers = at_offset(file, header->e_phoff,
				  header->e_phnum * sizeof(Elf64_Phdr));
	if (!file->headers || header->e_phentsize != sizeof(Elf64_Phdr) ||
	    header->e_phoff % _Alignof(Elf64_Phdr))
		return damaged(file, "program headers");
	return 0;
}

static const Elf64_Phdr *find_header(const struct file *file, uint32_t type)
{
	for (size_t i = 0; i < file->header_count; i++) {
		if (file->headers[i].p_type == type)
			return &file->headers[i];
	}
	return NULL;
}

static int find_dynamic(struct file *file)
{
	const Elf64_Phdr *header = find_header(file, PT_DYNAMIC);
	size_t most;

	if (!header)
		return refuse(file, -ENOEXEC,
			      "is linked statically: link it with -ltofu, "
			      "dynamically");
	most = header->p_filesz / sizeof(Elf64_Dyn);
	file->dynamic = at_offset(file, header->p_offset, header->p_filesz);
	if (!file->dynamic || header->p_offset % _Alignof(Elf64_Dyn))
		return damaged(file, "dynamic section");
	while (file->dynamic_count < most &&
	       file->dynamic[file->dynamic_count].d_tag != DT_NULL)
		file->dynamic_count++;
	file->strings_size = tag_value(file, DT_STRSZ);
	/* Text need not be aligned, so not by at_address() alone. */
	for (size_t i = 0; i < file->header_count; i++) {
		const Elf64_Phdr *load = &file->headers[i];
		uint64_t into = tag_value(file, DT_STRTAB) - load->p_vaddr;
		uint64_t offset = load->p_offset + into;

		if (load->p_type != PT_LOAD || into >= load->p_filesz)
			continue;
		if (offset <= file->size &&
		    file->strings_size <= file->size - offset)
			file->strings = (const char *)file->bytes + offset;
	}
	if (!file->strings)
		return damaged(file, "names");
	return 0;
}

/* ---- Shared objects that it needs ---- */

static bool is_libtofu(const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	return !strncmp(name, "libtofu.so", 10) ||
	       !strncmp(name, "libtofucom.so", 13);
}

/* expand_origin - an entry of a search path, with @len characters; or NULL */
static char *expand_origin(const char *origin, const char *entry, size_t len,
			   const char *name)
{
	size_t skip = 0;
	char *path;

	if (len >= 7 && !memcmp(entry, "$ORIGIN", 7))
		skip = 7;
	else if (len >= 9 && !memcmp(entry, "${ORIGIN}", 9))
		skip = 9;
	if (asprintf(&path, "%s%.*s/%s", skip ? origin : "", (int)(len - skip),
		     entry + skip, name) < 0)
		return NULL;
	return path;
}

/*
 * The copy has no folder, and other than by the program's own search path
 * a library is found as ever.
 */
static char *find_needed(const struct file *file, const char *name)
{
	int64_t tag = find_tag(file, DT_RUNPATH) ? DT_RUNPATH : DT_RPATH;
	const char *search = find_tag(file, tag) ?
				     name_at(file, tag_value(file, tag)) :
				     NULL;
	char origin[PATH_MAX];
	char *slash;

	if (!search || strchr(name, '/') || !realpath(file->path, origin))
		return strdup(name);
	slash = strrchr(origin, '/');
	*slash = 0;
	for (size_t len; *search; search += len + (search[len] == ':')) {
		char *path;

		len = strcspn(search, ":");
		if (!len)
			continue;
		path = expand_origin(origin, search, len, name);
		if (!path || !access(path, R_OK))
			return path;
		free(path);
	}
	return strdup(name);
}

static int make_weak(const struct file *file, uint64_t at, size_t count)
{
	while (count--) {
		Elf64_Vernaux *aux = at_address(file, at, sizeof(*aux));

		if (!aux)
			return -1;
		aux->vna_flags |= VER_FLG_WEAK;
		at += aux->vna_next;
	}
	return 0;
}

/*
 * Of libtofu the name of a version remains. To be looked for in another library
 * harms nothing when it is weak, and symbols without a version match it.
 */
static int detach_versions(const struct file *file, uint64_t other)
{
	uint64_t at = tag_value(file, DT_VERNEED);
	uint64_t left = tag_value(file, DT_VERNEEDNUM);

	while (at && left--) {
		Elf64_Verneed *needed = at_address(file, at, sizeof(*needed));
		const char *name = needed ? name_at(file, needed->vn_file) :
					    NULL;
		uint64_t aux_at;

		if (!name)
			return damaged(file, "versions");
		aux_at = at + needed->vn_aux;
		if (is_libtofu(name)) {
			needed->vn_file = other;
			if (make_weak(file, aux_at, needed->vn_cnt))
				return damaged(file, "versions");
		}
		if (!needed->vn_next)
			break;
		at += needed->vn_next;
	}
	return 0;
}

/*
 * The entry of libtofu becomes one that says to look for symbols in the program
 * first, as for an executable. Otherwise a function of the program would be
 * replaced by one of the same name of this executable or of a library.
 */
static int detach_libtofu(struct file *file, struct sim_image *image)
{
	const char *name;
	bool found = false;
	uint64_t other = 0;

	image->needed = calloc(file->dynamic_count, sizeof(*image->needed));
	if (!image->needed)
		return no_memory(file);
	for (size_t i = 0; i < file->dynamic_count; i++) {
		Elf64_Dyn *entry = &file->dynamic[i];

		if (entry->d_tag != DT_NEEDED)
			continue;
		name = name_at(file, entry->d_un.d_val);
		if (!name)
			return damaged(file, "names");
		if (is_libtofu(name)) {
			entry->d_tag = found ? TAG_HIDDEN : DT_SYMBOLIC;
			found = true;
			continue;
		}
		other = entry->d_un.d_val;
		image->needed[image->needed_count] = find_needed(file, name);
		if (!image->needed[image->needed_count++])
			return no_memory(file);
	}
	if (!found)
		return refuse(file, -ENOEXEC,
			      "does not need libtofu.so: it does not use the "
			      "library, or has it in itself. Link it with "
			      "-ltofu, not with libtofu.a");
	if (!other)
		return refuse(file, -ENOEXEC, "does not need a C library");
	return detach_versions(file, other);
}

/* ---- What is to be known ---- */

static void hide_tag(const struct file *file, int64_t tag)
{
	Elf64_Dyn *entry = find_tag(file, tag);

	if (entry)
		entry->d_tag = TAG_HIDDEN;
}

static void take_functions(const struct file *file, struct sim_image *image)
{
	static const int64_t hidden[] = {
		DT_INIT, DT_FINI, DT_INIT_ARRAY, DT_INIT_ARRAYSZ,
		DT_FINI_ARRAY, DT_FINI_ARRAYSZ, DT_PREINIT_ARRAY,
		DT_PREINIT_ARRAYSZ
	};
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file->bytes;
	Elf64_Dyn *flags = find_tag(file, DT_FLAGS_1);

	if ((flags && flags->d_un.d_val & DF_1_PIE) ||
	    find_header(file, PT_INTERP))
		image->entry = header->e_entry;
	if (flags)
		flags->d_un.d_val &= ~(uint64_t)(DF_1_PIE | DF_1_NOOPEN);
	image->init = tag_value(file, DT_INIT);
	image->fini = tag_value(file, DT_FINI);
	image->preinit = tag_range(file, DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ);
	image->inits = tag_range(file, DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
	image->finis = tag_range(file, DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		hide_tag(file, hidden[i]);
}

/* The dynamic linker makes whole pages read-only, and no part of one. */
static uint64_t relro_end(const struct file *file, uint64_t start, uint64_t end)
{
	const Elf64_Phdr *relro = find_header(file, PT_GNU_RELRO);
	uint64_t page = sysconf(_SC_PAGESIZE);
	uint64_t relro_ends;

	if (!relro || relro->p_vaddr < start || relro->p_vaddr >= end)
		return start;
	relro_ends = (relro->p_vaddr + relro->p_memsz) & ~(page - 1);
	if (relro_ends > end)
		return end;
	return relro_ends > start ? relro_ends : start;
}

static int take_writable(const struct file *file, struct sim_image *image)
{
	image->writable = calloc(file->header_count, sizeof(*image->writable));
	if (!image->writable)
		return no_memory(file);
	for (size_t i = 0; i < file->header_count; i++) {
		const Elf64_Phdr *header = &file->headers[i];
		uint64_t end = header->p_vaddr + header->p_memsz;
		uint64_t start;

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_W))
			continue;
		if (end < header->p_vaddr)
			return damaged(file, "segments");
		start = relro_end(file, header->p_vaddr, end);
		if (start == end)
			continue;
		image->writable[image->writables++] = (struct sim_range){
			.at = start,
			.len = end - start,
		};
	}
	return 0;
}

static int take_tls(const struct file *file, struct sim_image *image)
{
	const Elf64_Phdr *header = find_header(file, PT_TLS);

	if (!header)
		return 0;
	if (header->p_filesz > header->p_memsz)
		return damaged(file, "thread-local data");
	image->tls.at = header->p_vaddr;
	image->tls.len = header->p_filesz;
	image->tls_size = header->p_memsz;
	image->tls_align = header->p_align;
	return 0;
}

static int take_copy(const struct file *file, struct sim_image *image,
		     const Elf64_Rela *relocation)
{
	uint64_t index = ELF64_R_SYM(relocation->r_info);
	const Elf64_Sym *symbol =
		at_address(file,
			   tag_value(file, DT_SYMTAB) + index * sizeof(*symbol),
			   sizeof(*symbol));
	const char *name = symbol ? name_at(file, symbol->st_name) : NULL;
	struct sim_copy *copy = &image->copies[image->copy_count];

	if (!name)
		return damaged(file, "symbols");
	copy->range.at = relocation->r_offset;
	copy->range.len = symbol->st_size;
	copy->name = strdup(name);
	if (!copy->name)
		return no_memory(file);
	image->copy_count++;
	return 0;
}

static int take_copies(const struct file *file, struct sim_image *image)
{
	struct sim_range table = tag_range(file, DT_RELA, DT_RELASZ);
	const Elf64_Rela *relocations = at_address(file, table.at, table.len);
	size_t count = 0;
	int err = 0;

	if (!table.len)
		return 0;
	if (!relocations)
		return damaged(file, "relocations");
	table.len /= sizeof(*relocations);
	for (size_t i = 0; i < table.len; i++)
		count += ELF64_R_TYPE(relocations[i].r_info) == THIS_COPY;
	image->copies = calloc(count + 1, sizeof(*image->copies));
	if (!image->copies)
		return no_memory(file);
	for (size_t i = 0; i < table.len && !err; i++) {
		if (ELF64_R_TYPE(relocations[i].r_info) == THIS_COPY)
			err = take_copy(file, image, &relocations[i]);
	}
	return err;
}

/* A main() that a shared object does not export is in a table for debuggers. */
static void take_main(const struct file *file, struct sim_image *image)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file->bytes;
	const Elf64_Shdr *sections =
		at_offset(file, header->e_shoff,
			  header->e_shnum * sizeof(*sections));

	if (!sections || header->e_shentsize != sizeof(*sections))
		return;
	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *table = &sections[i];
		const Elf64_Shdr *names = &sections[table->sh_link];
		const Elf64_Sym *symbols;

		if (table->sh_type != SHT_SYMTAB ||
		    table->sh_link >= header->e_shnum ||
		    names->sh_offset > file->size ||
		    names->sh_size > file->size - names->sh_offset)
			continue;
		symbols = at_offset(file, table->sh_offset, table->sh_size);
		for (size_t j = 0;
		     symbols && j < table->sh_size / sizeof(*symbols); j++) {
			if (ELF64_ST_TYPE(symbols[j].st_info) == STT_FUNC &&
			    names->sh_size >= 5 &&
			    symbols[j].st_name <= names->sh_size - 5 &&
			    !memcmp(file->bytes + names->sh_offset +
					    symbols[j].st_name,
				    "main", 5))
				image->main = symbols[j].st_value;
		}
	}
}

static int read_and_change(struct file *file, struct sim_image *image)
{
	int err = check_header(file);

	if (!err)
		err = find_dynamic(file);
	if (!err)
		err = take_copies(file, image);
	if (!err)
		err = take_writable(file, image);
	if (!err)
		err = take_tls(file, image);
	if (!err)
		err = detach_libtofu(file, image);
	if (err)
		return err;
	take_functions(file, image);
	take_main(file, image);
	return 0;
}

int sim_image_open(const char *path, struct sim_image *image, char **why)
{
	struct file file = { .path = path, .why = why };
	int err;

	*why = NULL;
	*image = (struct sim_image){ .fd = -1 };
	err = copy_to_memory(&file, &image->fd);
	if (!err)
		err = map_copy(&file, image->fd);
	if (!err) {
		err = read_and_change(&file, image);
		munmap(file.bytes, file.size);
	}
	if (err)
		sim_image_close(image);
	return err;
}

void sim_image_close(struct sim_image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	for (size_t i = 0; i < image->copy_count; i++)
		free(image->copies[i].name);
	for (size_t i = 0; i < image->needed_count; i++)
		free(image->needed[i]);
	free(image->copies);
	free(image->needed);
	free(image->writable);
	*image = (struct sim_image){ .fd = -1 };
}

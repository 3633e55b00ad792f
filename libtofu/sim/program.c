// SPDX-License-Identifier: MIT

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sim/program.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <getopt.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/data.h"
#include "sim/image.h"
#include "sim/libc-node.h"
#include "sim/tls.h"

typedef int main_fn(int argc, char **argv, char **envp);
typedef void init_fn(int argc, char **argv, char **envp);
typedef void fini_fn(void);

/* By the dynamic linker's interface; declared by no header */
struct tls_index {
	size_t module;
	size_t offset;
};
void *__tls_get_addr(struct tls_index *index);

/**
 * struct sim_program - a program that is loaded
 * @base:  what the file's addresses are relative to
 * @main:  of the program
 * @start: runs the constructors in place of the C library, if the program was
 *         linked with a C library before 2.34, else NULL
 */
struct sim_program {
	struct sim_image image;
	struct sim_data *data;
	void *handle;
	uintptr_t base;
	main_fn *main;
	init_fn *start;
};

/* The functions of the C library serve one. */
static struct sim_program *loaded;

static int __attribute__((format(printf, 3, 4)))
refuse(char **why, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(why, format, args) < 0)
		*why = NULL;
	va_end(args);
	return err;
}

static void *address(const struct sim_program *program, uint64_t at)
{
	return (void *)(program->base + at);
}

/* ---- Load ---- */

/*
 * Libraries come before the program, for everybody. So the program's copies of
 * their variables are taken of theirs, and they find their own.
 */
static void load_libraries(const struct sim_image *image)
{
	void (*init)(void *stream_init);
	char stream_init[8];

	for (size_t i = 0; i < image->needed_count; i++)
		dlopen(image->needed[i], RTLD_NOW | RTLD_GLOBAL);
	/* std::cout and others, before a program's copy of them is made */
	*(void **)&init = dlsym(RTLD_DEFAULT, "_ZNSt8ios_base4InitC1Ev");
	if (init)
		init(stream_init);
}

static int load_image(struct sim_program *program, const char *path, char **why)
{
	char name[32];
	struct link_map *map;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", program->image.fd);
	program->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!program->handle)
		return refuse(why, -ENOEXEC, "%s: %s", path, dlerror());
	if (dlinfo(program->handle, RTLD_DI_LINKMAP, &map))
		return refuse(why, -ENOEXEC, "%s: %s", path, dlerror());
	program->base = map->l_addr;
	return 0;
}

/* struct place - where the image is; the first is as the caller knows it */
struct place {
	uintptr_t base;
	uintptr_t start;
	uintptr_t end;
	size_t tls_module;
};

static int find_place(struct dl_phdr_info *info,
		      size_t __attribute__((unused)) size, void *to)
{
	struct place *place = to;

	if (info->dlpi_addr != place->base)
		return 0;
	place->start = UINTPTR_MAX;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t at = place->base + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		if (place->start > at)
			place->start = at;
		if (place->end < at + header->p_memsz)
			place->end = at + header->p_memsz;
	}
	place->tls_module = info->dlpi_tls_modid;
	return 1;
}

static struct place place_of(const struct sim_program *program)
{
	struct place place = { .base = program->base };

	dl_iterate_phdr(find_place, &place);
	return place;
}

/* ---- The program's copies of libraries' variables ---- */

static bool is_writable(const struct sim_image *image, struct sim_range range)
{
	for (size_t i = 0; i < image->writables; i++) {
		const struct sim_range *part = &image->writable[i];

		if (range.at - part->at < part->len)
			return true;
	}
	return false;
}

/* The copy of a constant is read-only by now. */
static int copy_variable(const struct sim_program *program,
			 struct sim_range range, const void *original)
{
	uintptr_t to = program->base + range.at;
	uintptr_t page = to & ~(sysconf(_SC_PAGESIZE) - 1);
	bool writable = is_writable(&program->image, range);

	if (!writable && mprotect((void *)page, to + range.len - page,
				  PROT_READ | PROT_WRITE))
		return -errno;
	memcpy((void *)to, original, range.len);
	if (!writable && mprotect((void *)page, to + range.len - page,
				  PROT_READ))
		return -errno;
	return 0;
}

/*
 * The dynamic linker looks for the original in the program itself first, since
 * the program is no executable to it.
 */
static int copy_variables(const struct sim_program *program)
{
	int err = 0;

	for (size_t i = 0; i < program->image.copy_count && !err; i++) {
		const struct sim_copy *copy = &program->image.copies[i];
		void *original = dlsym(RTLD_DEFAULT, copy->name);

		if (original)
			err = copy_variable(program, copy->range, original);
	}
	return err;
}

static void *find_copy(const struct sim_program *program, const char *name)
{
	for (size_t i = 0; i < program->image.copy_count; i++) {
		const struct sim_copy *copy = &program->image.copies[i];

		if (!strcmp(copy->name, name))
			return address(program, copy->range.at);
	}
	return NULL;
}

/* ---- A node's own data ---- */

static int add_thread_data(struct sim_program *program, char **why)
{
	const struct sim_image *image = &program->image;
	struct tls_index index = { .module = place_of(program).tls_module };
	char *at;

	if (!image->tls_size)
		return 0;
	if (image->entry) {
		at = sim_tls_place(image->tls_size, image->tls_align);
		if (!at)
			return refuse(why, -ENOEXEC,
				      "%zu bytes of thread-local data are too "
				      "many: no more than %d can be there",
				      (size_t)image->tls_size, SIM_TLS_RESERVE);
		memcpy(at, address(program, image->tls.at), image->tls.len);
		memset(at + image->tls.len, 0,
		       image->tls_size - image->tls.len);
	} else {
		at = __tls_get_addr(&index);
	}
	return sim_data_add(program->data, at, image->tls_size, 0);
}

/* Exceptions that are being handled: two words of the thread's */
static int add_exceptions(struct sim_program *program)
{
	void *(*globals)(void);

	*(void **)&globals = dlsym(RTLD_DEFAULT, "__cxa_get_globals");
	if (!globals)
		return 0;
	return sim_data_add(program->data, globals(), 2 * sizeof(void *), 0);
}

/* They begin as in a new process, and the caller's stay as they are. */
static int add_libc_data(struct sim_program *program)
{
	char *old_optarg = optarg;
	int old_optind = optind;
	int old_opterr = opterr;
	int old_optopt = optopt;
	int err;

	optarg = NULL;
	optind = opterr = 1;
	optopt = '?';
	errno = 0;
	err = sim_program_add(program, &errno, sizeof(errno)) |
	      sim_program_add(program, &optarg, sizeof(optarg)) |
	      sim_program_add(program, &optind, sizeof(optind)) |
	      sim_program_add(program, &opterr, sizeof(opterr)) |
	      sim_program_add(program, &optopt, sizeof(optopt));
	optarg = old_optarg;
	optind = old_optind;
	opterr = old_opterr;
	optopt = old_optopt;
	return err ? -ENOMEM : 0;
}

static int add_data(struct sim_program *program, char **why)
{
	const struct sim_image *image = &program->image;
	int err = 0;

	for (size_t i = 0; i < image->writables && !err; i++)
		err = sim_data_add(program->data,
				   address(program, image->writable[i].at),
				   image->writable[i].len, 1);
	if (!err)
		err = add_libc_data(program);
	if (!err)
		err = add_exceptions(program);
	if (!err)
		err = add_thread_data(program, why);
	return err;
}

/* ---- main() ---- */

/* What the first instructions of an executable hand to the C library */
static struct {
	jmp_buf back;
	main_fn *main;
	init_fn *init;
} start;

static void started(main_fn *main, init_fn *init)
{
	start.main = main;
	start.init = init;
	_longjmp(start.back, 1);
}

/* On a stack with no arguments and no environment, as in a new process */
static void __attribute__((noinline, noreturn, no_sanitize("address")))
enter(uintptr_t entry)
{
	uintptr_t stack[64] __attribute__((aligned(16))) = { 0 };

#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n\txor %%edx, %%edx\n\t"
			 "xor %%ebp, %%ebp\n\tjmp *%1"
			 : : "a"(stack), "c"(entry) : "rdx", "memory");
#else
	__asm__ volatile("mov x16, %1\n\tmov sp, %0\n\tmov x0, #0\n\t"
			 "mov x29, #0\n\tmov x30, #0\n\tbr x16"
			 : : "r"(stack), "r"(entry) : "x0", "x16", "memory");
#endif
	__builtin_unreachable();
}

static int find_main(struct sim_program *program, const char *path, char **why)
{
	const struct place place = place_of(program);
	const struct sim_image *image = &program->image;
	void *main = NULL;

	if (image->entry) {
		sim_owner.started = started;
		if (!_setjmp(start.back))
			enter(program->base + image->entry);
		sim_owner.started = NULL;
		program->main = start.main;
		program->start = start.init;
		return 0;
	}
	if (image->main)
		main = address(program, image->main);
	else
		main = dlsym(program->handle, "main");
	if (!main || (uintptr_t)main < place.start ||
	    (uintptr_t)main >= place.end)
		return refuse(why, -ENOEXEC, "%s: has no main()", path);
	*(void **)&program->main = main;
	return 0;
}

/* ---- Constructors and destructors ---- */

static void run_inits(const struct sim_program *program,
		      struct sim_range functions, int argc, char **argv)
{
	init_fn **inits = address(program, functions.at);

	for (size_t i = 0; i < functions.len / sizeof(*inits); i++)
		inits[i](argc, argv, environ);
}

static void construct(const struct sim_program *program, int argc, char **argv)
{
	const struct sim_image *image = &program->image;

	run_inits(program, image->preinit, argc, argv);
	if (program->start) {
		program->start(argc, argv, environ);
		return;
	}
	if (image->init)
		((init_fn *)address(program, image->init))(argc, argv, environ);
	run_inits(program, image->inits, argc, argv);
}

static void finish(void)
{
	const struct sim_image *image = &loaded->image;
	fini_fn **finis = address(loaded, image->finis.at);

	for (size_t i = image->finis.len / sizeof(*finis); i-- > 0;)
		finis[i]();
	if (image->fini)
		((fini_fn *)address(loaded, image->fini))();
}

/* ---- All of it ---- */

static int own_libc(struct sim_program *program, uint32_t nodes)
{
	const struct place place = place_of(program);
	const struct sim_owner owner = {
		.start = place.start,
		.size = place.end - place.start,
		.finish = finish,
		.optind = find_copy(program, "optind"),
		.opterr = find_copy(program, "opterr"),
		.optopt = find_copy(program, "optopt"),
		.optarg = find_copy(program, "optarg"),
	};

	return sim_libc_open(nodes, &owner);
}

int sim_program_load(const char *path, uint32_t nodes,
		     struct sim_program **to, char **why)
{
	struct sim_program *program;
	int err;

	*why = NULL;
	if (loaded)
		return refuse(why, -EBUSY, "there is a program already");
	program = calloc(1, sizeof(*program));
	if (!program)
		return -ENOMEM;
	loaded = program;
	program->image.fd = -1;
	err = sim_image_open(path, &program->image, why);
	if (err)
		goto err_unload;
	err = -ENOMEM;
	program->data = sim_data_create(nodes);
	if (!program->data)
		goto err_unload;
	load_libraries(&program->image);
	err = load_image(program, path, why);
	if (err)
		goto err_unload;
	err = copy_variables(program);
	if (err)
		goto err_unload;
	err = add_data(program, why);
	if (err)
		goto err_unload;
	err = own_libc(program, nodes);
	if (err)
		goto err_unload;
	err = find_main(program, path, why);
	if (err)
		goto err_unload;
	*to = program;
	return 0;
err_unload:
	sim_program_unload(program);
	return err;
}

void sim_program_unload(struct sim_program *program)
{
	if (!program)
		return;
	sim_libc_close();
	sim_data_destroy(program->data);
	if (program->handle)
		dlclose(program->handle);
	sim_image_close(&program->image);
	free(program);
	loaded = NULL;
}

int sim_program_add(struct sim_program *program, void *data, size_t len)
{
	return sim_data_add(program->data, data, len, 0);
}

size_t sim_program_node_bytes(const struct sim_program *program)
{
	return sim_data_node_bytes(program->data);
}

int sim_program_switch(struct sim_program *program, int64_t node)
{
	return sim_data_switch(program->data, node);
}

void *sim_program_at(struct sim_program *program, uint32_t node, uintptr_t addr,
		     size_t *len)
{
	return sim_data_at(program->data, node, addr, len);
}

/* ---- Run ---- */

/* args_size - of the pointers, with NULL, and of the texts behind them */
static size_t args_size(int argc, char *const *argv)
{
	size_t size = (argc + 1) * sizeof(*argv);

	for (int i = 0; i < argc; i++)
		size += strlen(argv[i]) + 1;
	return size;
}

static void copy_args(char **to, int argc, char *const *argv)
{
	char *text = (char *)(to + argc + 1);

	for (int i = 0; i < argc; i++) {
		to[i] = text;
		text = stpcpy(text, argv[i]) + 1;
	}
	to[argc] = NULL;
}

int sim_program_run(struct sim_program *program, int argc, char *const *argv)
{
	struct sim_node *node = sim_running_node();
	char **args = __builtin_alloca(args_size(argc, argv));
	jmp_buf end;

	copy_args(args, argc, argv);
	node->end = &end;
	if (!_setjmp(end)) {
		construct(program, argc, args);
		sim_node_exit(program->main(argc, args, environ));
	}
	node = sim_running_node();
	node->end = NULL;
	return node->status;
}

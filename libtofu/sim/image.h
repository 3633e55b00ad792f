/* SPDX-License-Identifier: MIT */
/*
 * The file of a program, changed so that the dynamic linker loads it and leaves
 * constructors and destructors alone. See elf(5).
 */
#ifndef SIM_IMAGE_H
#define SIM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* struct sim_range - addresses as they stand in the file */
struct sim_range {
	uint64_t at;
	uint64_t len;
};

/**
 * struct sim_copy - a variable of a library, of which the program has a copy
 * @name: belongs to the image
 */
struct sim_copy {
	char *name;
	struct sim_range range;
};

/**
 * struct sim_image - what is to be known of a program
 * @fd:        the changed copy, in memory
 * @entry:     where an executable starts; 0: it is a shared object
 * @main:      of main(), if the file's own symbols name it, else 0
 * @init:      a function, or 0; so is @fini
 * @preinit:   pointers to functions; so are @inits and @finis
 * @writable:  segments, without what is read-only after relocation
 * @tls:       first contents of thread-local data; @tls_size is all of it
 * @needed:    paths of shared objects without libtofu; one without a slash is
 *             looked for where the system's are
 */
struct sim_image {
	int fd;
	uint64_t entry;
	uint64_t main;
	uint64_t init;
	uint64_t fini;
	struct sim_range preinit;
	struct sim_range inits;
	struct sim_range finis;
	struct sim_range *writable;
	size_t writables;
	struct sim_range tls;
	uint64_t tls_size;
	uint64_t tls_align;
	struct sim_copy *copies;
	size_t copy_count;
	char **needed;
	size_t needed_count;
};

/**
 * sim_image_open - read a program and make the changed copy
 *
 * Returns: 0, a negative errno with a text, which the caller frees.
 */
int sim_image_open(const char *path, struct sim_image *image, char **why);

void sim_image_close(struct sim_image *image);

#endif /* SIM_IMAGE_H */

// SPDX-License-Identifier: MIT
/* Which MPI tofu-run takes programs to need, odd files among them. */
#define _GNU_SOURCE
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#include "run/run.h"

#define ADDRESS 0x400000 /* where the file is in the program's memory */

/* A program with nothing but what tells the dynamic linker what it needs */
struct file {
	Elf64_Ehdr head;
	Elf64_Phdr segment[2];
	Elf64_Dyn dynamic[5];
	char strings[40];
};

FIXTURE(program)
{
	char path[32];
	struct file file;
};

static void file_fill(struct file *file)
{
	static const char strings[] = "\0libm.so.6\0libmpi.so.40";

	memcpy(file->head.e_ident, ELFMAG, SELFMAG);
	file->head.e_ident[EI_CLASS] = ELFCLASS64;
	file->head.e_ident[EI_DATA] = ELFDATA2LSB;
	file->head.e_phoff = offsetof(struct file, segment);
	file->head.e_phentsize = sizeof(file->segment[0]);
	file->head.e_phnum = 2;
	file->segment[0].p_type = PT_LOAD;
	file->segment[0].p_vaddr = ADDRESS;
	file->segment[0].p_filesz = sizeof(*file);
	file->segment[1].p_type = PT_DYNAMIC;
	file->segment[1].p_offset = offsetof(struct file, dynamic);
	file->segment[1].p_filesz = sizeof(file->dynamic);
	file->dynamic[0] = (Elf64_Dyn){ DT_NEEDED, { 1 } };
	file->dynamic[1] = (Elf64_Dyn){ DT_NEEDED, { 11 } };
	file->dynamic[2] = (Elf64_Dyn){ DT_STRTAB,
					{ ADDRESS + offsetof(struct file, strings) } };
	file->dynamic[3] = (Elf64_Dyn){ DT_STRSZ, { sizeof(strings) } };
	memcpy(file->strings, strings, sizeof(strings));
}

FIXTURE_SETUP(program)
{
	int fd;

	strcpy(self->path, "/tmp/tools-mpi-XXXXXX");
	fd = mkstemp(self->path);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(fchmod(fd, 0700), 0);
	close(fd);
	file_fill(&self->file);
}

FIXTURE_TEARDOWN(program)
{
	unlink(self->path);
}

/* Which MPI the first @size bytes need, as a program */
static enum tofu_mpi mpi_of(const char *path, const struct file *file, size_t size)
{
	FILE *out = fopen(path, "w");

	if (!out || fwrite(file, 1, size, out) != size)
		abort();
	fclose(out);
	return tofu_program_mpi(path);
}

#define MPI() mpi_of(self->path, &self->file, sizeof(self->file))

/* ---- */

TEST_F(program, libraries_are_known_by_their_names)
{
	static const struct {
		const char *name;
		enum tofu_mpi mpi;
	} library[] = {
		{ "libmpi.so.40", TOFU_MPI_OTHER },
		{ "libmpich.so.12", TOFU_MPI_MPICH },
		{ "libmpi_mpifh.so", TOFU_MPI_OTHER },
		{ "libmpifort.so.12", TOFU_MPI_MPICH },
		{ "libfjmpi-mpich.so", TOFU_MPI_OTHER },
		{ "libmpi", TOFU_MPI_NONE },
		{ "libmpir.so", TOFU_MPI_NONE },
		{ "xlibmpi.so", TOFU_MPI_NONE },
		{ "", TOFU_MPI_NONE },
	};

	for (size_t i = 0; i < sizeof(library) / sizeof(*library); i++) {
		strcpy(self->file.strings + 11, library[i].name);
		EXPECT_EQ(MPI(), library[i].mpi)
		TH_LOG("%s", library[i].name);
	}
}

TEST_F(program, it_is_found_as_it_is_started)
{
	char *name = strrchr(self->path, '/') + 1;

	ASSERT_TRUE(MPI());
	setenv("PATH", "/nowhere:/tmp", 1);
	EXPECT_TRUE(tofu_program_mpi(name));
	setenv("PATH", "/nowhere", 1);
	EXPECT_FALSE(tofu_program_mpi(name));
	ASSERT_EQ(chdir("/tmp"), 0);
	setenv("PATH", "/nowhere:", 1);
	EXPECT_TRUE(tofu_program_mpi(name));
	ASSERT_EQ(chmod(self->path, 0600), 0);
	EXPECT_FALSE(tofu_program_mpi(name));
	EXPECT_FALSE(tofu_program_mpi("/tmp"));
}

/* One thing of an MPI program is not as it should be. */
#define EXPECT_NOT_MPI(place, wrong)           \
	do {                                   \
		struct file good = self->file; \
		self->file.place = (wrong);    \
		EXPECT_FALSE(MPI())         \
		TH_LOG(#place " = " #wrong);   \
		self->file = good;             \
	} while (0)

TEST_F(program, what_is_odd_is_no_mpi_program)
{
	ASSERT_TRUE(MPI());
	EXPECT_NOT_MPI(head.e_ident[0], '#');
	EXPECT_NOT_MPI(head.e_ident[EI_CLASS], ELFCLASS32);
	EXPECT_NOT_MPI(head.e_ident[EI_DATA], ELFDATA2MSB);
	EXPECT_NOT_MPI(head.e_phentsize, sizeof(Elf32_Phdr));
	EXPECT_NOT_MPI(head.e_phnum, 0);
	EXPECT_NOT_MPI(head.e_phnum, 0xffff);
	EXPECT_NOT_MPI(head.e_phoff, UINT64_MAX - 8);
	EXPECT_NOT_MPI(head.e_phoff, INT64_MAX);
	EXPECT_NOT_MPI(segment[0].p_filesz, 16);
	EXPECT_NOT_MPI(segment[0].p_offset, UINT64_MAX);
	EXPECT_NOT_MPI(segment[0].p_vaddr, UINT64_MAX);
	EXPECT_NOT_MPI(segment[1].p_offset, UINT64_MAX - 8);
	EXPECT_NOT_MPI(segment[1].p_filesz, 8);
	EXPECT_NOT_MPI(segment[1].p_type, PT_NULL);
	EXPECT_NOT_MPI(dynamic[0].d_tag, DT_NULL);
	EXPECT_NOT_MPI(dynamic[1].d_un.d_val, UINT64_MAX);
	EXPECT_NOT_MPI(dynamic[2].d_tag, DT_SYMTAB);
	EXPECT_NOT_MPI(dynamic[2].d_un.d_ptr, UINT64_MAX);
	EXPECT_NOT_MPI(dynamic[3].d_un.d_val, 11);
}

/* Nothing to expect, but that it ends, and what the sanitizers say. */
TEST_F(program, any_byte_may_be_anything)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	unsigned char *byte = (unsigned char *)&self->file;

	for (size_t i = 0; i < sizeof(self->file); i++) {
		unsigned char good = byte[i];

		for (size_t k = 0; k < sizeof(values); k++) {
			byte[i] = values[k];
			MPI();
		}
		byte[i] = good;
		mpi_of(self->path, &self->file, i);
	}
	EXPECT_TRUE(MPI());
}

/* libfjmpi comes first, and does not say which MPI it is over. */
TEST_F(program, one_of_two_libraries_says_which)
{
	strcpy(self->file.strings + 1, "libfjmpi.so");
	strcpy(self->file.strings + 20, "libmpich.so.12");
	self->file.dynamic[1].d_un.d_val = 20;
	EXPECT_EQ(MPI(), TOFU_MPI_MPICH);
}

TEST_HARNESS_MAIN

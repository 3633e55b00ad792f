// SPDX-License-Identifier: MIT
/*
 * Unbinds the driver from its device while a program has queues, memory and
 * gates: what the program frees then is freed, and nothing new can be created.
 * The guest's controller is gone for good.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <utofu.h>

#define DRIVER "/sys/bus/pci/drivers/tofu"

static unsigned int points;
static int failed;

static void point(int good, const char *name)
{
	printf("%sok %u - %s\n", good ? "" : "not ", ++points, name);
	fflush(stdout);
	failed |= !good;
}

/* Finds the entry of the driver's folder that is a PCI function. */
static int unbind(void)
{
	DIR *folder = opendir(DRIVER);
	const struct dirent *entry;
	FILE *file;
	int err = -1;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			break;
	file = folder && entry ? fopen(DRIVER "/unbind", "w") : NULL;
	if (file) {
		fputs(entry->d_name, file);
		err = fclose(file);
	}
	if (folder)
		closedir(folder);
	return err;
}

int main(void)
{
	static char memory[4096];
	utofu_vcq_hdl_t vcq, other;
	utofu_vbg_id_t gate[3];
	utofu_stadd_t stadd;

	alarm(60);
	puts("TAP version 13\n1..5");
	point(!utofu_create_vcq(0, 0, &vcq) &&
		      !utofu_reg_mem(vcq, memory, sizeof(memory), 0, &stadd) &&
		      !utofu_alloc_vbg(0, 3, 0, gate),
	      "a queue, memory and gates");
	point(!unbind(), "the driver is taken away");
	point(utofu_create_vcq(0, UTOFU_VCQ_FLAG_EXCLUSIVE, &other) ==
		      UTOFU_ERR_FATAL,
	      "another queue: FATAL");
	point(!utofu_free_vbg(gate, 3), "gates can be freed");
	point(!utofu_free_vcq(vcq), "so can the queue");
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

// SPDX-License-Identifier: MIT
/*
 * Unbinds the driver from its device while a program has queues, memory and
 * gates: whatever waits ends, what the program frees then is freed, and nothing
 * new can be created. The guest's controller is gone for good.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <utofu.h>

#define DRIVER "/sys/bus/pci/drivers/tofu"
#define REPORTS 3
#define NOTICES (UTOFU_ONESIDED_FLAG_TCQ_NOTICE | \
		 UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE)

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

static char memory[4096];
static utofu_vcq_hdl_t vcq;
static utofu_vcq_id_t self;
static utofu_stadd_t stadd;
static utofu_vbg_id_t gate[3];

static int put(void)
{
	return utofu_put(vcq, self, stadd, stadd + 64, 8, 0, NOTICES, NULL);
}

/* Puts whose reports and notices are there, and are not read. */
static bool puts_end(void)
{
	size_t reports = 0, notices = 0;

	for (int i = 0; i < REPORTS; i++)
		if (put())
			return false;
	while (reports < REPORTS || notices < REPORTS)
		if (utofu_query_num_unread_tcq(vcq, &reports) ||
		    utofu_query_num_unread_mrq(vcq, &notices))
			return false;
	return true;
}

/* Its source is not set, so it never ends. */
static bool barrier_begins(void)
{
	struct utofu_vbg_setting setting = {
		.vbg_id = gate[0],
		.src_lcl_vbg_id = gate[1],
		.src_rmt_vbg_id = UTOFU_VBG_ID_NULL,
		.dst_lcl_vbg_id = gate[1],
		.dst_rmt_vbg_id = UTOFU_VBG_ID_NULL,
	};

	return !utofu_set_vbg(&setting, 1) && !utofu_barrier(gate[0], 0) &&
	       utofu_poll_barrier(gate[0], 0) == UTOFU_ERR_NOT_COMPLETED;
}

/* ---- When the device is gone ---- */

static int poll_reports(void)
{
	void *cbdata;

	return utofu_poll_tcq(vcq, 0, &cbdata);
}

static int poll_notices(void)
{
	struct utofu_mrq_notice notice;

	return utofu_poll_mrq(vcq, 0, &notice);
}

static int count_reports(void)
{
	size_t count;
	int code = utofu_query_num_unread_tcq(vcq, &count);

	return !code && !count ? UTOFU_ERR_NOT_FOUND : code;
}

static int count_notices(void)
{
	size_t count;
	int code = utofu_query_num_unread_mrq(vcq, &count);

	return !code && !count ? UTOFU_ERR_NOT_FOUND : code;
}

static int poll_barrier(void)
{
	return utofu_poll_barrier(gate[0], 0);
}

/* Waits as a program does; Return: how often it found something. */
static int found_before_fatal(int (*call)(void))
{
	int found = 0, code;

	do {
		code = call();
		found += !code;
	} while (!code || code == UTOFU_ERR_NOT_FOUND ||
		 code == UTOFU_ERR_NOT_COMPLETED);
	return code == UTOFU_ERR_FATAL ? found : -1;
}

/* More commands than the queue has room for */
static bool posts_end(void)
{
	int code;

	do {
		code = put();
	} while (!code || code == UTOFU_ERR_BUSY);
	return code == UTOFU_ERR_FATAL;
}

int main(void)
{
	utofu_vcq_hdl_t other;

	alarm(60);
	puts("TAP version 13\n1..13");
	point(!utofu_create_vcq(0, 0, &vcq) && !utofu_query_vcq_id(vcq, &self) &&
		      !utofu_reg_mem(vcq, memory, sizeof(memory), 0, &stadd) &&
		      !utofu_alloc_vbg(0, 3, 0, gate),
	      "a queue, memory and gates");
	point(puts_end() && barrier_begins(), "they are in use");
	point(!unbind(), "the driver is taken away");
	point(found_before_fatal(poll_reports) == REPORTS,
	      "polls of the TCQ find what had come, and end");
	point(found_before_fatal(poll_notices) == REPORTS,
	      "so do those of the MRQ");
	point(!found_before_fatal(count_reports) &&
		      !found_before_fatal(count_notices),
	      "counting ends, too");
	point(!found_before_fatal(poll_barrier), "and a barrier");
	point(!utofu_barrier(gate[0], 0) && !found_before_fatal(poll_barrier),
	      "and another barrier");
	point(!put() && !found_before_fatal(poll_reports),
	      "and waiting for a new command");
	point(posts_end(), "and posting");
	point(utofu_create_vcq(0, UTOFU_VCQ_FLAG_EXCLUSIVE, &other) ==
		      UTOFU_ERR_FATAL,
	      "another queue: FATAL");
	point(!utofu_free_vbg(gate, 3), "gates can be freed");
	point(!utofu_free_vcq(vcq), "so can the queue");
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

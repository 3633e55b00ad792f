/* SPDX-License-Identifier: MIT */
#include "fi-remote.h"

#include <stdlib.h>
#include <string.h>

#define SHARED 1000
#define MRS_MAX 128
#define CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV | FI_SOURCE)
#define KINDS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ | FI_WRITE)

/* ---- A domain of a test's own ---- */

struct fi_info *own_info;
struct fid_domain *own_domain;
struct port port;
struct place own, places[RANKS_MAX];

static struct fid_mr *mrs[MRS_MAX];
static struct fid_cntr *counters[COUNTERS_MAX];
static int mr_count, counter_count;

int memory_close(void)
{
	RUN(regions_close());
	while (counter_count)
		TEST(!fi_close(&counters[--counter_count]->fid));
	if (own_domain)
		TEST(!fi_close(&own_domain->fid));
	own_domain = NULL;
	fi_freeinfo(own_info);
	own_info = NULL;
	return 0;
}

int counter_open(enum fi_wait_obj wait, struct fid_cntr **counter)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = wait };

	TEST(counter_count < COUNTERS_MAX);
	TEST(!fi_cntr_open(own_domain, &attr, counter, NULL));
	counters[counter_count++] = *counter;
	return 0;
}

int info_with(uint64_t caps, int mode, struct fi_info **got)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -FI_ENOMEM;
	hints->fabric_attr->prov_name = strdup("tofu");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = caps;
	hints->domain_attr->mr_mode = mode;
	ret = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, got);
	fi_freeinfo(hints);
	return ret;
}

bool machine_has_atomics(void)
{
	const char *const given = getenv("TOFU_ARMW");

	return !given || strcmp(given, "0");
}

int domain_open(int mode)
{
	RUN(memory_close());
	TEST(!info_with(machine_has_atomics() ? CAPS : CAPS & ~FI_ATOMIC, mode, &own_info));
	TEST(!fi_domain(fabric, own_info, &own_domain, NULL));
	return 0;
}

static void swap_domains(void)
{
	struct fid_domain *const other_domain = domain;
	struct fi_info *const other_info = info;

	domain = own_domain;
	info = own_info;
	own_domain = other_domain;
	own_info = other_info;
}

int own_port_open(struct port *opened, const struct options *options)
{
	int failed;

	swap_domains();
	failed = port_open(opened, options);
	swap_domains();
	return failed;
}

int memory_open(int mode, const struct options *options)
{
	RUN(domain_open(mode));
	return own_port_open(&port, options);
}

int all_close(void)
{
	RUN(port_close(&port));
	return memory_close();
}

/* ---- Memory for others ---- */

int share(struct port *by)
{
	struct done done[2 * RANKS_MAX] = { 0 };

	for (int i = 0; i < ranks; i++)
		TEST(!receive_flagged(by, i, &places[i], sizeof(own), SHARED, 0, FI_COMPLETION,
				      &done[i]));
	for (int i = 0; i < ranks; i++)
		TEST(!send_flagged(by, i, &own, sizeof(own), SHARED, FI_COMPLETION,
				   &done[ranks + i]));
	TEST(succeeded(done, 2 * ranks));
	return 0;
}

int together(void)
{
	return share(&port);
}

int region_is(struct fid_mr *mr, void *bytes)
{
	bool is_virtual = own_info->domain_attr->mr_mode & (FI_MR_VIRT_ADDR | FI_MR_BASIC);

	TEST(mr_count < MRS_MAX);
	mrs[mr_count++] = mr;
	own.at = is_virtual ? (uintptr_t)bytes : 0;
	own.key = fi_mr_key(mr);
	TEST(own.key != FI_KEY_NOTAVAIL);
	return 0;
}

int region_open(void *bytes, size_t count, uint64_t access)
{
	struct fid_mr *mr;

	TEST(!fi_mr_reg(own_domain, bytes, count, access, 0, 0, 0, &mr, NULL));
	return region_is(mr, bytes);
}

int regions_close(void)
{
	while (mr_count)
		TEST(!fi_close(&mrs[--mr_count]->fid));
	return 0;
}

int expose(void *bytes, size_t count, uint64_t access)
{
	RUN(region_open(bytes, count, access));
	return together();
}

ssize_t write_to(int to, const void *from, size_t bytes, uint64_t at, struct done *done)
{
	return RETRY(fi_write(port.ep, from, bytes, NULL, port.peer[to], places[to].at + at,
			      places[to].key, done));
}

ssize_t read_from(int from, void *to, size_t bytes, uint64_t at, struct done *done)
{
	return RETRY(fi_read(port.ep, to, bytes, NULL, port.peer[from], places[from].at + at,
			     places[from].key, done));
}

/* ---- How they end ---- */

int ended_as(struct done *done, uint64_t kind)
{
	TEST(succeeded(done, 1));
	if ((done->entry.flags & KINDS) != kind)
		fprintf(stderr, "# rank %d: flags %#llx\n", rank,
			(unsigned long long)done->entry.flags);
	TEST((done->entry.flags & KINDS) == kind);
	TEST(done->entry.op_context == done);
	renew(done);
	return 0;
}

int fails(ssize_t posted, struct done *done)
{
	TEST(!posted);
	TEST(ended(done, 1));
	if (done->error <= 0)
		fprintf(stderr, "# rank %d: no error\n", rank);
	TEST(done->times == 1 && done->error > 0);
	TEST(done->entry.op_context == done);
	renew(done);
	return 0;
}

unsigned int seed_of(int whose, int what)
{
	return 100u * (unsigned int)whose + (unsigned int)what;
}

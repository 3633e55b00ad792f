/* SPDX-License-Identifier: MIT */
/*
 * A device that goes: polls of the library below say so from some time on.
 */
#include "fjmpi-test.h"

#include <dlfcn.h>
#include <utofu.h>

#define POLLS 1000

static bool lost;

/* ---- Of the library below ---- */

int utofu_poll_mrq(utofu_vcq_hdl_t vcq, unsigned long int flags,
		   struct utofu_mrq_notice *notice)
{
	int (*next)(utofu_vcq_hdl_t, unsigned long int,
		    struct utofu_mrq_notice *);

	*(void **)&next = dlsym(RTLD_NEXT, "utofu_poll_mrq");
	return lost ? UTOFU_ERR_FATAL : next(vcq, flags, notice);
}

int utofu_poll_tcq(utofu_vcq_hdl_t vcq, unsigned long int flags, void **cbdata)
{
	int (*next)(utofu_vcq_hdl_t, unsigned long int, void **);

	*(void **)&next = dlsym(RTLD_NEXT, "utofu_poll_tcq");
	return lost ? UTOFU_ERR_FATAL : next(vcq, flags, cbdata);
}

/* ---- */

static int start(void)
{
	TEST(FJMPI_Rdma_init() == 0);
	TEST(nothing_left());
	return 0;
}

static int told(void)
{
	struct FJMPI_Rdma_cq cq = { .pid = 0, .tag = 0 };

	lost = true;
	TEST(wait_cq(FJMPI_RDMA_NIC0, &cq) == (int)FJMPI_RDMA_ERROR);
	TEST(cq.pid == -1 && cq.tag == -1);
	return 0;
}

static int told_once(void)
{
	struct FJMPI_Rdma_cq cq;

	for (int i = 0; i < POLLS; i++)
		TEST(FJMPI_Rdma_poll_cq(FJMPI_RDMA_NIC0, &cq) == 0);
	return 0;
}

/* It waits for reports, which no longer come. */
static int ends(void)
{
	TEST(FJMPI_Rdma_finalize() == 0);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "start", start },
		{ "a device that is gone is an error of no rank", told },
		{ "it is told once", told_once },
		{ "the interface can be left", ends },
	};

	test_begin(&argc, &argv);
	return test_run(tests, sizeof(tests) / sizeof(tests[0]));
}

// SPDX-License-Identifier: MIT
/*
 * A node that is there: it takes what comes to its queue, until it is ended.
 */
#include <err.h>
#include <stdio.h>
#include <unistd.h>

#include <utofu.h>

#define NAP_US 1000

int main(void)
{
	utofu_tni_id_t *tnis;
	size_t count;
	utofu_vcq_hdl_t vcq;

	if (utofu_get_onesided_tnis(&tnis, &count) || !count ||
	    utofu_create_vcq(tnis[0], 0, &vcq))
		errx(1, "no controller");
	printf("here\n");
	fflush(stdout);
	for (;;) {
		struct utofu_mrq_notice notice;

		utofu_poll_mrq(vcq, 0, &notice);
		usleep(NAP_US);
	}
}

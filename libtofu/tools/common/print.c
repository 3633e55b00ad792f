/* SPDX-License-Identifier: MIT */
#include "common/print.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

void tofu_print_end(void)
{
	if (fflush(stdout))
		err(EXIT_FAILURE, "standard output");
	if (ferror(stdout))
		errx(EXIT_FAILURE, "standard output: not all could be written; is the disk full?");
}

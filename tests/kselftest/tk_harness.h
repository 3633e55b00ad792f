/* SPDX-License-Identifier: MIT */
/*
 * The kernel's harness, and the fixture of all tests here: afterwards the
 * driver has no live objects, and the kernel's log no complaints.
 */
#ifndef TK_HARNESS_H
#define TK_HARNESS_H

#include <kselftest_harness.h>

#include "tk.h"

FIXTURE(tofu) {
	int log;
};

FIXTURE_SETUP(tofu)
{
	self->log = tk_log_begin();
	ASSERT_LE(0, self->log);
	ASSERT_EQ(0, tk_count("cqs"));
}

FIXTURE_TEARDOWN(tofu)
{
	const char *found = tk_left_over(self->log);

	EXPECT_EQ(NULL, found)
		TH_LOG("left over: %s", found);
}

#endif /* TK_HARNESS_H */

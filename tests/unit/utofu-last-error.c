// SPDX-License-Identifier: MIT
/* utofu_get_last_error(): what is remembered, of whom, and how it is said. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "utofu-util.h"

TEST(nothing_has_happened)
{
	EXPECT_STREQ("UTOFU_SUCCESS (0): no error\n", tofu_last_error(NULL));
	EXPECT_STREQ("open: UTOFU_SUCCESS (0): no error\n",
		     tofu_last_error("open"));
}

TEST(a_line_has_text_name_number_and_meaning)
{
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, utofu_query_my_coords(NULL));
	EXPECT_STREQ("UTOFU_ERR_INVALID_POINTER (-513): a pointer is NULL\n",
		     tofu_last_error(NULL));
	EXPECT_STREQ("my: UTOFU_ERR_INVALID_POINTER (-513): a pointer is NULL\n",
		     tofu_last_error("my"));
	EXPECT_STREQ(": UTOFU_ERR_INVALID_POINTER (-513): a pointer is NULL\n",
		     tofu_last_error(""));
}

TEST(success_and_waiting_change_nothing)
{
	utofu_vcq_hdl_t vcq;
	uint8_t coords[6];
	void *cbdata;

	setenv("TOFU_PORT", "emu", 1);
	ASSERT_EQ(UTOFU_SUCCESS, utofu_create_vcq(0, 0, &vcq));
	EXPECT_EQ(UTOFU_ERR_INVALID_FLAGS, utofu_poll_tcq(vcq, 1, &cbdata));
	EXPECT_EQ(UTOFU_ERR_NOT_FOUND, utofu_poll_tcq(vcq, 0, &cbdata));
	EXPECT_EQ(UTOFU_SUCCESS, utofu_query_my_coords(coords));
	EXPECT_EQ(UTOFU_SUCCESS, utofu_free_vcq(vcq));
	EXPECT_STREQ("UTOFU_ERR_INVALID_FLAGS (-514): no such flag\n",
		     tofu_last_error(NULL));
}

static void *other_thread(void *arg)
{
	(void)arg;
	return strdup(tofu_last_error(NULL));
}

TEST(each_thread_has_its_own)
{
	pthread_t thread;
	void *line;

	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, utofu_query_my_coords(NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, other_thread, NULL));
	pthread_join(thread, &line);
	EXPECT_STREQ("UTOFU_SUCCESS (0): no error\n", (char *)line);
	free(line);
}

/* utofu-errors.c provokes the errors of one-sided communication. */
TEST(barriers_have_errors_too)
{
	struct utofu_vbg_setting setting;
	double nan_value[] = { NAN };
	utofu_vbg_id_t vbg;

	setenv("TOFU_PORT", "emu", 1);
	ASSERT_EQ(UTOFU_SUCCESS, utofu_alloc_vbg(0, 1, 0, &vbg));
	EXPECT_EQ(UTOFU_ERR_INVALID_VBG_ID, utofu_barrier(7, 0));
	EXPECT_EQ(0, strncmp(tofu_last_error(NULL), "UTOFU_ERR_INVALID_VBG_ID ",
			     25));
	memset(&setting, 0xff, sizeof(setting));
	setting.vbg_id = vbg;
	ASSERT_EQ(UTOFU_SUCCESS, utofu_set_vbg(&setting, 1));
	EXPECT_EQ(UTOFU_ERR_NOT_PROCESSED, utofu_poll_barrier(vbg, 0));
	EXPECT_EQ(0, strncmp(tofu_last_error(NULL), "UTOFU_ERR_NOT_PROCESSED ",
			     24));
	EXPECT_EQ(UTOFU_ERR_INVALID_DATA,
		  utofu_reduce_double(vbg, UTOFU_REDUCE_OP_BFPSUM, nan_value, 1,
				      0));
	EXPECT_EQ(0, strncmp(tofu_last_error(NULL), "UTOFU_ERR_INVALID_DATA ",
			     23));
	EXPECT_EQ(UTOFU_ERR_NOT_SUPPORTED,
		  utofu_reduce_double(vbg, UTOFU_REDUCE_OP_SUM, nan_value, 1,
				      0));
	EXPECT_EQ(0, strncmp(tofu_last_error(NULL), "UTOFU_ERR_NOT_SUPPORTED ",
			     24));
	EXPECT_EQ(UTOFU_SUCCESS, utofu_free_vbg(&vbg, 1));
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: MIT
/*
 * The description of a machine: versions, coordinates, TNIs, capabilities.
 *
 * usage: caps TNIS
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

static void check_versions(void)
{
	int major = -1, minor = -1;

	utofu_query_utofu_version(&major, &minor);
	CHECK(major == UTOFU_VERSION_MAJOR);
	CHECK(minor == UTOFU_VERSION_MINOR);
	major = minor = -1;
	utofu_query_tofu_version(&major, &minor);
	CHECK(major >= 1);
	CHECK(minor >= 0);
	claim("versions");
}

static void check_coords(void)
{
	uint8_t coords[8];

	memset(coords, 0xee, sizeof(coords));
	CODE(utofu_query_my_coords(coords), UTOFU_SUCCESS);
	CHECK(!memcmp(coords, world.coords[world.rank], 6));
	CHECK(coords[6] == 0xee);
	claim("a node has the coordinates of its number, six of them");
}

static void check_tnis(size_t expected)
{
	utofu_tni_id_t *tnis = NULL;
	size_t count = 0;

	CODE(utofu_get_onesided_tnis(&tnis, &count), UTOFU_SUCCESS);
	CHECK(count == expected);
	for (size_t i = 0; i < count; i++)
		CHECK(tnis[i] == i);
	free(tnis);
	claim("%zu TNIs for one-sided communication", expected);

	tnis = NULL;
	count = 0;
	CODE(utofu_get_barrier_tnis(&tnis, &count), UTOFU_SUCCESS);
	CHECK(count > 0 && count <= expected);
	for (size_t i = 0; i < count; i++)
		CHECK(tnis[i] < expected);
	free(tnis);
	claim("TNIs for barriers");
}

static void check_onesided(utofu_tni_id_t tni)
{
	struct utofu_onesided_caps *caps = NULL;

	if (!CODE(utofu_query_onesided_caps(tni, &caps), UTOFU_SUCCESS))
		return;
	CHECK(caps->flags == 3);
	CHECK(caps->armw_ops == 0x3f);
	CHECK(caps->num_cmp_ids == 8);
	CHECK(caps->num_reserved_stags == 256);
	CHECK(caps->cache_line_size == 256);
	CHECK(caps->stag_address_alignment == 256);
	CHECK(caps->max_toq_desc_size == 64);
	CHECK(caps->max_putget_size == 16777215);
	CHECK(caps->max_piggyback_size == 32);
	CHECK(caps->max_edata_size == 1);
	CHECK(caps->max_mtu == 1920);
	CHECK(caps->max_gap == 255);
}

static void check_barrier(utofu_tni_id_t tni)
{
	struct utofu_barrier_caps *caps = NULL;

	if (!CODE(utofu_query_barrier_caps(tni, &caps), UTOFU_SUCCESS))
		return;
	CHECK(caps->flags == 0);
	CHECK(caps->reduce_ops == 0x1fe);
	CHECK(caps->max_uint64_reduction == 6);
	CHECK(caps->max_double_reduction == 3);
}

static void check_caps(void)
{
	utofu_tni_id_t *tnis = NULL;
	size_t count = 0;

	for (unsigned int tni = 0; tni < world.tnis; tni++)
		check_onesided((utofu_tni_id_t)tni);
	claim("one-sided capabilities of every TNI");
	utofu_get_barrier_tnis(&tnis, &count);
	for (size_t i = 0; i < count; i++)
		check_barrier(tnis[i]);
	free(tnis);
	claim("barrier capabilities of every TNI that has gates");
}

static void check_arguments(void)
{
	utofu_tni_id_t *tnis;
	size_t count;
	struct utofu_onesided_caps *onesided;
	struct utofu_barrier_caps *barrier;

	CODE(utofu_get_onesided_tnis(NULL, &count), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_get_onesided_tnis(&tnis, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_get_barrier_tnis(NULL, &count), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_get_barrier_tnis(&tnis, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_onesided_caps(0, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_barrier_caps(0, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_my_coords(NULL), UTOFU_ERR_INVALID_POINTER);
	claim("no place for the result: INVALID_POINTER");
	CODE(utofu_query_onesided_caps((utofu_tni_id_t)world.tnis, &onesided),
	     UTOFU_ERR_INVALID_TNI_ID);
	CODE(utofu_query_onesided_caps(UINT16_MAX, &onesided),
	     UTOFU_ERR_INVALID_TNI_ID);
	CODE(utofu_query_barrier_caps((utofu_tni_id_t)world.tnis, &barrier),
	     UTOFU_ERR_INVALID_TNI_ID);
	CODE(utofu_query_barrier_caps(UINT16_MAX, &barrier),
	     UTOFU_ERR_INVALID_TNI_ID);
	claim("no such TNI: INVALID_TNI_ID");
	utofu_query_utofu_version(NULL, NULL);
	utofu_query_tofu_version(NULL, NULL);
	claim("versions that nobody wants");
}

int main(int argc, char **argv)
{
	conform_begin();
	check_versions();
	check_coords();
	check_tnis(argc > 1 ? strtoul(argv[1], NULL, 10) : 4);
	check_caps();
	check_arguments();
	return conform_end();
}

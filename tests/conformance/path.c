// SPDX-License-Identifier: MIT
/* The twelve paths to a node, by flags and in VCQ IDs. */
#include <string.h>

#include "conform.h"

#define PATHS 12
#define HALF 32768

static struct port port;
static uint8_t size[3];

/* Sizes of A, B and C: the largest coordinates of all nodes, and one. */
static void find_sizes(void)
{
	for (unsigned int r = 0; r < world.ranks; r++)
		for (int axis = 0; axis < 3; axis++)
			if (world.coords[r][3 + axis] >= size[axis])
				size[axis] = world.coords[r][3 + axis] + 1;
}

/* Path coordinates number i, and how many there are. */
static unsigned int path_count(void)
{
	return (unsigned int)size[0] * size[1] * size[2];
}

static void path_coords(unsigned int i, uint8_t coords[3])
{
	coords[0] = (uint8_t)(i % size[0]);
	coords[1] = (uint8_t)(i / size[0] % size[1]);
	coords[2] = (uint8_t)(i / size[0] / size[1]);
}

static void check_ids(void)
{
	uint8_t wanted[3], got[4] = { 0, 0, 0, 0xee };
	bool used[16] = { false };
	utofu_path_id_t path;

	for (unsigned int i = 0; i < path_count(); i++) {
		path_coords(i, wanted);
		path = 99;
		if (!CODE(utofu_get_path_id(port.id[world.next], wanted,
					    &path),
			  UTOFU_SUCCESS))
			break;
		CHECK(path < 16 && !used[path % 16]);
		used[path % 16] = true;
		CODE(utofu_get_path_coords(port.id[world.next], path, got),
		     UTOFU_SUCCESS);
		CHECK(!memcmp(wanted, got, 3));
		CHECK(got[3] == 0xee);
	}
	claim("%u paths have as many IDs, and their coordinates back",
	      path_count());
}

/* Notices of a put, of which neither may show a path. */
static void check_put(utofu_vcq_id_t id, unsigned long flags, uint64_t value)
{
	struct utofu_mrq_notice notice;
	uint64_t seen;

	CODE(utofu_put_piggyback8(port.vcq, id, value + world.rank,
				  port.stadd[world.next], 8, value & 255,
				  flags | LCL | RMT, NULL),
	     UTOFU_SUCCESS);
	for (int i = 0; i < 2; i++) {
		bool lcl;

		CODE(next_notice(&port, &notice), UTOFU_SUCCESS);
		lcl = notice.notice_type == UTOFU_MRQ_TYPE_LCL_PUT;
		CHECK(notice.vcq_id ==
		      port.id[lcl ? world.next : world.prev]);
		CHECK(notice.edata == (value & 255));
	}
	memcpy(&seen, port.area, 8);
	CHECK(seen == value + world.prev);
	meet();
}

static void check_by_flags(void)
{
	uint8_t coords[3];
	utofu_path_id_t path;

	for (unsigned int i = 0; i < path_count(); i++) {
		path_coords(i, coords);
		CODE(utofu_get_path_id(port.id[world.next], coords, &path),
		     UTOFU_SUCCESS);
		check_put(port.id[world.next], UTOFU_ONESIDED_FLAG_PATH(path),
			  100 * (i + 1));
	}
	claim("puts by every path in the flags");
}

static void check_by_id(void)
{
	utofu_vcq_id_t id, first = 0;
	uint8_t coords[8], wanted[3], got[3];
	utofu_tni_id_t tni;
	utofu_cq_id_t cq;
	uint16_t extra;

	for (unsigned int i = 0; i < path_count(); i++) {
		id = port.id[world.next];
		path_coords(i, wanted);
		CODE(utofu_set_vcq_id_path(&id, wanted), UTOFU_SUCCESS);
		CODE(utofu_query_vcq_info(id, coords, &tni, &cq, &extra),
		     UTOFU_SUCCESS);
		CHECK(!memcmp(coords, world.coords[world.next], 6));
		CHECK(tni == 0 && cq < world.ppn);
		/* Path ID 0 is the path of the VCQ ID. */
		CODE(utofu_get_path_coords(id, 0, got), UTOFU_SUCCESS);
		CHECK(!memcmp(wanted, got, 3));
		check_put(id, 0, 1000 * (i + 1));
		if (i == 0)
			first = id;
		else
			CHECK(id != first);
		CODE(utofu_set_vcq_id_path(&id, NULL), UTOFU_SUCCESS);
		CHECK(id == port.id[world.next]);
	}
	claim("puts by every path in the VCQ ID; notices without a path");
}

/* Both ends of a get and of an atomic operation, too. */
static void check_other_commands(void)
{
	struct utofu_mrq_notice notice;

	for (unsigned int i = 0; i < path_count(); i++) {
		utofu_vcq_id_t id = port.id[world.next];
		uint8_t coords[3];

		path_coords(i, coords);
		CODE(utofu_set_vcq_id_path(&id, coords), UTOFU_SUCCESS);
		CODE(utofu_get(port.vcq, id, port.stadd[world.rank] + 64,
			       port.stadd[world.next] + 128, 64, 0, LCL | RMT,
			       NULL),
		     UTOFU_SUCCESS);
		CODE(utofu_armw4(port.vcq, id, UTOFU_ARMW_OP_ADD, 1,
				 port.stadd[world.next] + 256, 0, LCL | RMT,
				 NULL),
		     UTOFU_SUCCESS);
		for (int k = 0; k < 4; k++) {
			bool lcl;

			CODE(next_notice(&port, &notice), UTOFU_SUCCESS);
			lcl = !(notice.notice_type & 1);
			CHECK(notice.vcq_id ==
			      port.id[lcl ? world.next : world.prev]);
		}
	}
	meet();
	claim("gets and atomics by every path; notices without a path");
}

/* ---- Order on a path ---- */

#define BURST 60
#define PUTS_ATOMICS 4 /* kinds of transfers; with gets one more */
#define LONG 20000

/* A word that nothing tells of, then a transfer of some kind with a notice. */
static void post_mixed(unsigned int i, unsigned int kinds, uint64_t value,
		       unsigned long flags)
{
	utofu_vcq_id_t id = port.id[world.next];
	utofu_stadd_t from = port.stadd[world.rank] + HALF;
	utofu_stadd_t to = port.stadd[world.next] + 64;
	int code;

	CODE(utofu_put_piggyback8(port.vcq, id, value, port.stadd[world.next],
				  8, 0, flags, NULL),
	     UTOFU_SUCCESS);
	flags |= RMT;
	switch (i % kinds) {
	case 0:
		code = utofu_put(port.vcq, id, from, to, LONG, i, flags, NULL);
		break;
	case 1:
		code = utofu_armw4(port.vcq, id, UTOFU_ARMW_OP_XOR, i, to, i,
				   flags, NULL);
		break;
	case 2:
		code = utofu_put(port.vcq, id, from, to, 1, i, flags, NULL);
		break;
	case 3:
		code = utofu_put_piggyback8(port.vcq, id, i, to, 4, i, flags,
					    NULL);
		break;
	default:
		code = utofu_get(port.vcq, id, from, to, LONG, i, flags, NULL);
	}
	CODE(code, UTOFU_SUCCESS);
}

static void take_mixed(unsigned int i, unsigned int kinds, uint64_t least)
{
	static const uint8_t types[] = {
		UTOFU_MRQ_TYPE_RMT_PUT, UTOFU_MRQ_TYPE_RMT_ARMW,
		UTOFU_MRQ_TYPE_RMT_PUT, UTOFU_MRQ_TYPE_RMT_PUT,
		UTOFU_MRQ_TYPE_RMT_GET,
	};
	struct utofu_mrq_notice notice;
	uint64_t word;

	CODE(next_notice(&port, &notice), UTOFU_SUCCESS);
	CHECK(notice.notice_type == types[i % kinds]);
	CHECK(notice.edata == i);
	memcpy(&word, port.area, sizeof(word));
	CHECK(word >= least);
}

static void check_order(unsigned int kinds)
{
	uint64_t value = 0;

	memset(port.area, 0, sizeof(value));
	meet();
	for (unsigned int p = 0; p < path_count(); p++, value += BURST) {
		uint8_t coords[3];
		utofu_path_id_t path = 0;

		path_coords(p, coords);
		CODE(utofu_get_path_id(port.id[world.next], coords, &path),
		     UTOFU_SUCCESS);
		for (unsigned int i = 0; i < BURST; i++)
			post_mixed(i, kinds, value + i + 1,
				   UTOFU_ONESIDED_FLAG_PATH(path));
		for (unsigned int i = 0; i < BURST; i++)
			take_mixed(i, kinds, value + i + 1);
		meet();
	}
	claim("puts%s atomics by each path arrive in order",
	      kinds == PUTS_ATOMICS ? " and" : ", gets and");
}

/* STADDs and the ends of a VCQ ID do not depend on its path. */
static void check_stadds(void)
{
	utofu_vcq_id_t id = port.id[world.next];
	utofu_stadd_t plain = 1, other = 2;
	uint8_t coords[3];

	path_coords(path_count() - 1, coords);
	CODE(utofu_set_vcq_id_path(&id, coords), UTOFU_SUCCESS);
	CODE(utofu_query_stadd(id, 5, &other), UTOFU_SUCCESS);
	CODE(utofu_query_stadd(port.id[world.next], 5, &plain), UTOFU_SUCCESS);
	CHECK(plain == other);
	claim("query_stadd does not mind the path");
}

static void check_default(void)
{
	uint8_t none[3] = { UTOFU_PATH_COORD_NULL, UTOFU_PATH_COORD_NULL,
			    UTOFU_PATH_COORD_NULL };
	uint8_t coords[3];
	utofu_path_id_t path = 99;

	CODE(utofu_get_path_coords(port.id[world.next], 0, coords),
	     UTOFU_SUCCESS);
	for (int axis = 0; axis < 3; axis++)
		CHECK(coords[axis] < size[axis]);
	CODE(utofu_get_path_id(port.id[world.next], none, &path),
	     UTOFU_SUCCESS);
	check_put(port.id[world.next], UTOFU_ONESIDED_FLAG_PATH(path), 7);
	claim("UTOFU_PATH_COORD_NULL is the default path");
}

static void check_arguments(void)
{
	utofu_vcq_id_t id = port.id[world.next], none = UINT64_MAX;
	uint8_t coords[3] = { 0 };
	utofu_path_id_t path;

	for (int axis = 0; axis < 3; axis++) {
		uint8_t outside[3] = { 0 };

		outside[axis] = 77;
		CODE(utofu_get_path_id(id, outside, &path),
		     UTOFU_ERR_INVALID_PATH);
		CODE(utofu_set_vcq_id_path(&id, outside),
		     UTOFU_ERR_INVALID_PATH);
		CHECK(id == port.id[world.next]);
	}
	CODE(utofu_get_path_id(none, coords, &path), UTOFU_ERR_INVALID_VCQ_ID);
	CODE(utofu_get_path_id(id, NULL, &path), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_get_path_id(id, coords, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_get_path_coords(none, 0, coords), UTOFU_ERR_INVALID_VCQ_ID);
	CODE(utofu_get_path_coords(id, 255, coords),
	     UTOFU_ERR_INVALID_PATH_ID);
	CODE(utofu_get_path_coords(id, 16, coords), UTOFU_ERR_INVALID_PATH_ID);
	CODE(utofu_get_path_coords(id, 0, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_set_vcq_id_path(&none, coords), UTOFU_ERR_INVALID_VCQ_ID);
	CODE(utofu_set_vcq_id_path(NULL, coords), UTOFU_ERR_INVALID_POINTER);
	claim("bad arguments of the path functions");
}

/* An ID is good for a transfer where it has coordinates, and only there. */
static void check_flag_range(void)
{
	uint8_t coords[3], data[8] = { 0 };

	for (unsigned int path = 0; path < 16; path++) {
		int known = utofu_get_path_coords(port.id[world.next],
						  (utofu_path_id_t)path,
						  coords);
		int code = utofu_put_piggyback(
			port.vcq, port.id[world.next], data,
			port.stadd[world.next] + 512, 8, 0,
			UTOFU_ONESIDED_FLAG_PATH(path) | TCQ, NULL);

		CHECK(known == UTOFU_SUCCESS ||
		      known == UTOFU_ERR_INVALID_PATH_ID);
		CODE(code, known);
		if (code == UTOFU_SUCCESS)
			take_reports(&port, 1);
	}
	claim("path IDs that are none: INVALID_PATH_ID of a put");
}

/*
 * usage: path [gets]; with it, gets keep their place among puts, too. A
 * controller with a machine does not hold them to that.
 */
int main(int argc, char **argv)
{
	conform_begin();
	find_sizes();
	port_open(&port, 0, 0, 2 * HALF);
	check_ids();
	check_by_flags();
	check_by_id();
	check_other_commands();
	check_order(PUTS_ATOMICS);
	if (argc > 1 && !strcmp(argv[1], "gets"))
		check_order(PUTS_ATOMICS + 1);
	check_stadds();
	check_default();
	check_arguments();
	check_flag_range();
	if (path_count() == PATHS)
		claim("this machine has all 12 paths");
	else
		claim_skip("this machine has all 12 paths", "it is smaller");
	port_close(&port);
	return conform_end();
}

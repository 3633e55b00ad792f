// SPDX-License-Identifier: MIT
/*
 * Bad arguments of every transfer, posted or prepared: a code, nothing queued,
 * nothing written. And a child that uses what its parent has opened.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

static struct port port;

/**
 * struct args - of all transfers; each takes what it has
 */
struct args {
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	utofu_stadd_t lcl;
	utofu_stadd_t rmt;
	size_t length;
	uint64_t edata;
	unsigned long flags;
};

enum kind {
	PUT, GET, PUT_GAP, GET_GAP, PUT_STRIDE, GET_STRIDE, PUT_STRIDE_GAP,
	GET_STRIDE_GAP, PIGGYBACK, PIGGYBACK8, ARMW4, ARMW8, CSWAP4, CSWAP8,
	KINDS,
};

#define COMMON a->vcq, a->id
#define MOVE COMMON, a->lcl, a->rmt, a->length
#define BLOCKS 8, 2
#define REST a->edata, a->flags

static int post(enum kind kind, const struct args *a)
{
	static uint8_t data[32];

	switch (kind) {
	case PUT:
		return utofu_put(MOVE, REST, NULL);
	case GET:
		return utofu_get(MOVE, REST, NULL);
	case PUT_GAP:
		return utofu_put_gap(MOVE, REST, 64, 1, NULL);
	case GET_GAP:
		return utofu_get_gap(MOVE, REST, 64, 1, NULL);
	case PUT_STRIDE:
		return utofu_put_stride(MOVE, BLOCKS, REST, NULL);
	case GET_STRIDE:
		return utofu_get_stride(MOVE, BLOCKS, REST, NULL);
	case PUT_STRIDE_GAP:
		return utofu_put_stride_gap(MOVE, BLOCKS, REST, 64, 1, NULL);
	case GET_STRIDE_GAP:
		return utofu_get_stride_gap(MOVE, BLOCKS, REST, 64, 1, NULL);
	case PIGGYBACK:
		return utofu_put_piggyback(COMMON, data, a->rmt, a->length,
					   REST, NULL);
	case PIGGYBACK8:
		return utofu_put_piggyback8(COMMON, 1, a->rmt, a->length, REST,
					    NULL);
	case ARMW4:
		return utofu_armw4(COMMON, UTOFU_ARMW_OP_ADD, 1, a->rmt, REST,
				   NULL);
	case ARMW8:
		return utofu_armw8(COMMON, UTOFU_ARMW_OP_ADD, 1, a->rmt, REST,
				   NULL);
	case CSWAP4:
		return utofu_cswap4(COMMON, 0, 1, a->rmt, REST, NULL);
	default:
		return utofu_cswap8(COMMON, 0, 1, a->rmt, REST, NULL);
	}
}

static int prepare(enum kind kind, const struct args *a, void *desc,
		   size_t *size)
{
	static uint8_t data[32];

	switch (kind) {
	case PUT:
		return utofu_prepare_put(MOVE, REST, desc, size);
	case GET:
		return utofu_prepare_get(MOVE, REST, desc, size);
	case PUT_GAP:
		return utofu_prepare_put_gap(MOVE, REST, 64, 1, desc, size);
	case GET_GAP:
		return utofu_prepare_get_gap(MOVE, REST, 64, 1, desc, size);
	case PUT_STRIDE:
		return utofu_prepare_put_stride(MOVE, BLOCKS, REST, desc,
						size);
	case GET_STRIDE:
		return utofu_prepare_get_stride(MOVE, BLOCKS, REST, desc,
						size);
	case PUT_STRIDE_GAP:
		return utofu_prepare_put_stride_gap(MOVE, BLOCKS, REST, 64, 1,
						    desc, size);
	case GET_STRIDE_GAP:
		return utofu_prepare_get_stride_gap(MOVE, BLOCKS, REST, 64, 1,
						    desc, size);
	case PIGGYBACK:
		return utofu_prepare_put_piggyback(COMMON, data, a->rmt,
						   a->length, REST, desc,
						   size);
	case PIGGYBACK8:
		return utofu_prepare_put_piggyback8(COMMON, 1, a->rmt,
						    a->length, REST, desc,
						    size);
	case ARMW4:
		return utofu_prepare_armw4(COMMON, UTOFU_ARMW_OP_ADD, 1,
					   a->rmt, REST, desc, size);
	case ARMW8:
		return utofu_prepare_armw8(COMMON, UTOFU_ARMW_OP_ADD, 1,
					   a->rmt, REST, desc, size);
	case CSWAP4:
		return utofu_prepare_cswap4(COMMON, 0, 1, a->rmt, REST, desc,
					    size);
	default:
		return utofu_prepare_cswap8(COMMON, 0, 1, a->rmt, REST, desc,
					    size);
	}
}

static struct args good(void)
{
	struct args args = {
		.vcq = port.vcq,
		.id = port.id[world.next],
		.lcl = port.stadd[world.rank],
		.rmt = port.stadd[world.next],
		.length = 8,
		.flags = TCQ,
	};

	return args;
}

/* By every function, posted and prepared. */
static void check_all(const struct args *args, int code)
{
	uint8_t desc[64];
	size_t size = 0;

	for (int kind = 0; kind < KINDS; kind++) {
		int posted = post((enum kind)kind, args);
		int prepared = prepare((enum kind)kind, args, desc, &size);

		if (!CHECK(posted == code) || !CHECK(prepared == code))
			note("kind %d: %d and %d instead of %d", kind, posted,
			     prepared, code);
		CHECK(size == 0);
	}
	check_quiet(&port);
}

static void check_ids(void)
{
	static const utofu_vcq_id_t wrong[] = { UINT64_MAX, UTOFU_VBG_ID_NULL };
	struct args args = good();

	for (int i = 0; i < 2; i++) {
		args.id = wrong[i];
		check_all(&args, UTOFU_ERR_INVALID_VCQ_ID);
	}
	/* A gate's ID is no VCQ's. */
	claim("no VCQ ID: INVALID_VCQ_ID, of every transfer");
}

static void check_handles(void)
{
	struct args args = good();

	args.vcq = 0;
	check_all(&args, UTOFU_ERR_INVALID_VCQ_HDL);
	args.vcq = 12345;
	check_all(&args, UTOFU_ERR_INVALID_VCQ_HDL);
	claim("no handle: INVALID_VCQ_HDL, of every transfer");
}

static void check_rest(void)
{
	struct args args = good();

	args.edata = 256;
	check_all(&args, UTOFU_ERR_INVALID_EDATA);
	claim("edata of two bytes: INVALID_EDATA, of every transfer");
	args = good();
	args.flags = 1UL << 4;
	check_all(&args, UTOFU_ERR_INVALID_FLAGS);
	args.flags = 1UL << 32;
	check_all(&args, UTOFU_ERR_INVALID_FLAGS);
	claim("no such flag: INVALID_FLAGS, of every transfer");
	args = good();
	args.flags |= UTOFU_ONESIDED_FLAG_PATH(15);
	check_all(&args, UTOFU_ERR_INVALID_PATH_ID);
	claim("no such path: INVALID_PATH_ID, of every transfer");
	args = good();
	args.rmt = UINT64_MAX;
	check_all(&args, UTOFU_ERR_INVALID_STADD);
	claim("no STADD of the target: INVALID_STADD, of every transfer");
}

static void check_sizes(void)
{
	struct args args = good();
	uint8_t desc[64];
	size_t size = 0;

	args.length = SIZE_MAX;
	for (int kind = PUT; kind <= PIGGYBACK8; kind++) {
		CODE(post((enum kind)kind, &args), UTOFU_ERR_INVALID_SIZE);
		CODE(prepare((enum kind)kind, &args, desc, &size),
		     UTOFU_ERR_INVALID_SIZE);
	}
	claim("too many bytes: INVALID_SIZE, of every transfer that has some");
	args = good();
	args.lcl = UINT64_MAX;
	for (int kind = PUT; kind <= GET_STRIDE_GAP; kind++)
		CODE(post((enum kind)kind, &args), UTOFU_ERR_INVALID_STADD);
	claim("no STADD of one's own: INVALID_STADD");
	args = good();
	for (int kind = 0; kind < KINDS; kind++) {
		CODE(prepare((enum kind)kind, &args, NULL, &size),
		     UTOFU_ERR_INVALID_POINTER);
		CODE(prepare((enum kind)kind, &args, desc, NULL),
		     UTOFU_ERR_INVALID_POINTER);
	}
	claim("no place for a prepared command: INVALID_POINTER");
}

/* The same arguments, all good, work by every function. */
static void check_good(void)
{
	struct args args = good();
	uint8_t desc[64];

	for (int kind = 0; kind < KINDS; kind++) {
		size_t size = 0;

		CODE(post((enum kind)kind, &args), UTOFU_SUCCESS);
		take_reports(&port, 1);
		CODE(prepare((enum kind)kind, &args, desc, &size),
		     UTOFU_SUCCESS);
		CODE(utofu_post_toq(port.vcq, desc, size, NULL),
		     UTOFU_SUCCESS);
		take_reports(&port, 1);
	}
	check_quiet(&port);
	claim("all of them with good arguments");
}

/* Print the last error to a file in place of standard error, and compare. */
static bool last_error_says(const char *text, const char *expected)
{
	int out = dup(STDERR_FILENO);
	char line[200] = "";
	FILE *file = tmpfile();

	if (!CHECK(out >= 0 && file))
		return false;
	dup2(fileno(file), STDERR_FILENO);
	utofu_get_last_error(text);
	dup2(out, STDERR_FILENO);
	close(out);
	rewind(file);
	if (!fgets(line, sizeof(line), file))
		note("nothing is printed");
	fclose(file);
	return strstr(line, expected) == line;
}

static void check_last_error(void)
{
	void *cbdata;

	CODE(utofu_query_my_coords(NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_poll_tcq(port.vcq, 0, &cbdata), UTOFU_ERR_NOT_FOUND);
	CHECK(last_error_says("coords",
			      "coords: UTOFU_ERR_INVALID_POINTER (-513)"));
	CODE(utofu_nop(0, 0, NULL), UTOFU_ERR_INVALID_VCQ_HDL);
	CHECK(last_error_says(NULL, "UTOFU_ERR_INVALID_VCQ_HDL (-521)"));
	claim("the last error is printed, and what only says to wait is none");
}

/* The library refuses a child of a process that has opened it. */
static bool child_is_refused(void)
{
	utofu_tni_id_t *tnis;
	utofu_vcq_hdl_t vcq;
	uint8_t coords[6];
	size_t count;

	return utofu_get_onesided_tnis(&tnis, &count) ==
		       UTOFU_ERR_NOT_AVAILABLE &&
	       utofu_create_vcq(0, 0, &vcq) == UTOFU_ERR_NOT_AVAILABLE &&
	       utofu_query_my_coords(coords) == UTOFU_ERR_NOT_AVAILABLE &&
	       utofu_nop(port.vcq, 0, NULL) != UTOFU_SUCCESS;
}

static void check_child(void)
{
	const char *name = "the child of a process that uses it: NOT_AVAILABLE";
	int status = 1;
	pid_t pid;

	meet();
	pid = fork();
	if (pid == 0)
		_exit(child_is_refused() ? 0 : 1);
	if (pid < 0 && errno == ENOSYS) {
		claim_skip(name, "there is no fork() here");
		check_good();
		return;
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	claim("%s", name);
	check_good();
}

int main(void)
{
	conform_begin();
	port_open(&port, 0, 0, 4096);
	check_ids();
	check_handles();
	check_rest();
	check_sizes();
	check_last_error();
	check_good();
	check_child();
	port_close(&port);
	return conform_end();
}

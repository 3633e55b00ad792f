/* SPDX-License-Identifier: MIT */
/*
 * Helpers for the tests of libtofu: waiting for reports and notices, and
 * machines of several processes.
 */
#ifndef UNIT_UTOFU_UTIL_H
#define UNIT_UTOFU_UTIL_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <utofu.h>

#define LCL UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE
#define RMT UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE
#define TCQ UTOFU_ONESIDED_FLAG_TCQ_NOTICE
#define DELAY UTOFU_ONESIDED_FLAG_DELAY_START

/* A wait that takes longer has failed. */
#define WAIT_SECONDS 20

/*
 * tofu_wait_tcq, tofu_wait_mrq - poll until there is something
 *
 * Return: as the poll, or UTOFU_ERR_NOT_FOUND when nothing has come.
 */
int tofu_wait_tcq(utofu_vcq_hdl_t vcq, void **cbdata);
int tofu_wait_mrq(utofu_vcq_hdl_t vcq, struct utofu_mrq_notice *notice);

/*
 * tofu_wait_barrier, tofu_wait_uint64, tofu_wait_double - poll until the
 * barrier or reduction has ended
 *
 * Return: as the poll, or UTOFU_ERR_NOT_COMPLETED when it has not.
 */
int tofu_wait_barrier(utofu_vbg_id_t vbg);
int tofu_wait_uint64(utofu_vbg_id_t vbg, uint64_t data[]);
int tofu_wait_double(utofu_vbg_id_t vbg, double data[]);

/* tofu_wait_word - wait until another thread or node stores @value; 0 if so */
int tofu_wait_word(const uint64_t *word, uint64_t value);

/*
 * tofu_last_error - what utofu_get_last_error() prints
 *
 * Return: the line, until the next call.
 */
const char *tofu_last_error(const char *text);

#define NODES_MAX 16
#define NODE_GATES_MAX 8

/**
 * struct tofu_nodes - memory that the processes of a machine share
 * @arrived: nodes that have come to tofu_nodes_meet()
 * @vcq:   VCQ IDs by node, for the tests' use
 * @stadd: STADDs by node, for the tests' use
 * @vbg:   VBG IDs by node, for the tests' use
 * @word:  words by node, for the tests' use
 */
struct tofu_nodes {
	unsigned int arrived;
	unsigned int count;
	utofu_vcq_id_t vcq[NODES_MAX];
	utofu_stadd_t stadd[NODES_MAX];
	utofu_vbg_id_t vbg[NODES_MAX][NODE_GATES_MAX];
	uint64_t word[NODES_MAX];
};

/**
 * tofu_nodes_run - run a function in each of some processes
 * @main: returns when all is well; CHECK() in it ends the process otherwise
 * @killed: node that is expected to be killed, or -1
 *
 * Return: how many processes failed.
 */
int tofu_nodes_run(unsigned int count,
		   void (*main)(struct tofu_nodes *nodes, unsigned int node),
		   int killed);

/* tofu_processes_run - tofu_nodes_run() with @ppn processes on each node */
int tofu_processes_run(unsigned int count, unsigned int ppn,
		       void (*main)(struct tofu_nodes *nodes,
				    unsigned int process),
		       int killed);

/* tofu_nodes_meet - wait until all processes have called it */
void tofu_nodes_meet(struct tofu_nodes *nodes);

/* CHECK - in a process of tofu_nodes_run() */
#define CHECK(expr)                                                \
	do {                                                       \
		if (!(expr)) {                                     \
			fprintf(stderr, "# %s:%d: %s\n", __FILE__, \
				__LINE__, #expr);                  \
			_exit(1);                                  \
		}                                                  \
	} while (0)

#endif /* UNIT_UTOFU_UTIL_H */

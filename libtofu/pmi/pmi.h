/* SPDX-License-Identifier: MIT */
/*
 * The process management interface, version 1, as MPI libraries load it: which
 * process this is, and words that processes leave for each other. Nothing is
 * asked of a process manager. The job is that of <tofu/job.h>, and the words
 * travel over the interconnect, so that virtual machines need no other network.
 *
 * Functions return PMI_SUCCESS or another of the codes below. They are for one
 * thread.
 *
 * May include: <tofu/…>, <utofu.h>
 */
#ifndef TOFU_PMI_H
#define TOFU_PMI_H

#pragma GCC visibility push(default)

#define PMI_SUCCESS 0
#define PMI_FAIL (-1)
#define PMI_ERR_INIT 1
#define PMI_ERR_NOMEM 2
#define PMI_ERR_INVALID_ARG 3
#define PMI_ERR_INVALID_KEY 4
#define PMI_ERR_INVALID_KEY_LENGTH 5
#define PMI_ERR_INVALID_VAL_LENGTH 7
#define PMI_ERR_INVALID_LENGTH 8

/* ---- The process ---- */

/* PMI_Init - meet the other processes; @spawned is always false */
int PMI_Init(int *spawned);
int PMI_Initialized(int *initialized);

/* PMI_Finalize - wait until all processes call this, and leave */
int PMI_Finalize(void);

/* PMI_Abort - print @message, and exit with @code; the launcher ends others */
int PMI_Abort(int code, const char message[]);

int PMI_Get_size(int *size);
int PMI_Get_rank(int *rank);
int PMI_Get_universe_size(int *size);
int PMI_Get_appnum(int *number);

/* The processes of this node */
int PMI_Get_clique_size(int *size);
int PMI_Get_clique_ranks(int ranks[], int length);

/* ---- Words ---- */

/* Room that names and words need, with the zero at the end */
int PMI_KVS_Get_name_length_max(int *length);
int PMI_KVS_Get_key_length_max(int *length);
int PMI_KVS_Get_value_length_max(int *length);

/* PMI_KVS_Get_my_name - get the name of the job: the same in all processes */
int PMI_KVS_Get_my_name(char name[], int length);

/* PMI_KVS_Put - leave a value, which others get after the next barrier */
int PMI_KVS_Put(const char name[], const char key[], const char value[]);

/* PMI_KVS_Commit - nothing: the barrier sends what has been put */
int PMI_KVS_Commit(const char name[]);

/* PMI_Barrier - wait until all processes call this, and give them the values */
int PMI_Barrier(void);

/* PMI_KVS_Get - get a value; PMI_ERR_INVALID_KEY: nobody has put it */
int PMI_KVS_Get(const char name[], const char key[], char value[], int length);

#pragma GCC visibility pop

#endif /* TOFU_PMI_H */

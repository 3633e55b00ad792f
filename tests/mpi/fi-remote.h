/* SPDX-License-Identifier: MIT */
/*
 * What the tests of remote memory share. Each has a domain of its own, with a port
 * and some memory that it lets others access.
 */
#ifndef FI_REMOTE_H
#define FI_REMOTE_H

#include "fi-util.h"

/* Modes of memory registration: addresses are offsets, or the owner's own */
#define OFFSETS (FI_MR_ALLOCATED | FI_MR_PROV_KEY)
#define VIRTUAL (OFFSETS | FI_MR_VIRT_ADDR)

#define ANY_ACCESS (FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE)

/* struct place - where a rank's memory begins, and its key */
struct place {
	uint64_t at, key;
};

extern struct fi_info *own_info;
extern struct fid_domain *own_domain;
extern struct port port;

/* This rank's memory, and that of all as they have told */
extern struct place own, places[RANKS_MAX];

/* ---- The domain ---- */

/* machine_has_atomics - k and fx10 have none */
bool machine_has_atomics(void);

/* info_with - fi_getinfo() with these hints; Return: as libfabric */
int info_with(uint64_t caps, int mode, struct fi_info **got);

/* domain_open - with atomics where there are; also closes what a test that has failed has left */
int domain_open(int mode);

/* own_port_open - port_open() in the own domain */
int own_port_open(struct port *opened, const struct options *options);

/* memory_open - both of them */
int memory_open(int mode, const struct options *options);

/* memory_close - all but the ports; all_close - with the usual one */
int memory_close(void);
int all_close(void);

/* counter_open - that is closed with the domain */
int counter_open(enum fi_wait_obj wait, struct fid_cntr **counter);

/* ---- Memory ---- */

/* share - all learn of all, and have come to the same place; meanwhile they poll */
int share(struct port *by);
int together(void);

/* region_is - what has been registered is what share() tells of */
int region_is(struct fid_mr *mr, void *bytes);

/* region_open - register; expose - and share it */
int region_open(void *bytes, size_t count, uint64_t access);
int expose(void *bytes, size_t count, uint64_t access);

/* regions_close - all of them */
int regions_close(void);

/* write_to, read_from - so many bytes after the place; Return: as libfabric */
ssize_t write_to(int to, const void *from, size_t bytes, uint64_t at, struct done *done);
ssize_t read_from(int from, void *to, size_t bytes, uint64_t at, struct done *done);

/* ended_as - one operation has succeeded, and its entry says which kind it was */
int ended_as(struct done *done, uint64_t kind);

/* fails - whether what has been posted ends with an error */
int fails(ssize_t posted, struct done *done);

/* seed_of - for fill(), which tells ranks and tests apart */
unsigned int seed_of(int whose, int what);

#endif /* FI_REMOTE_H */

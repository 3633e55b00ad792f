// SPDX-License-Identifier: MIT
/*
 * Registrations of users' buffers. A buffer stays registered after its message,
 * so that the next one from there makes no system call.
 *
 * The user may free the buffer then, and get other memory at its addresses. The
 * driver notes that in struct tofu_watch before the call returns that changed
 * the addresses. A message from the new memory begins after that call, in the
 * same process; so each look into the table first looks there, which is one
 * load if nothing has changed. In a running message the buffer is not the
 * user's to free.
 *
 * All regions are registered with one VCQ and may be written, so any region
 * that contains a buffer will do.
 */
#include "p2p/internal.h"
#include "utofu/watch.h"
#include "utofu/work.h"

#include <string.h>

/* Regions pin whole pages. */
static size_t pages_bytes(const struct p2p_region *region)
{
	uintptr_t first = region->start / TOFU_PAGE_SIZE;
	uintptr_t last = (region->end - 1) / TOFU_PAGE_SIZE;

	return (last - first + 1) * TOFU_PAGE_SIZE;
}

/* ---- The table ---- */

/* Number of known regions that begin before an address */
static unsigned int table_before(const struct p2p_regions *regions,
				 uintptr_t address)
{
	unsigned int low = 0, high = regions->count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (regions->table[middle]->start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Of all that begin at or before the buffer, the last one reaches furthest.
 *
 * Return: a region that contains the buffer, or NULL.
 */
static struct p2p_region *table_find(const struct p2p_regions *regions,
				     uintptr_t start, uintptr_t end)
{
	unsigned int before = table_before(regions, start + 1);
	struct p2p_region *last =
		before ? regions->table[before - 1] : NULL;

	return last && last->end >= end ? last : NULL;
}

static void table_remove(struct p2p_regions *regions, unsigned int index)
{
	regions->table[index]->known = false;
	regions->count--;
	memmove(&regions->table[index], &regions->table[index + 1],
		(regions->count - index) * sizeof(regions->table[0]));
}

/* ---- Regions ---- */

static void idle_add(struct p2p_regions *regions, struct p2p_region *region)
{
	TAILQ_INSERT_TAIL(&regions->idle, region, link);
	regions->pinned += pages_bytes(region);
}

static void idle_remove(struct p2p_regions *regions, struct p2p_region *region)
{
	TAILQ_REMOVE(&regions->idle, region, link);
	regions->pinned -= pages_bytes(region);
}

static void region_free(struct tofu_p2p *p2p, struct p2p_region *region)
{
	utofu_dereg_mem(p2p->data, region->stadd, 0);
	TAILQ_INSERT_HEAD(&p2p->regions.free, region, link);
}

/* One that is in use is freed by its last user. */
static void region_forget(struct tofu_p2p *p2p, unsigned int index)
{
	struct p2p_regions *regions = &p2p->regions;
	struct p2p_region *region = regions->table[index];

	table_remove(regions, index);
	if (region->users)
		return;
	idle_remove(regions, region);
	region_free(p2p, region);
}

/* Return: whether there was a region that nobody uses. */
static bool idle_evict(struct tofu_p2p *p2p)
{
	struct p2p_region *region = TAILQ_FIRST(&p2p->regions.idle);

	if (!region)
		return false;
	region_forget(p2p, table_before(&p2p->regions, region->start));
	return true;
}

/* Adds a region that no other one contains; those that it contains go. */
static void region_add(struct tofu_p2p *p2p, struct p2p_region *region)
{
	struct p2p_regions *regions = &p2p->regions;
	unsigned int index = table_before(regions, region->start);

	while (index < regions->count &&
	       regions->table[index]->end <= region->end)
		region_forget(p2p, index);
	memmove(&regions->table[index + 1], &regions->table[index],
		(regions->count - index) * sizeof(regions->table[0]));
	regions->table[index] = region;
	regions->count++;
	region->known = true;
}

void p2p_regions_check(struct tofu_p2p *p2p)
{
	const struct tofu_watch *watch = tofu_watch_of(p2p->data);
	struct p2p_regions *regions = &p2p->regions;
	uint64_t generation;

	if (!watch)
		return;
	tofu_work(TOFU_WORK_P2P_CHECK);
	generation = tofu_watch_generation(watch);
	if (generation == regions->generation)
		return;
	regions->generation = generation;
	for (unsigned int i = regions->count; i--;)
		if (tofu_watch_stale(watch, regions->table[i]->stadd))
			region_forget(p2p, i);
}

/* ---- Registering ---- */

/* Regions without users must not make a registration fail. */
static int buffer_register(struct tofu_p2p *p2p, void *buf, size_t bytes,
			   unsigned long flags, utofu_stadd_t *stadd)
{
	int code;

	do
		code = utofu_reg_mem(p2p->data, buf, bytes, flags, stadd);
	while ((code == UTOFU_ERR_FULL || code == UTOFU_ERR_OUT_OF_MEMORY) &&
	       idle_evict(p2p));
	return code;
}

static struct p2p_region *region_new(struct tofu_p2p *p2p)
{
	struct p2p_regions *regions = &p2p->regions;
	struct p2p_region *region;

	if (TAILQ_EMPTY(&regions->free) && !idle_evict(p2p))
		return NULL;
	region = TAILQ_FIRST(&regions->free);
	TAILQ_REMOVE(&regions->free, region, link);
	return region;
}

/* Return: the region, in use; or NULL, with @code set. */
static struct p2p_region *region_make(struct tofu_p2p *p2p, void *buf,
				      size_t bytes, int *code)
{
	struct p2p_region *region = region_new(p2p);

	*code = UTOFU_ERR_NOT_SUPPORTED;
	if (!region)
		return NULL;
	*code = buffer_register(p2p, buf, bytes, TOFU_REG_MEM_FLAG_WATCH,
				&region->stadd);
	if (*code) {
		TAILQ_INSERT_HEAD(&p2p->regions.free, region, link);
		return NULL;
	}
	region->start = (uintptr_t)buf;
	region->end = region->start + bytes;
	region->users = 0;
	region_add(p2p, region);
	return region;
}

/* Return: a region for the buffer, known or new; or NULL, with @code set. */
static struct p2p_region *region_get(struct tofu_p2p *p2p, void *buf,
				     size_t bytes, int *code)
{
	struct p2p_regions *regions = &p2p->regions;
	uintptr_t start = (uintptr_t)buf;
	struct p2p_region *region;

	*code = UTOFU_ERR_NOT_SUPPORTED;
	if (bytes > p2p->config.pinned || start + bytes < start)
		return NULL;
	p2p_regions_check(p2p);
	tofu_work(TOFU_WORK_P2P_REGION);
	region = table_find(regions, start, start + bytes);
	if (!region)
		return region_make(p2p, buf, bytes, code);
	if (!region->users)
		idle_remove(regions, region);
	return region;
}

int p2p_region_take(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		    size_t bytes)
{
	int code;
	struct p2p_region *region =
		region_get(p2p, request->buf, bytes, &code);

	if (region) {
		region->users++;
		request->region = region;
		request->local = region->stadd +
				 ((uintptr_t)request->buf - region->start);
		request->registered = true;
		return UTOFU_SUCCESS;
	}
	/* What is not to be remembered, or cannot be, is registered once. */
	if (code == UTOFU_ERR_NOT_SUPPORTED)
		code = buffer_register(p2p, request->buf, bytes, 0,
				       &request->local);
	/* So are a program's constants, which it may send. */
	if (code == UTOFU_ERR_INVALID_ADDRESS && request->sends)
		code = buffer_register(p2p, request->buf, bytes,
				       UTOFU_REG_MEM_FLAG_READ_ONLY,
				       &request->local);
	request->registered = !code;
	return code;
}

/*
 * After an error the peer may still write: nothing is remembered, so that its
 * STADD is no longer valid.
 */
static void region_return(struct tofu_p2p *p2p, struct p2p_region *region,
			  int code)
{
	struct p2p_regions *regions = &p2p->regions;

	if (code && region->known)
		table_remove(regions, table_before(regions, region->start));
	if (--region->users)
		return;
	if (!region->known) {
		region_free(p2p, region);
		return;
	}
	idle_add(regions, region);
	while (regions->pinned > p2p->config.pinned)
		idle_evict(p2p);
}

void p2p_region_give(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		     int code)
{
	if (request->region)
		region_return(p2p, request->region, code);
	else
		utofu_dereg_mem(p2p->data, request->local, 0);
	request->region = NULL;
	request->registered = false;
}

void p2p_regions_make(struct tofu_p2p *p2p)
{
	struct p2p_regions *regions = &p2p->regions;

	TAILQ_INIT(&regions->idle);
	TAILQ_INIT(&regions->free);
	for (unsigned int i = 0; i < P2P_REGIONS; i++)
		TAILQ_INSERT_TAIL(&regions->free, &regions->region[i], link);
}

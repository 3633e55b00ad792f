// SPDX-License-Identifier: MIT

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "sim/data.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Copies keep the addresses' alignment, which atomics want. */
#define LINE 64

/**
 * struct region - data at one place
 * @at:     where the program knows them
 * @offset: in a node's copy: of the mapped file, or of the packed memory
 * @first:  a packed region's first contents; of a mapped region those of the
 *          pages named in @filled, one behind the other
 */
struct region {
	uintptr_t at;
	size_t len;
	size_t offset;
	bool mapped;
	uint8_t *first;
	uint32_t *filled;
	size_t filled_count;
};

/**
 * struct sim_data - regions, and the nodes' copies of them
 * @regions: by address
 * @packed:  the nodes' copies of small regions, @packed_bytes each
 * @mapped:  the same of large regions: all of @file
 * @begun:   of each node, whether it has a copy
 * @in:      the node whose data are at the regions' addresses, or -1
 */
struct sim_data {
	uint32_t nodes;
	struct region *regions;
	size_t count;
	uint8_t *packed;
	size_t packed_bytes;
	int file;
	uint8_t *mapped;
	size_t mapped_bytes;
	bool *begun;
	int64_t in;
	bool ready;
};

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

struct sim_data *sim_data_create(uint32_t nodes)
{
	struct sim_data *data = calloc(1, sizeof(*data));

	if (!data)
		return NULL;
	data->nodes = nodes;
	data->file = -1;
	data->in = -1;
	data->begun = calloc(nodes ? nodes : 1, sizeof(*data->begun));
	if (!data->begun) {
		free(data);
		return NULL;
	}
	return data;
}

/* No product overflows that begin() has found room for. */
static void unmap_copies(struct sim_data *data)
{
	if (data->packed)
		munmap(data->packed, data->nodes * data->packed_bytes);
	if (data->mapped)
		munmap(data->mapped, data->nodes * data->mapped_bytes);
	data->packed = data->mapped = NULL;
	if (data->file >= 0)
		close(data->file);
	data->file = -1;
}

void sim_data_destroy(struct sim_data *data)
{
	if (!data)
		return;
	unmap_copies(data);
	for (size_t i = 0; i < data->count; i++) {
		free(data->regions[i].first);
		free(data->regions[i].filled);
	}
	free(data->regions);
	free(data->begun);
	free(data);
}

/* ---- What nodes begin with ---- */

static bool is_zero(const uint8_t *bytes, size_t len)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}

/* Of static data that are 0 nothing is kept, and a copy of them is a hole. */
static int keep_pages(struct region *region)
{
	const uint8_t *at = (const uint8_t *)region->at;
	size_t page = page_size();
	size_t pages = region->len / page;

	if (pages > UINT32_MAX)
		return -ENOMEM;
	for (size_t i = 0; i < pages; i++)
		region->filled_count += !is_zero(at + i * page, page);
	region->first = malloc(region->filled_count * page + 1);
	region->filled = calloc(region->filled_count + 1,
				sizeof(*region->filled));
	if (!region->first || !region->filled)
		return -ENOMEM;
	for (size_t i = 0, kept = 0; kept < region->filled_count; i++) {
		if (is_zero(at + i * page, page))
			continue;
		memcpy(region->first + kept * page, at + i * page, page);
		region->filled[kept++] = i;
	}
	return 0;
}

static int keep_first(struct region *region)
{
	if (region->mapped)
		return keep_pages(region);
	region->first = malloc(region->len);
	if (!region->first)
		return -ENOMEM;
	memcpy(region->first, (void *)region->at, region->len);
	return 0;
}

int sim_data_add(struct sim_data *data, void *at, size_t len, int pages)
{
	struct region region = { .at = (uintptr_t)at, .len = len };
	struct region *grown;
	size_t i;

	if (data->ready)
		return -EBUSY;
	if (!len)
		return 0;
	if (pages && len >= SIM_DATA_LARGE) {
		size_t mask = page_size() - 1;
		uintptr_t end = (region.at + len + mask) & ~mask;

		region.at &= ~mask;
		region.len = end - region.at;
		region.mapped = true;
	}
	grown = reallocarray(data->regions, data->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	data->regions = grown;
	if (keep_first(&region)) {
		free(region.first);
		free(region.filled);
		return -ENOMEM;
	}
	for (i = data->count; i > 0 && grown[i - 1].at > region.at; i--)
		grown[i] = grown[i - 1];
	grown[i] = region;
	data->count++;
	return 0;
}

/* ---- Places of the copies ---- */

static void place_regions(struct sim_data *data)
{
	for (size_t i = 0; i < data->count; i++) {
		struct region *region = &data->regions[i];

		if (region->mapped) {
			region->offset = data->mapped_bytes;
			data->mapped_bytes += region->len;
			continue;
		}
		data->packed_bytes += (region->at - data->packed_bytes) &
				      (LINE - 1);
		region->offset = data->packed_bytes;
		data->packed_bytes += region->len;
	}
	data->packed_bytes = (data->packed_bytes + LINE - 1) &
			     ~(size_t)(LINE - 1);
}

static int map_all(uint8_t **to, size_t each, uint32_t nodes, int flags, int fd)
{
	void *map;
	size_t all;

	if (__builtin_mul_overflow(each, (size_t)nodes, &all) ||
	    all > INT64_MAX)
		return -ENOMEM;
	if (!all)
		return 0;
	if (fd >= 0 && ftruncate(fd, all))
		return -errno;
	map = mmap(NULL, all, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd,
		   0);
	if (map == MAP_FAILED)
		return -errno;
	*to = map;
	return 0;
}

static int map_copies(struct sim_data *data)
{
	int err = map_all(&data->packed, data->packed_bytes, data->nodes,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (err || !data->mapped_bytes)
		return err;
	data->file = memfd_create("tofu-sim-data", MFD_CLOEXEC);
	if (data->file < 0)
		return -errno;
	return map_all(&data->mapped, data->mapped_bytes, data->nodes,
		       MAP_SHARED, data->file);
}

static int begin(struct sim_data *data)
{
	int err;

	if (data->ready)
		return 0;
	place_regions(data);
	err = map_copies(data);
	data->ready = !err;
	return err;
}

/* ---- Copies ---- */

/* copy_of - where a node's copy of a region is while another node's is in */
static uint8_t *copy_of(const struct sim_data *data, uint32_t node,
			const struct region *region)
{
	if (region->mapped)
		return data->mapped + node * data->mapped_bytes +
		       region->offset;
	return data->packed + node * data->packed_bytes + region->offset;
}

static void begin_node(struct sim_data *data, uint32_t node)
{
	size_t page = page_size();

	if (data->begun[node])
		return;
	for (size_t i = 0; i < data->count; i++) {
		const struct region *region = &data->regions[i];
		uint8_t *copy = copy_of(data, node, region);

		if (!region->mapped)
			memcpy(copy, region->first, region->len);
		for (size_t j = 0; j < region->filled_count; j++)
			memcpy(copy + region->filled[j] * page,
			       region->first + j * page, page);
	}
	data->begun[node] = true;
}

size_t sim_data_node_bytes(const struct sim_data *data)
{
	size_t bytes = 0;

	for (size_t i = 0; i < data->count; i++)
		bytes += data->regions[i].len;
	return bytes;
}

static int bring_in(struct sim_data *data, uint32_t node,
		    const struct region *region)
{
	void *at = (void *)region->at;

	if (!region->mapped) {
		memcpy(at, copy_of(data, node, region), region->len);
		return 0;
	}
	at = mmap(at, region->len, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED, data->file,
		  node * data->mapped_bytes + region->offset);
	return at == MAP_FAILED ? -errno : 0;
}

int sim_data_switch(struct sim_data *data, int64_t node)
{
	int err;

	if (node < 0 || node == data->in)
		return 0;
	err = begin(data);
	if (err)
		return err;
	for (size_t i = 0; data->in >= 0 && i < data->count; i++) {
		const struct region *region = &data->regions[i];

		if (!region->mapped)
			memcpy(copy_of(data, data->in, region),
			       (void *)region->at, region->len);
	}
	begin_node(data, node);
	for (size_t i = 0; i < data->count; i++) {
		err = bring_in(data, node, &data->regions[i]);
		if (err)
			return err;
	}
	data->in = node;
	return 0;
}

/* region_after - the first region that ends behind an address, or NULL */
static const struct region *region_after(const struct sim_data *data,
					 uintptr_t addr)
{
	size_t low = 0;
	size_t high = data->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct region *region = &data->regions[middle];

		if (addr - region->at < region->len || addr < region->at)
			high = middle;
		else
			low = middle + 1;
	}
	return low < data->count ? &data->regions[low] : NULL;
}

void *sim_data_at(struct sim_data *data, uint32_t node, uintptr_t addr,
		  size_t *len)
{
	const struct region *region;
	size_t left;

	if (data->in == (int64_t)node || !data->ready)
		return (void *)addr;
	region = region_after(data, addr);
	if (!region)
		return (void *)addr;
	left = addr < region->at ? region->at - addr :
				   region->at + region->len - addr;
	if (*len > left)
		*len = left;
	if (addr < region->at)
		return (void *)addr;
	begin_node(data, node);
	return copy_of(data, node, region) + (addr - region->at);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings, and what user space maps of a handle.
 *
 * Pages are filled in by the fault handler, not by mmap(): during mmap() the
 * mapping is not yet in the file's address space, so revocation would miss it.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/mm.h>

#include "compat.h"
#include "tofu.h"

/* Keys are opaque; this shift makes them differ from any size or index. */
#define TOFU_KEY_SHIFT 33

static_assert(PAGE_SIZE == TOFU_PAGE_SIZE, "a CQ page is a page");

static u64 tofu_map_key(unsigned int index)
{
	return (u64)(index + 1) << TOFU_KEY_SHIFT;
}

/* ---- Rings ---- */

/*
 * Pages of our own with a streaming mapping instead of dma_alloc_coherent():
 * the fault handler needs page frame numbers. Of coherent memory only
 * dma_mmap_coherent() knows them, which works in mmap() only. The two are the
 * same on a device that snoops the processor's caches, which probing has
 * checked.
 */
int tofu_ring_alloc(struct tofu_dev *tdev, struct tofu_ring *ring, size_t bytes)
{
	struct device *dev = &tdev->pdev->dev;

	ring->size = PAGE_ALIGN(bytes);
	ring->addr = alloc_pages_exact(ring->size, GFP_KERNEL_ACCOUNT |
				       __GFP_ZERO | __GFP_NOWARN);
	if (!ring->addr)
		return -ENOMEM;
	ring->dma = dma_map_single(dev, ring->addr, ring->size,
				   DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, ring->dma)) {
		free_pages_exact(ring->addr, ring->size);
		ring->addr = NULL;
		return -ENOMEM;
	}
	return 0;
}

void tofu_ring_detach(struct tofu_dev *tdev, const struct tofu_ring *ring)
{
	if (ring->addr)
		dma_unmap_single(&tdev->pdev->dev, ring->dma, ring->size,
				 DMA_BIDIRECTIONAL);
}

void tofu_ring_free(struct tofu_ring *ring)
{
	if (ring->addr)
		free_pages_exact(ring->addr, ring->size);
	ring->addr = NULL;
}

/* ---- Areas ---- */

struct tofu_area tofu_area_of_ring(const struct tofu_ring *ring)
{
	return (struct tofu_area){
		.pfn = PHYS_PFN(virt_to_phys(ring->addr)),
		.size = ring->size,
		.cached = true,
	};
}

struct tofu_area tofu_area_of_bar(struct tofu_dev *tdev, u64 offset,
				  bool cached)
{
	return (struct tofu_area){
		.pfn = PHYS_PFN(tdev->pages + offset),
		.size = TOFU_PAGE_SIZE,
		.cached = cached,
		.device = true,
	};
}

void tofu_handle_describe_map(const struct tofu_handle *handle,
			      unsigned int index, struct tofu_map *map)
{
	const struct tofu_area *area = &handle->areas[index];

	map->key = tofu_map_key(index);
	map->length = area->size;
	map->cache = area->cached ? TOFU_MAP_CACHED : TOFU_MAP_UNCACHED;
	map->reserved = 0;
}

void tofu_handle_describe_maps(const struct tofu_handle *handle,
			       struct tofu_map *maps, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		tofu_handle_describe_map(handle, i, &maps[i]);
}

/* ---- Mappings ---- */

/* tofu_handle_mmap() checked the index; a split keeps the page offset. */
static unsigned int tofu_vma_index(struct vm_area_struct *vma)
{
	return ((u64)vma->vm_pgoff << PAGE_SHIFT >> TOFU_KEY_SHIFT) - 1;
}

/*
 * The first touch fills in the whole area, so that the data path has no more
 * faults.
 */
static vm_fault_t tofu_map_populate(struct tofu_handle *handle,
				    struct vm_area_struct *vma)
{
	unsigned int index = tofu_vma_index(vma);
	unsigned long pfn = handle->areas[index].pfn + vma->vm_pgoff -
			    (tofu_map_key(index) >> PAGE_SHIFT);
	unsigned long addr;
	vm_fault_t ret;

	for (addr = vma->vm_start; addr < vma->vm_end; addr += PAGE_SIZE) {
		ret = vmf_insert_pfn(vma, addr, pfn++);
		if (ret & VM_FAULT_ERROR)
			return ret;
	}
	return VM_FAULT_NOPAGE;
}

/*
 * A device that is gone reads as ones, as a removed PCI function does. What is
 * stored reaches the program itself alone. An area of the device is one page.
 */
static vm_fault_t tofu_map_ones(struct tofu_handle *handle,
				struct vm_area_struct *vma)
{
	return vmf_insert_pfn_prot(vma, vma->vm_start,
				   PHYS_PFN(virt_to_phys(handle->ones)),
				   vm_get_page_prot(vma->vm_flags));
}

static vm_fault_t tofu_map_fault(struct vm_fault *vmf)
{
	struct tofu_handle *handle = tofu_handle_of(vmf->vma->vm_file);
	const struct tofu_area *area =
		&handle->areas[tofu_vma_index(vmf->vma)];
	vm_fault_t ret;

	down_read(&handle->tdev->map_sem);
	if (area->device && tofu_handle_gone(handle))
		ret = tofu_map_ones(handle, vmf->vma);
	else
		ret = tofu_map_populate(handle, vmf->vma);
	up_read(&handle->tdev->map_sem);
	return ret;
}

static const struct vm_operations_struct tofu_map_ops = {
	.fault = tofu_map_fault,
};

int tofu_handle_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct tofu_handle *handle = tofu_handle_of(file);
	unsigned long length = vma->vm_end - vma->vm_start;
	const struct tofu_area *area;
	unsigned int i;

	if (tofu_handle_gone(handle))
		return -ENODEV;
	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & VM_EXEC))
		return -EINVAL;
	for (i = 0; i < TOFU_AREAS; i++)
		if (vma->vm_pgoff == tofu_map_key(i) >> PAGE_SHIFT)
			break;
	if (i == TOFU_AREAS)
		return -EINVAL;
	area = &handle->areas[i];
	/* An area that the handle lacks has length 0. */
	if (length != smp_load_acquire(&area->size))
		return -EINVAL;
	if (area->read_only && (vma->vm_flags & VM_WRITE))
		return -EACCES;

	/* VM_IO keeps madvise() from undoing VM_DONTCOPY. */
	tofu_vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND |
			  VM_DONTDUMP | VM_DONTCOPY,
			  VM_MAYEXEC | (area->read_only ? VM_MAYWRITE : 0));
	if (!area->cached)
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_ops = &tofu_map_ops;
	return 0;
}

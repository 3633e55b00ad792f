// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings, and what user space maps of a CQ.
 *
 * Pages are filled in by the fault handler, not by mmap(): at that time the
 * mapping is not yet in the file's address space, so that a revocation would
 * overlook it.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/mm.h>

#include "compat.h"
#include "tofu.h"

/* Keys are opaque, so they may as well look as no size or index does. */
#define TOFU_KEY_SHIFT 33

static_assert(PAGE_SIZE == TOFU_PAGE_SIZE, "a CQ page is a page");

static u64 tofu_map_key(enum tofu_map_index index)
{
	return (u64)(index + 1) << TOFU_KEY_SHIFT;
}

/* ---- Rings ---- */

/*
 * Pages of our own with a streaming mapping, not dma_alloc_coherent(): the
 * fault handler needs page frame numbers, which only dma_mmap_coherent() knows
 * of coherent memory, and that works in mmap() only. On a device that sees the
 * processor's caches, which probing has checked, they are the same.
 */
int tofu_ring_alloc(struct tofu_cq *cq, enum tofu_map_index index, size_t bytes)
{
	struct device *dev = &cq->tdev->pdev->dev;
	struct tofu_ring *ring = &cq->rings[index];

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

void tofu_ring_free(struct tofu_cq *cq, enum tofu_map_index index)
{
	struct tofu_ring *ring = &cq->rings[index];

	if (!ring->addr)
		return;
	dma_unmap_single(&cq->tdev->pdev->dev, ring->dma, ring->size,
			 DMA_BIDIRECTIONAL);
	free_pages_exact(ring->addr, ring->size);
	ring->addr = NULL;
}

/* ---- Mappings ---- */

static size_t tofu_map_length(struct tofu_cq *cq, enum tofu_map_index index)
{
	if (index == TOFU_MAP_PAGE || index == TOFU_MAP_KICK)
		return TOFU_PAGE_SIZE;
	return cq->rings[index].size;
}

static bool tofu_map_is_cached(struct tofu_cq *cq, enum tofu_map_index index)
{
	if (index == TOFU_MAP_KICK)
		return false;
	return index != TOFU_MAP_PAGE || cq->tdev->ram_pages;
}

static unsigned long tofu_map_pfn(struct tofu_cq *cq, enum tofu_map_index index)
{
	switch (index) {
	case TOFU_MAP_PAGE:
		return PHYS_PFN(cq->tdev->pages +
				TOFU_CQ_PAGE(cq->tni, cq->nr));
	case TOFU_MAP_KICK:
		return PHYS_PFN(cq->tdev->pages +
				TOFU_KICK_PAGE(cq->tni, cq->nr));
	default:
		return PHYS_PFN(virt_to_phys(cq->rings[index].addr));
	}
}

void tofu_cq_describe_maps(struct tofu_cq *cq, struct tofu_map *maps)
{
	enum tofu_map_index i;

	for (i = 0; i < TOFU_MAPS; i++) {
		maps[i].key = tofu_map_key(i);
		maps[i].length = tofu_map_length(cq, i);
		maps[i].cache = tofu_map_is_cached(cq, i) ? TOFU_MAP_CACHED :
							    TOFU_MAP_UNCACHED;
		maps[i].reserved = 0;
	}
}

/* The index was checked by tofu_cq_mmap(); a split keeps the page offset. */
static enum tofu_map_index tofu_vma_index(struct vm_area_struct *vma)
{
	return ((u64)vma->vm_pgoff << PAGE_SHIFT >> TOFU_KEY_SHIFT) - 1;
}

/*
 * The first touch fills in all of it, so that the data path has no more
 * faults.
 */
static vm_fault_t tofu_map_populate(struct tofu_cq *cq,
				    struct vm_area_struct *vma)
{
	enum tofu_map_index index = tofu_vma_index(vma);
	unsigned long pfn = tofu_map_pfn(cq, index) + vma->vm_pgoff -
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

static vm_fault_t tofu_map_fault(struct vm_fault *vmf)
{
	struct tofu_cq *cq = tofu_cq_of(vmf->vma->vm_file);
	vm_fault_t ret = VM_FAULT_SIGBUS;

	down_read(&cq->tdev->map_sem);
	if (!tofu_cq_gone(cq))
		ret = tofu_map_populate(cq, vmf->vma);
	up_read(&cq->tdev->map_sem);
	return ret;
}

static const struct vm_operations_struct tofu_map_ops = {
	.fault = tofu_map_fault,
};

int tofu_cq_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct tofu_cq *cq = tofu_cq_of(file);
	unsigned long length = vma->vm_end - vma->vm_start;
	enum tofu_map_index i;

	if (tofu_cq_gone(cq))
		return -ENODEV;
	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & VM_EXEC))
		return -EINVAL;
	for (i = 0; i < TOFU_MAPS; i++)
		if (vma->vm_pgoff == tofu_map_key(i) >> PAGE_SHIFT)
			break;
	if (i == TOFU_MAPS || length != tofu_map_length(cq, i))
		return -EINVAL;

	/* VM_IO keeps madvise() from undoing VM_DONTCOPY. */
	tofu_vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND |
			  VM_DONTDUMP | VM_DONTCOPY, VM_MAYEXEC);
	if (!tofu_map_is_cached(cq, i))
		vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_ops = &tofu_map_ops;
	return 0;
}

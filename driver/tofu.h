/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver's objects, and the interfaces between its files.
 *
 * Locks, in the order in which they nest:
 *
 *   tofu_dev.op_sem   read: an operation of user space is inside the driver,
 *                     so the hardware is there; write: revocation
 *   tofu_dev.lock     the sets of CQs and gates in use
 *   tofu_gates.set_lock  registers of gates
 *   tofu_dev.map_sem  read: a fault is filling in a mapping; write: revocation
 *   tofu_cq.mem_lock  the set of a CQ's regions
 *   tofu_flush.lock   a spinlock, taken in interrupts
 *   tofu_cq.watch_lock  a spinlock, taken by mmu notifiers
 *
 * With any of them held, nothing touches the memory of user space: a fault
 * there may never end (userfaultfd, FUSE), and all others would wait for it.
 * So arguments are copied in, and pages pinned, before op_sem is taken, and
 * answers are copied out, and pages unpinned, after it is released: a page that
 * becomes dirty is locked, which waits for whoever writes it back.
 *
 * Faults at our own mappings come with mmap_lock held. A reset can hold op_sem
 * for seconds, so they do not take it; hence map_sem.
 */
#ifndef TOFU_TOFU_H
#define TOFU_TOFU_H

#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/cred.h>
#include <linux/device.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/poll.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <tofu/ioctl.h>
#include <tofu/regs.h>

#define TOFU_NAME "tofu"
#define TOFU_STAGS_WANTED (1U << 13)

struct tofu_cq;
struct tofu_mem;

/**
 * struct tofu_dev - a controller
 * @dev:     of class tofu; its last reference frees this structure
 * @cdev:    /dev/tofuN
 * @pdev:    the PCI function; not to be used once @gone is set
 * @regs:    TOFU_BAR_REGS
 * @pages:   physical address of TOFU_BAR_PAGES
 * @ram_pages: CQ pages are memory
 * @direct:  direct descriptors save time; the device is in virtual time
 * @armw:    the device executes remote atomics
 * @tnis:    number of TNIs
 * @gates:   gates of a TNI: TOFU_GATES, or 0
 * @ring_code_max: largest size code of a ring
 * @stags:   entries of a CQ's tables
 * @op_sem:  see above
 * @map_sem: see above
 * @gone:    removed, or being reset; written under @op_sem and @map_sem, or
 *           while processes are frozen
 * @lock:    protects @cqs, @gates_list and @gates_used
 * @cqs:     CQs in use, including those that only wait for a late flush
 * @gates_list: gates that user space has
 * @gates_used: their numbers, by TNI
 * @reaper:  work that frees what late flushes have kept
 * @nr_unpinning: regions that tofu_workqueue unpins
 * @unpinned: woken when there are none
 * @nr_cqs:  CQs in @cqs; this and the next four are for debugfs
 * @nr_gates: gates in use
 * @nr_regions: registered regions
 * @nr_pinned: pages that they pin
 * @nr_deferred: regions and CQs that wait for @reaper
 * @debugfs: folder
 */
struct tofu_dev {
	struct device dev;
	struct cdev cdev;
	struct pci_dev *pdev;
	void __iomem *regs;
	phys_addr_t pages;
	bool ram_pages;
	bool direct;
	bool armw;
	unsigned int tnis;
	unsigned int gates;
	unsigned int ring_code_max;
	unsigned int stags;

	struct rw_semaphore op_sem;
	struct rw_semaphore map_sem;
	bool gone;

	struct mutex lock; /* cqs, gates_list, gates_used */
	struct tofu_cq *cqs[TOFU_TNIS_MAX * TOFU_CQS_PER_TNI];
	struct list_head gates_list;
	unsigned long gates_used[TOFU_TNIS_MAX][BITS_TO_LONGS(TOFU_GATES)];
	struct delayed_work reaper;
	atomic_t nr_unpinning;
	wait_queue_head_t unpinned;

	atomic_t nr_cqs;
	atomic_t nr_gates;
	atomic_t nr_regions;
	atomic_t nr_pinned;
	atomic_t nr_deferred;
	struct dentry *debugfs;
};

/**
 * struct tofu_flush - the flushes of a CQ
 * @lock:      protects all members
 * @requested: newest ticket given out
 * @started:   tickets up to this one are served by the current flush, or
 *             already are
 * @done:      tickets up to this one are served; a flush runs when != @started
 *
 * A write to TOFU_CQ_FLUSH while a flush runs would restart it, so that many
 * callers could keep each other waiting for ever. Hence one flush runs at a
 * time: callers that come meanwhile are all served by the next one.
 */
struct tofu_flush {
	spinlock_t lock; /* all of it */
	u64 requested;
	u64 started;
	u64 done;
};

/**
 * struct tofu_ring - memory that the device and user space share
 * @addr: pages allocated by the driver
 * @dma:  their bus address
 * @size: bytes, a multiple of the page size
 */
struct tofu_ring {
	void *addr;
	dma_addr_t dma;
	size_t size;
};

/**
 * struct tofu_area - pages that user space can map
 * @pfn:    the first page
 * @size:   bytes, a multiple of the page size
 * @cached: memory type
 * @read_only: user space can only read it
 * @device: pages of the device, which go with it; others are the kernel's
 *          memory, and stay until the file's release
 */
struct tofu_area {
	unsigned long pfn;
	size_t size;
	bool cached;
	bool read_only;
	bool device;
};

/* Areas of a handle: those of enum tofu_map_index, and that of TOFU_IOC_WATCH */
#define TOFU_AREA_WATCH TOFU_MAPS
#define TOFU_AREAS (TOFU_MAPS + 1)

struct tofu_handle;

/**
 * struct tofu_handle_ops - a kind of handle
 * @name:  name of its files
 * @fops:  their operations: tofu_handle_*() but for poll()
 * @ioctls: their commands
 * @nr_ioctls: number of commands
 * @destroy: the file is gone: take the hardware back; the caller holds op_sem
 *         for reading. False: that is late, and the reaper frees the handle
 * @free:  free a handle whose file and hardware are gone; no lock is held
 */
struct tofu_handle_ops {
	const char *name;
	const struct file_operations *fops;
	const struct tofu_ioctl_op *ioctls;
	size_t nr_ioctls;
	bool (*destroy)(struct tofu_handle *handle);
	void (*free)(struct tofu_handle *handle);
};

/**
 * struct tofu_handle - a part of the hardware that user space holds as a file
 * @tdev:  controller; referenced
 * @ops:   kind
 * @owner: user who created it
 * @member: the creator's effective user, who has the group
 * @gpid:  group
 * @areas: mappable areas; a missing one has size 0
 * @ones:  a page of ones, which stands for the device's pages once they are gone
 * @inode: the file's inode, whose address space has all its mappings; NULL
 *         after the file's release
 * @dead:  the hardware was taken away; written under op_sem and map_sem
 */
struct tofu_handle {
	struct tofu_dev *tdev;
	const struct tofu_handle_ops *ops;
	kuid_t owner;
	kuid_t member;
	u64 gpid;
	struct tofu_area areas[TOFU_AREAS];
	void *ones;
	struct inode *inode;
	bool dead;
};

/**
 * struct tofu_cq - a command queue that user space holds
 * @handle:   its file
 * @tni:      number of its TNI
 * @nr:       number of the CQ
 * @regs:     its registers
 * @page:     its page
 * @rings:    TOFU_MAP_TOQ, TOFU_MAP_TCQ and TOFU_MAP_MRQ; others empty
 * @stt:      steering table; entry i uses memory block i
 * @stt_dma:  its bus address
 * @mbt:      memory block table
 * @mbt_dma:  its bus address
 * @wait:     woken by every interrupt
 * @flush:    flushes
 * @watch:    page with the marks of stale regions, or NULL; set under @mem_lock
 * @watch_lock: protects what is written there
 * @mem_lock: protects @regions, @deferred and the tables
 * @regions:  struct tofu_mem by STAG
 * @deferred: regions whose caller did not wait for the flush
 * @retired: regions that are not the device's any more, and still pinned
 * @late:     the file is gone, the flush is late; protected by tofu_dev.lock
 * @leaked:   the device never became quiet: never to be freed
 */
struct tofu_cq {
	struct tofu_handle handle;
	unsigned int tni;
	unsigned int nr;
	void __iomem *regs;
	void __iomem *page;
	struct tofu_ring rings[TOFU_MAPS];
	struct tofu_steering *stt;
	dma_addr_t stt_dma;
	struct tofu_memory_block *mbt;
	dma_addr_t mbt_dma;
	wait_queue_head_t wait;
	struct tofu_flush flush;
	struct tofu_watch *watch;
	spinlock_t watch_lock; /* marks and generation */

	struct mutex mem_lock; /* regions, deferred, tables */
	struct xarray regions;
	struct list_head deferred;
	struct list_head retired;
	bool late;
	bool leaked;
};

/**
 * struct tofu_watcher - waits for changes of a region's addresses
 * @notifier: told of them
 * @cq:   CQ of the region
 * @stag: its STAG
 */
struct tofu_watcher {
	struct mmu_interval_notifier notifier;
	struct tofu_cq *cq;
	u32 stag;
};

/**
 * struct tofu_gates - gates of a TNI that user space holds
 * @handle:  their file
 * @link:    in tofu_dev.gates_list
 * @tni:     number of their TNI
 * @count:   number of gates
 * @nr:      their numbers; the first one has the channel of its number
 * @channel: a page that begins with struct tofu_channel
 * @set_lock: serializes setting of gates
 */
struct tofu_gates {
	struct tofu_handle handle;
	struct list_head link;
	unsigned int tni;
	unsigned int count;
	u8 nr[TOFU_GATES];
	struct tofu_ring channel;
	struct mutex set_lock; /* registers */
};

/**
 * struct tofu_ucmd - an ioctl under way
 * @tdev: controller
 * @handle: handle that it was called on; NULL: on the device's file
 * @ubuf: the caller's structure
 * @user_size: its size as the caller knows it
 * @size: its size as this kernel knows it
 * @cmd:  the kernel's copy
 */
struct tofu_ucmd {
	struct tofu_dev *tdev;
	struct tofu_handle *handle;
	void __user *ubuf;
	u32 user_size;
	u32 size;
	void *cmd;
};

/**
 * struct tofu_ioctl_op - a row of an ioctl table
 * @cmd:  TOFU_IOC_*
 * @size: size of the structure
 * @min_size: size of its first version
 * @run:  carries it out; called without locks. The hardware is there from
 *        tofu_ucmd_enter() to tofu_ucmd_leave(). Whatever has an answer calls
 *        tofu_ucmd_respond() after that.
 */
struct tofu_ioctl_op {
	unsigned int cmd;
	unsigned int size;
	unsigned int min_size;
	int (*run)(struct tofu_ucmd *ucmd);
};

#define TOFU_IOCTL_GROWN(cmd, type, min_size, run) \
	{ cmd, sizeof(type), min_size, run }
#define TOFU_IOCTL(cmd, type, run) \
	TOFU_IOCTL_GROWN(cmd, type, sizeof(type), run)

/* ---- tofu-dev.c: character device, ioctl ---- */

int tofu_dev_init(void);
void tofu_dev_exit(void);

/**
 * tofu_dev_alloc - allocate a controller's software side, not yet visible
 * @pdev: PCI function
 *
 * Return: the controller, to be dropped with put_device(), or an ERR_PTR.
 */
struct tofu_dev *tofu_dev_alloc(struct pci_dev *pdev);
int tofu_dev_register(struct tofu_dev *tdev);
void tofu_dev_unregister(struct tofu_dev *tdev);

/**
 * tofu_ioctl - look up a command in a table and run it
 * @tdev:  controller
 * @handle: handle that it was called on, or NULL
 * @cmd:   command; the size in it is ignored
 * @arg:   pointer to the structure
 * @ops:   table
 * @count: number of rows
 *
 * Return: what the command returned, or -ENOTTY, -EFAULT, -EINVAL (too
 * short), -E2BIG.
 */
long tofu_ioctl(struct tofu_dev *tdev, struct tofu_handle *handle,
		unsigned int cmd, unsigned long arg,
		const struct tofu_ioctl_op *ops, size_t count);

/**
 * tofu_ucmd_enter - take op_sem for reading, while the hardware is there
 * @ucmd: command
 *
 * Return: 0, -EINTR after a fatal signal, -ENODEV: device or handle are gone.
 */
int tofu_ucmd_enter(struct tofu_ucmd *ucmd);
void tofu_ucmd_leave(struct tofu_ucmd *ucmd);

/*
 * tofu_ucmd_respond - copy the structure back, up to the size the caller knows;
 * op_sem is not held
 */
int tofu_ucmd_respond(struct tofu_ucmd *ucmd);

/* tofu_dev_info, tofu_dev_time - TOFU_IOC_INFO, TOFU_IOC_TIME on any file */
int tofu_dev_info(struct tofu_ucmd *ucmd);
int tofu_dev_time(struct tofu_ucmd *ucmd);

/* ---- tofu-main.c: the hardware ---- */

/* For work that may never end, each of which stops no other */
extern struct workqueue_struct *tofu_workqueue;

static inline u64 tofu_read(struct tofu_dev *tdev, u32 reg)
{
	return readq(tdev->regs + reg);
}

/* ---- tofu-handle.c: files of the driver's own ---- */

struct tofu_handle *tofu_handle_of(struct file *file);

/*
 * tofu_handle_init - set up a zeroed handle of the calling user; 0 or -ENOMEM
 */
int tofu_handle_init(struct tofu_handle *handle, struct tofu_dev *tdev,
		     const struct tofu_handle_ops *ops);
/* tofu_handle_put - drop the device; nothing is mapped any more */
void tofu_handle_put(struct tofu_handle *handle);

/**
 * tofu_handle_file - create the file of a handle
 * @handle: complete; destroyed if this fails. The caller holds op_sem for
 *          reading.
 *
 * Return: the file, whose release destroys the handle, or an ERR_PTR.
 */
struct file *tofu_handle_file(struct tofu_handle *handle);

/**
 * tofu_handle_install - give a file to user space, and answer the command
 * @file: from tofu_handle_file(); released if this fails
 * @ucmd: command; op_sem is not held
 * @fd:   place for the descriptor in the command's structure
 */
int tofu_handle_install(struct file *file, struct tofu_ucmd *ucmd, s32 *fd);

/*
 * tofu_handle_revoke - mark a handle dead and zap its mappings; op_sem is held
 */
void tofu_handle_revoke(struct tofu_handle *handle);

/* tofu_handle_gone - check for a lost handle; under op_sem or map_sem */
static inline bool tofu_handle_gone(const struct tofu_handle *handle)
{
	return handle->dead || READ_ONCE(handle->tdev->gone);
}

long tofu_handle_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int tofu_handle_release(struct inode *inode, struct file *file);

/* ---- tofu-cq.c ---- */

/* tofu_cq_create - TOFU_IOC_CQ_CREATE */
int tofu_cq_create(struct tofu_ucmd *ucmd);

/**
 * tofu_cq_revoke - take every CQ from user space
 * @tdev: controller; gone is set, the caller holds op_sem for writing
 *
 * Disables them, zaps their mappings, wakes their waiters. The memory stays.
 */
void tofu_cq_revoke(struct tofu_dev *tdev);

/* tofu_cq_wake_all - wake all waiters, so that they see gone and leave */
void tofu_cq_wake_all(struct tofu_dev *tdev);

/**
 * tofu_cq_drop_all - free the resources of revoked CQs
 * @tdev:  controller, revoked; the reaper is stopped
 * @quiet: nothing can touch their memory any more; if false, all of it is
 *         leaked
 */
void tofu_cq_drop_all(struct tofu_dev *tdev, bool quiet);

/* tofu_cq_reap - work function of tofu_dev.reaper */
void tofu_cq_reap(struct work_struct *work);

/* tofu_cq_reap_later - schedule the reaper */
void tofu_cq_reap_later(struct tofu_dev *tdev);

/* tofu_cq_of - get the CQ of a CQ's handle */
struct tofu_cq *tofu_cq_of(struct tofu_handle *handle);

/* ---- tofu-gate.c ---- */

/* tofu_gates_create - TOFU_IOC_GATES_CREATE */
int tofu_gates_create(struct tofu_ucmd *ucmd);

/* tofu_gates_revoke, tofu_gates_drop_all - as tofu_cq_revoke(), _drop_all() */
void tofu_gates_revoke(struct tofu_dev *tdev);
void tofu_gates_drop_all(struct tofu_dev *tdev);

/* ---- tofu-limit.c: what a user can have ---- */

/* tofu_gpid - return the group of a user, the same on all nodes */
u64 tofu_gpid(kuid_t user);

/*
 * tofu_limit_cqs_locked - check if the caller's user may have one more CQ;
 * tofu_dev.lock is held
 */
bool tofu_limit_cqs_locked(struct tofu_dev *tdev, unsigned int tni);

/*
 * tofu_limit_group_locked - check that no other user of this node has the
 * handle's group; tofu_dev.lock is held
 */
bool tofu_limit_group_locked(struct tofu_dev *tdev,
			     const struct tofu_handle *handle);

/* tofu_limit_gates_locked - the same for gates, one of them with a channel */
bool tofu_limit_gates_locked(struct tofu_dev *tdev, unsigned int tni,
			     unsigned int count);

/* ---- tofu-map.c: rings and mappings ---- */

int tofu_ring_alloc(struct tofu_dev *tdev, struct tofu_ring *ring,
		    size_t bytes);
/* tofu_ring_detach - take a ring from the device; user space still has it */
void tofu_ring_detach(struct tofu_dev *tdev, const struct tofu_ring *ring);
/* tofu_ring_free - free a detached ring, which nothing maps any more */
void tofu_ring_free(struct tofu_ring *ring);

struct tofu_area tofu_area_of_ring(const struct tofu_ring *ring);
/* tofu_area_of_bar - describe a page of TOFU_BAR_PAGES */
struct tofu_area tofu_area_of_bar(struct tofu_dev *tdev, u64 offset,
				  bool cached);

int tofu_handle_mmap(struct file *file, struct vm_area_struct *vma);
/* tofu_handle_describe_map - describe an area to user space */
void tofu_handle_describe_map(const struct tofu_handle *handle,
			      unsigned int index, struct tofu_map *map);
void tofu_handle_describe_maps(const struct tofu_handle *handle,
			       struct tofu_map *maps, unsigned int count);

/* ---- tofu-mem.c ---- */

/* tofu_mem_reg, tofu_mem_dereg - TOFU_IOC_MEM_REG, TOFU_IOC_MEM_DEREG */
int tofu_mem_reg(struct tofu_ucmd *ucmd);
int tofu_mem_dereg(struct tofu_ucmd *ucmd);

/**
 * tofu_mem_reap_locked - free deferred regions whose flush has ended
 * @cq: the caller holds mem_lock
 *
 * Return: true if some are left.
 */
bool tofu_mem_reap_locked(struct tofu_cq *cq);

/*
 * tofu_mem_retire_all - take every region from the device, which does not touch
 * them any more; the caller holds mem_lock
 */
void tofu_mem_retire_all(struct tofu_cq *cq);

/* tofu_mem_unpin_all - free what was retired; no lock is held */
void tofu_mem_unpin_all(struct tofu_cq *cq);

/* tofu_mem_unpin_later - free what was retired in tofu_workqueue */
void tofu_mem_unpin_later(struct tofu_cq *cq);

/* tofu_mem_unpin_wait - wait a while until tofu_workqueue has done that */
void tofu_mem_unpin_wait(struct tofu_dev *tdev);

/**
 * tofu_mem_leak_all - give up a CQ's regions
 * @cq: CQ
 *
 * They stay pinned, but are no longer watched, since that needs the module.
 *
 * Return: their number, for the message about a leak.
 */
unsigned int tofu_mem_leak_all(struct tofu_cq *cq);

/* ---- tofu-watch.c: regions whose addresses change ---- */

/* tofu_watch_map - TOFU_IOC_WATCH */
int tofu_watch_map(struct tofu_ucmd *ucmd);

/**
 * tofu_watch_begin - watch addresses of the calling process, before pinning;
 * no lock is held
 * @watcher: zeroed
 * @cq:      CQ with a page for marks
 * @stag:    the region's STAG; its mark is cleared
 * @start:   first address
 * @length:  bytes
 */
int tofu_watch_begin(struct tofu_watcher *watcher, struct tofu_cq *cq, u32 stag,
		     u64 start, u64 length);

/* tofu_watch_end - stop watching; may wait for a change under way */
void tofu_watch_end(struct tofu_watcher *watcher);

/* tofu_watch_free - free a CQ's page; its file is gone, no region is watched */
void tofu_watch_free(struct tofu_cq *cq);

/* ---- tofu-irq.c: interrupts and flushes ---- */

int tofu_irq_request(struct tofu_cq *cq);
void tofu_irq_free(struct tofu_cq *cq);

void tofu_flush_init(struct tofu_flush *flush);

/**
 * tofu_flush_begin - request a flush
 * @cq: CQ
 *
 * Return: a ticket. It is served once nothing that began before this call can
 * touch memory through the CQ's tables.
 */
u64 tofu_flush_begin(struct tofu_cq *cq);

/* tofu_flush_done - check whether a ticket is served; any context */
bool tofu_flush_done(struct tofu_cq *cq, u64 ticket);

/**
 * tofu_flush_wait - sleep until a ticket is served
 * @cq:     CQ
 * @ticket: from tofu_flush_begin()
 *
 * Return: 0, -EINTR after a fatal signal, -ENODEV when the device goes away.
 */
int tofu_flush_wait(struct tofu_cq *cq, u64 ticket);

/**
 * tofu_flush_wait_limit - sleep uninterruptibly, for a limited time
 * @cq:     CQ
 * @ticket: from tofu_flush_begin()
 * @limit:  jiffies
 *
 * Return: true if the ticket is served, false if it is late.
 */
bool tofu_flush_wait_limit(struct tofu_cq *cq, u64 ticket, long limit);

/* ---- tofu-sysfs.c, tofu-debugfs.c ---- */

/* tofu_sysfs_groups - build dev.groups; freed with the device */
int tofu_sysfs_groups(struct tofu_dev *tdev);
void tofu_debugfs_init(void);
void tofu_debugfs_exit(void);
void tofu_debugfs_add(struct tofu_dev *tdev);
void tofu_debugfs_remove(struct tofu_dev *tdev);

#endif /* TOFU_TOFU_H */

/* SPDX-License-Identifier: MIT */
/*
 * A guest without a processor: the test drives the device of a QEMU through
 * libqtest, as a driver and a library would.
 */
#ifndef TESTS_QTEST_TOFU_VM_H
#define TESTS_QTEST_TOFU_VM_H

#include "../libqtest.h"
#include "../libqos/pci.h"

#include <tofu/regs.h>

#define TOFU_SLOT 4

/**
 * struct tofu_vm - a QEMU with a tofu-pci device
 * @qts:     its control channel
 * @bus:     the machine's PCI bus
 * @dev:     the device
 * @regs:    TOFU_BAR_REGS
 * @pages:   TOFU_BAR_PAGES
 * @regs_size, @pages_size: sizes of the BARs
 * @trap:    started with trap=on
 * @next:    next address for tofu_vm_alloc()
 */
struct tofu_vm {
	QTestState *qts;
	QPCIBus *bus;
	QPCIDevice *dev;
	QPCIBar regs;
	QPCIBar pages;
	uint64_t regs_size;
	uint64_t pages_size;
	bool trap;
	uint64_t next;
};

/**
 * struct tofu_cq - a command queue as its owner sees it
 * @toq, @tcq, @mrq: bus addresses of the rings, each of size code 0
 * @stt, @mbt: bus addresses of the tables, TOFU_VM_STAGS entries each
 * @toq_tail: slots written
 * @tcq_head, @mrq_head: entries read
 */
struct tofu_cq {
	struct tofu_vm *vm;
	unsigned int tni;
	unsigned int cq;
	uint64_t toq;
	uint64_t tcq;
	uint64_t mrq;
	uint64_t stt;
	uint64_t mbt;
	uint64_t toq_tail;
	uint64_t tcq_head;
	uint64_t mrq_head;
};

#define TOFU_VM_STAGS 32
#define TOFU_VM_GPID 7

/*
 * tofu_vm_firmware - get the path of an empty firmware, which the machine
 * requires but does not execute
 */
const char *tofu_vm_firmware(void);

/**
 * tofu_vm_args - make the command line of a QEMU with the device
 * @memory: "512M"; shared
 * @props:  properties of the device: "" or ",trap=on"
 *
 * Return: a string to be freed.
 */
char *tofu_vm_args(const char *memory, const char *props);

/**
 * tofu_fabric_make - create the shared memory of a machine, kept by the test
 * @shape: "2"
 *
 * Return: its path, to be freed.
 */
char *tofu_fabric_make(const char *shape);

/* tofu_vm_start - start QEMU, find the device, map its BARs, enable it */
struct tofu_vm *tofu_vm_start(const char *memory, const char *props);

/* tofu_vm_stop - end QEMU, which must exit successfully */
void tofu_vm_stop(struct tofu_vm *vm);

/* tofu_vm_kill - kill the process in any state */
void tofu_vm_kill(struct tofu_vm *vm, pid_t pid);

/* tofu_vm_alloc - allocate zeroed guest memory, page-aligned */
uint64_t tofu_vm_alloc(struct tofu_vm *vm, size_t len);

uint64_t tofu_vm_reg(struct tofu_vm *vm, uint64_t offset);
void tofu_vm_reg_set(struct tofu_vm *vm, uint64_t offset, uint64_t value);

/* tofu_vm_reg_wait - wait until the bits of @mask are @value */
void tofu_vm_reg_wait(struct tofu_vm *vm, uint64_t offset, uint64_t mask,
		      uint64_t value);

/* tofu_vm_master - switch the device's access to memory on and off */
void tofu_vm_master(struct tofu_vm *vm, bool on);

/* tofu_cq_prepare - allocate a CQ and write its settings, but not ENABLE */
void tofu_cq_prepare(struct tofu_cq *cq, struct tofu_vm *vm, unsigned int tni,
		     unsigned int number);
void tofu_cq_open(struct tofu_cq *cq, struct tofu_vm *vm, unsigned int tni,
		  unsigned int number);
uint64_t tofu_cq_reg(struct tofu_cq *cq, uint64_t offset);
void tofu_cq_reg_set(struct tofu_cq *cq, uint64_t offset, uint64_t value);

/**
 * tofu_cq_register - fill steering entry @stag and the memory block of its
 * number
 * @addr:  bus address of the region, page aligned
 * @len:   bytes
 * @flags: flags of the steering entry, beside ENABLE and MBID
 */
void tofu_cq_register(struct tofu_cq *cq, unsigned int stag, uint64_t addr,
		      uint64_t len, uint64_t flags);

/* tofu_cq_write - write slots to the TOQ, with the right flip bits */
void tofu_cq_write(struct tofu_cq *cq, const struct tofu_toq_desc *desc,
		   const struct tofu_toq_data *data);

/* tofu_cq_ring - publish the slots, and kick if wanted */
void tofu_cq_ring(struct tofu_cq *cq);
void tofu_cq_post(struct tofu_cq *cq, const struct tofu_toq_desc *desc,
		  const struct tofu_toq_data *data);

/* tofu_cq_wait_tcq, _mrq - get the next entry; fails the test if none comes */
uint64_t tofu_cq_wait_tcq(struct tofu_cq *cq);
struct tofu_mrq_entry tofu_cq_wait_mrq(struct tofu_cq *cq);

/* tofu_cq_idle - check that neither ring has an unread entry */
bool tofu_cq_idle(struct tofu_cq *cq);

/* tofu_toq_ctrl - make a control word; tofu_cq_write() adds the flip bit */
uint64_t tofu_toq_ctrl(enum tofu_command cmd, unsigned int flags);

/* tofu_cq_route - make a route to a CQ's TNI at @coords */
uint64_t tofu_cq_route(const struct tofu_cq *to, uint64_t coords,
		       uint64_t length);

/* tofu_cq_addr - make an address from STAG and offset in a CQ's tables */
uint64_t tofu_cq_addr(const struct tofu_cq *cq, unsigned int stag,
		      uint64_t offset);

#endif /* TESTS_QTEST_TOFU_VM_H */

// SPDX-License-Identifier: MIT
/*
 * The register file.
 */
#include <string.h>

#include "icc/time.h"

#define BAD_VALUE UINT64_MAX

static uint64_t bad_access(struct icc *icc, const char *what, uint64_t offset,
			   unsigned int size)
{
	icc->bad_access++;
	icc->ops->misuse(icc->host, "%s of %u bytes at %#llx of the registers",
			 what, size, (unsigned long long)offset);
	return BAD_VALUE;
}

/* ---- The controller's ---- */

static uint64_t caps(const struct icc *icc)
{
	return TOFU_SET(TOFU_CAPS_TNIS, icc->tnis) |
	       TOFU_SET(TOFU_CAPS_CQS, TOFU_CQS_PER_TNI) |
	       TOFU_SET(TOFU_CAPS_RING_CODE, TOFU_RING_CODE_MAX) |
	       TOFU_SET(TOFU_CAPS_STAG, TOFU_STAG_BITS_MAX) |
	       TOFU_SET(TOFU_CAPS_RAM_PAGES, icc->ram_pages) |
	       TOFU_SET(TOFU_CAPS_DIRECT, icc->doorbells) |
	       TOFU_SET(TOFU_CAPS_GATES, TOFU_GATES) |
	       TOFU_SET(TOFU_CAPS_ARMW, icc->armw);
}

static uint64_t machine_name(const struct icc *icc)
{
	uint64_t word = 0;

	if (icc->time)
		memcpy(&word, icc->machine->name,
		       strnlen(icc->machine->name, sizeof(word)));
	return word;
}

static bool global_read(struct icc *icc, uint64_t offset, uint64_t *value)
{
	const uint64_t ports = offset - TOFU_REG_PORT(0, 0);
	const uint64_t stride = TOFU_REG_PORT(1, 0) - TOFU_REG_PORT(0, 0);
	struct tofu_coords coords;

	switch (offset) {
	case TOFU_REG_ID:
		*value = TOFU_SET(TOFU_ID_MAGIC, TOFU_ID_MAGIC) |
			 TOFU_SET(TOFU_ID_VERSION, TOFU_ID_VERSION);
		return true;
	case TOFU_REG_CAPS:
		*value = caps(icc);
		return true;
	case TOFU_REG_CTRL:
		icc_flush_progress(icc);
		*value = icc->resetting ? TOFU_CTRL_RESET : 0;
		return true;
	case TOFU_REG_NODE:
		*value = icc->node | (uint64_t)icc->nodes << 32;
		return true;
	case TOFU_REG_COORDS:
		coords = tofu_coords_of(&icc->shape, icc->node);
		*value = tofu_coords_pack(&coords);
		return true;
	case TOFU_REG_SHAPE:
		*value = tofu_shape_pack(&icc->shape);
		return true;
	case TOFU_REG_BAD_ACCESS:
		*value = icc->bad_access;
		return true;
	case TOFU_REG_BAD_PACKETS:
		*value = icc->bad_packets;
		return true;
	case TOFU_REG_TIME:
		*value = icc_now(icc);
		return true;
	case TOFU_REG_MACHINE:
		*value = machine_name(icc);
		return true;
	}
	if (offset < TOFU_REG_PORT(0, 0) || ports / stride >= TOFU_PORTS ||
	    ports % stride / 8 >= TOFU_PORT_COUNTERS)
		return false;
	*value = icc->port[ports / stride][ports % stride / 8];
	return true;
}

static bool global_write(struct icc *icc, uint64_t offset, uint64_t value)
{
	if (offset != TOFU_REG_CTRL)
		return false;
	if (value & TOFU_CTRL_RESET)
		icc_reset(icc);
	return true;
}

/* ---- A CQ's ---- */

/**
 * struct place - the CQ or gate that has a register
 * @reg: of it
 */
struct place {
	unsigned int tni;
	unsigned int number;
	uint64_t reg;
};

/* Find the CQ that has a register at @offset; false: none has. */
static bool cq_of(const struct icc *icc, uint64_t offset, struct place *place)
{
	const uint64_t tni_stride = TOFU_CQ_REGS(1, 0) - TOFU_CQ_REGS(0, 0);
	const uint64_t in = offset - TOFU_CQ_REGS(0, 0);

	if (offset < TOFU_CQ_REGS(0, 0) || in / tni_stride >= icc->tnis ||
	    in % tni_stride / TOFU_CQ_REGS_STRIDE >= TOFU_CQS_PER_TNI)
		return false;
	place->tni = (unsigned int)(in / tni_stride);
	place->number = (unsigned int)(in % tni_stride / TOFU_CQ_REGS_STRIDE);
	place->reg = offset % TOFU_CQ_REGS_STRIDE;
	return true;
}

static bool is_setting(uint64_t reg)
{
	return reg >= TOFU_CQ_TOQ_BASE && reg <= TOFU_CQ_GPID;
}

static bool cq_read(struct icc *icc, const struct place *place, uint64_t *value)
{
	static const struct icc_cq untouched;
	const struct icc_cq *cq = icc_cq_at(icc, place->tni, place->number);
	const uint64_t reg = place->reg;

	if (!cq)
		cq = &untouched;
	if (is_setting(reg)) {
		*value = cq->setting[(reg - TOFU_CQ_TOQ_BASE) / 8];
		return true;
	}
	if (reg >= TOFU_CQ_COUNTER(0) &&
	    reg < TOFU_CQ_COUNTER(TOFU_CQ_COUNTERS)) {
		*value = cq->counter[(reg - TOFU_CQ_COUNTER(0)) / 8];
		return true;
	}
	if (reg >= TOFU_CQ_STAMP(0) && reg < TOFU_CQ_STAMP(TOFU_CQ_STAMPS)) {
		*value = cq->stamp[(reg - TOFU_CQ_STAMP(0)) / 8];
		return true;
	}
	switch (reg) {
	case TOFU_CQ_CTRL:
		*value = icc_cq_enabled(cq) ? TOFU_CQ_CTRL_ENABLE : 0;
		return true;
	case TOFU_CQ_STATUS:
		*value = cq->status;
		if (icc->tni[place->tni].lost & 1U << place->number)
			*value |= TOFU_CQ_STATUS_BAD_CONFIG;
		return true;
	case TOFU_CQ_FLUSH:
		icc_flush_progress(icc);
		*value = cq->flushing;
		return true;
	case TOFU_CQ_IRQ_ARM:
		*value = cq->armed;
		return true;
	case TOFU_CQ_IRQ_CAUSE:
		*value = cq->cause;
		return true;
	case TOFU_CQ_TOQ_HEAD:
		*value = cq->toq.pos;
		return true;
	case TOFU_CQ_TCQ_TAIL:
		*value = cq->tcq.pos;
		return true;
	case TOFU_CQ_MRQ_TAIL:
		*value = cq->mrq.pos;
		return true;
	case TOFU_CQ_SESSION:
		*value = cq->steps;
		return true;
	}
	return false;
}

static bool cq_write(struct icc *icc, const struct place *place, uint64_t value)
{
	const uint64_t reg = place->reg;
	struct icc_cq *cq = icc_cq_at(icc, place->tni, place->number);

	if (!cq && reg == TOFU_CQ_CTRL && !(value & TOFU_CQ_CTRL_ENABLE))
		return true;
	cq = icc_cq_make(icc, place->tni, place->number);
	if (!cq)
		return true; /* STATUS tells */
	if (is_setting(reg)) {
		if (icc_cq_enabled(cq))
			return false;
		cq->setting[(reg - TOFU_CQ_TOQ_BASE) / 8] = value;
		return true;
	}
	switch (reg) {
	case TOFU_CQ_CTRL:
		if (value & TOFU_CQ_CTRL_ENABLE)
			icc_cq_enable(icc, cq);
		else
			icc_cq_disable(icc, cq);
		return true;
	case TOFU_CQ_FLUSH:
		if (value & 1)
			icc_flush_begin(icc, cq);
		return true;
	case TOFU_CQ_IRQ_ARM:
		cq->armed |= value & TOFU_CQ_IRQ_ALL;
		return true;
	case TOFU_CQ_IRQ_CAUSE:
		cq->cause &= ~value;
		return true;
	}
	return false;
}

/* ---- A gate's ---- */

/* Find the gate that has a register at @offset; false: none has. */
static bool gate_of(const struct icc *icc, uint64_t offset, struct place *place)
{
	const uint64_t tni_stride = TOFU_GATE_REGS(1, 0) - TOFU_GATE_REGS(0, 0);
	const uint64_t in = offset - TOFU_GATE_REGS(0, 0);

	if (offset < TOFU_GATE_REGS(0, 0) || in / tni_stride >= icc->tnis ||
	    in % tni_stride / TOFU_GATE_REGS_STRIDE >= TOFU_GATES)
		return false;
	place->tni = (unsigned int)(in / tni_stride);
	place->number = (unsigned int)(in % tni_stride / TOFU_GATE_REGS_STRIDE);
	place->reg = offset % TOFU_GATE_REGS_STRIDE;
	return true;
}

static bool is_gate_setting(uint64_t reg)
{
	return reg >= TOFU_GATE_SRC_LCL && reg <= TOFU_GATE_CHANNEL;
}

static uint64_t gate_read(const struct icc *icc, const struct place *place)
{
	static const struct icc_gate untouched;
	const struct icc_gate *gate = icc->tni[place->tni].gate[place->number];
	const uint64_t reg = place->reg;

	if (!gate)
		gate = &untouched;
	if (is_gate_setting(reg))
		return gate->setting[(reg - TOFU_GATE_SRC_LCL) / 8];
	if (reg == TOFU_GATE_CTRL)
		return gate->enabled ? TOFU_GATE_CTRL_ENABLE : 0;
	return icc_gate_state(gate);
}

static bool gate_write(struct icc *icc, const struct place *place,
		       uint64_t value)
{
	const uint64_t reg = place->reg;
	struct icc_gate *gate = icc->tni[place->tni].gate[place->number];

	if (!gate && reg == TOFU_GATE_CTRL && !(value & TOFU_GATE_CTRL_ENABLE))
		return true;
	gate = icc_gate_make(icc, place->tni, place->number);
	if (!gate)
		return true; /* it stays disabled */
	if (is_gate_setting(reg)) {
		if (gate->enabled)
			return false;
		gate->setting[(reg - TOFU_GATE_SRC_LCL) / 8] = value;
		return true;
	}
	if (reg != TOFU_GATE_CTRL)
		return false;
	if (value & TOFU_GATE_CTRL_ENABLE)
		icc_gate_enable(icc, gate);
	else
		icc_gate_disable(icc, gate);
	return true;
}

/* ---- Accesses ---- */

static bool access_good(uint64_t offset, unsigned int size)
{
	return size == 8 && offset % 8 == 0 && offset < TOFU_BAR_REGS_SIZE;
}

static bool reg_read(struct icc *icc, uint64_t offset, uint64_t *value)
{
	struct place place;

	if (cq_of(icc, offset, &place))
		return cq_read(icc, &place, value);
	if (!gate_of(icc, offset, &place))
		return global_read(icc, offset, value);
	*value = gate_read(icc, &place);
	return true;
}

static bool reg_write(struct icc *icc, uint64_t offset, uint64_t value)
{
	struct place place;

	if (cq_of(icc, offset, &place))
		return cq_write(icc, &place, value);
	if (gate_of(icc, offset, &place))
		return gate_write(icc, &place, value);
	return global_write(icc, offset, value);
}

uint64_t icc_reg_read(struct icc *icc, uint64_t offset, unsigned int size)
{
	uint64_t value;

	if (!access_good(offset, size) || !reg_read(icc, offset, &value))
		return bad_access(icc, "read", offset, size);
	return value;
}

void icc_reg_write(struct icc *icc, uint64_t offset, uint64_t value,
		   unsigned int size)
{
	if (!access_good(offset, size) || !reg_write(icc, offset, value))
		bad_access(icc, "write", offset, size);
}

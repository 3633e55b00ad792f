/* SPDX-License-Identifier: MIT */
/*
 * The barrier interface of a TNI: gates and their channels. A part of the model
 * (icc/internal.h); nothing of it is seen outside.
 */
#ifndef ICC_GATE_H
#define ICC_GATE_H

#include "icc/icc.h"

#define ICC_GATE_SETTINGS ((TOFU_GATE_CHANNEL - TOFU_GATE_SRC_LCL) / 8 + 1)

struct icc_entry;

/* Where a signal comes from or goes to; masks of them have a bit for each. */
enum icc_side { ICC_LCL, /* a gate of the same TNI */
		ICC_RMT,
		ICC_SIDES };

/**
 * struct icc_link - the gate at the other end; of LCL only @gate is meant
 * @node: of the machine
 * @peer: of a source: the endpoint that has that gate, as far as is known; -1:
 *        none had it when this one was enabled
 */
struct icc_link {
	uint32_t node;
	int64_t peer;
	uint8_t tni;
	uint8_t gate;
	uint8_t path;
};

/**
 * struct icc_signal - what goes from gate to gate
 * @op, @count: have a meaning while @status is OK
 * @status: enum tofu_barrier_status
 * @last:   the gate that it comes from will never signal again
 * @word:   elements in the form of signals; 0 unless @status is OK
 */
struct icc_signal {
	uint8_t op;
	uint8_t count;
	uint8_t status;
	bool last;
	uint64_t word[TOFU_REDUCE_WORDS];
};

enum icc_gate_phase {
	ICC_GATE_IDLE, /* a relay is always */
	ICC_GATE_STARTED, /* software has written to the channel's page */
	ICC_GATE_BEGUN, /* its signal has been made; waits for its sources */
	ICC_GATE_ENDING, /* the result has to be written to memory */
};

/**
 * struct icc_gate - a barrier gate
 * @tni, @gate: its numbers
 * @phase:    enum icc_gate_phase
 * @channel:  bus address of its block; 0: a relay
 * @sources, @destinations: sides that are linked
 * @full:     sources whose signal has come
 * @lost:     sources that will never signal again: always full
 * @closed:   a relay that has lost all its sources, and said so
 * @pending:  destinations to which @out has still to go
 * @out:      the signal it sends; of an ending channel the result
 * @due:      with a machine: goes on with @pending or @phase then
 * @fired:    times that it has fired
 * @ended:    TOFU_CHANNEL_ENDED
 * @setting:  registers TOFU_GATE_SRC_LCL … TOFU_GATE_CHANNEL
 */
struct icc_gate {
	uint8_t tni;
	uint8_t gate;
	uint8_t phase;
	bool enabled;
	bool closed;
	uint8_t sources;
	uint8_t destinations;
	uint8_t full;
	uint8_t lost;
	uint8_t pending;
	uint16_t gpid;
	uint32_t fired;
	uint32_t ended;
	uint64_t channel;
	uint64_t due;
	struct icc_link src[ICC_SIDES];
	struct icc_link dst[ICC_SIDES];
	struct icc_signal in[ICC_SIDES];
	struct icc_signal out;
	uint64_t setting[ICC_GATE_SETTINGS];
};

void icc_gates_init(struct icc *icc);

/* icc_gates_reset - every gate is disabled, its registers 0 */
void icc_gates_reset(struct icc *icc);

/* icc_gate_enable - with its settings; wrong ones leave it disabled */
void icc_gate_enable(struct icc *icc, struct icc_gate *gate);
void icc_gate_disable(struct icc *icc, struct icc_gate *gate);

/* icc_gate_state - TOFU_GATE_STATE */
uint64_t icc_gate_state(const struct icc_gate *gate);

/* icc_gates_progress - a bounded number of steps; true when there was any */
bool icc_gates_progress(struct icc *icc);

/* icc_gate_signal - take a SIGNAL packet */
void icc_gate_signal(struct icc *icc, const struct tofu_packet *pkt,
		     const void *payload);

/* icc_gates_peer_down - nothing will come from there any more */
void icc_gates_peer_down(struct icc *icc, uint32_t endpoint);

/* icc_gate_due - with a machine: what a gate has planned */
void icc_gate_due(struct icc *icc, const struct icc_entry *entry);

#endif /* ICC_GATE_H */

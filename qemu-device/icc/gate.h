/* SPDX-License-Identifier: MIT */
/*
 * The barrier interface of a TNI: gates and their channels. Private to the
 * model (icc/internal.h).
 */
#ifndef ICC_GATE_H
#define ICC_GATE_H

#include "icc/icc.h"

#define ICC_GATE_SETTINGS ((TOFU_GATE_CHANNEL - TOFU_GATE_SRC_LCL) / 8 + 1)

struct icc_entry;

/* The other end of a signal; masks of sides have a bit for each. */
enum icc_side { ICC_LCL, /* a gate of the same TNI */
		ICC_RMT,
		ICC_SIDES };

/**
 * struct icc_link - the gate at the other end; of LCL only @gate is used
 * @node: of the machine
 * @peer: of a source: the endpoint that owned that gate when this one was
 *        enabled; -1: none
 */
struct icc_link {
	int64_t peer;
	uint32_t node;
	uint8_t tni;
	uint8_t gate;
	uint8_t path;
};

/**
 * struct icc_signal - a signal from one gate to another
 * @op, @count: valid while @status is OK
 * @status: enum tofu_barrier_status
 * @last:   the gate that sent it will never signal again
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
	ICC_GATE_IDLE, /* relays are always idle */
	ICC_GATE_STARTED, /* software has written to the channel's page */
	ICC_GATE_BEGUN, /* has made its signal; waits for its sources */
	ICC_GATE_ENDING, /* has to write the result to memory */
};

/**
 * struct icc_gate - a barrier gate
 * @tni, @gate: its numbers
 * @phase:    enum icc_gate_phase
 * @channel:  bus address of its block; 0: a relay
 * @sources, @destinations: sides that are linked
 * @full:     sources whose signal has come
 * @lost:     sources that will never signal again; they always count as full
 * @closed:   a relay that has lost all sources and has signalled that
 * @pending:  destinations that have not got @out yet
 * @out:      the signal it sends; of an ending channel the result
 * @due:      if timed: when it continues with @pending or @phase
 * @ask:      of a channel: its network's gates ask for their sources
 * @ask_at:   of a channel: the first poll from this time on makes them ask; 0:
 *            without virtual time, no poll yet since the barrier began
 * @enables:  times that it was enabled; never reset
 * @fired:    count of firings
 * @ended:    TOFU_CHANNEL_ENDED
 * @setting:  registers TOFU_GATE_SRC_LCL … TOFU_GATE_CHANNEL
 *
 * Made when software first writes one of its registers.
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
	bool ask;
	uint16_t gpid;
	uint32_t enables;
	uint32_t fired;
	uint32_t ended;
	uint64_t channel;
	uint64_t due;
	uint64_t ask_at;
	struct icc_link src[ICC_SIDES];
	struct icc_link dst[ICC_SIDES];
	struct icc_signal in[ICC_SIDES];
	struct icc_signal out;
	uint64_t setting[ICC_GATE_SETTINGS];
};

/* icc_gate_make - the gate with these numbers; NULL where there is no memory */
struct icc_gate *icc_gate_make(struct icc *icc, unsigned int tni,
			       unsigned int gate);
void icc_gates_free(struct icc *icc);

/* icc_gates_reset - disable every gate and clear its registers */
void icc_gates_reset(struct icc *icc);

/* icc_gate_enable - check the settings and enable; stays disabled if bad */
void icc_gate_enable(struct icc *icc, struct icc_gate *gate);
void icc_gate_disable(struct icc *icc, struct icc_gate *gate);

/* icc_gate_state - TOFU_GATE_STATE */
uint64_t icc_gate_state(const struct icc_gate *gate);

/* icc_gates_progress - take a bounded number of steps; true if there was any */
bool icc_gates_progress(struct icc *icc);

/* icc_gate_signal - take a SIGNAL packet */
void icc_gate_signal(struct icc *icc, const struct tofu_packet *pkt,
		     const void *payload);

/**
 * icc_signal_post - send a SIGNAL packet to an endpoint
 * @pkt:  its header but for src, payload, type and time, which are set
 * @word: TOFU_REDUCE_WORDS elements in the form of signals
 *
 * Return: 0, -EAGAIN: there is no room now, -EHOSTDOWN: the endpoint is gone.
 */
int icc_signal_post(struct icc *icc, uint32_t peer, struct tofu_packet *pkt,
		    const uint64_t *word);

/* icc_link_owner - the endpoint that now owns the gate of a remote link, or -1 */
int64_t icc_link_owner(const struct icc *icc, const struct icc_link *link);

/* icc_gate_lose - count a gate's remote source as lost */
void icc_gate_lose(struct icc *icc, struct icc_gate *gate);

/* icc_gates_peer_down - count sources at @endpoint as lost */
void icc_gates_peer_down(struct icc *icc, uint32_t endpoint);

/* icc_gate_due - timed controllers: handle a gate's entry of the calendar */
void icc_gate_due(struct icc *icc, const struct icc_entry *entry);

/* ---- watch.c ---- */

/**
 * icc_gates_watch - make sure that a barrier which has begun can end
 * @channel: its start and end gate
 *
 * The host tells the end only of endpoints that it has exchanged packets with or
 * sent to, and a gate can have a source that it has nothing to send to. So each
 * source of the network's gates in this node is looked at, once after the gate
 * was enabled: one that is gone is lost, one that is there is told from then on.
 * Not for timed controllers, whose nodes all know each other.
 */
void icc_gates_watch(struct icc *icc, const struct icc_gate *channel);

/**
 * icc_gates_ask - ask the sources that a barrier which has begun waits for
 * @channel: its start and end gate
 *
 * A source can be disabled while its node lives. It then says so, see
 * icc_gate_asked().
 */
void icc_gates_ask(struct icc *icc, const struct icc_gate *channel);

/* icc_gate_asked - take a question for @gate, which may be NULL */
void icc_gate_asked(struct icc *icc, const struct icc_gate *gate,
		    const struct tofu_packet *pkt);

#endif /* ICC_GATE_H */

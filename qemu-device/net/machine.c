// SPDX-License-Identifier: MIT
/*
 * The presets. Every number has its source, or 'calibrated' and the figure it
 * was fitted to; Documentation/timing.rst compares model and figure. 'Reported'
 * figures could not be confirmed in a publication.
 *
 * Figures of small transfers give sums, not terms. How a sum is split is a
 * choice: the part that puts, gets and atomics all pass once is in the doorbell
 * and the write; the part that a get has beyond an atomic is in the read; the
 * part that is passed twice is in send and receive.
 */
#include <string.h>

#include "net/machine.h"

static const struct tofu_preset machines[] = {
	{
		.name = "k",
		.tnis = 4, /* published */
		.link_mbs = 5000, /* published */
		.mtu = 2008, /* published: packets of 2048 bytes */
		.overhead = 40, /* published: 4.90 of 5 GB/s are payload */
		.control = 64, /* published: of these about 4.75 are left */
		.credits = 4, /* chosen: twice a round trip's */
		.buffers = 4, /* likewise: 610 ns, a packet takes 410 */
		.hop_ns = 100, /* reported: about 0.1 us */
		.work_percent = 100, /* assumed: 2.0 GHz, two cycles each */
		.store_ns = 815, /* published: a put takes it about 1 us */
		.memory_mbs = 46000, /* published: effective, of a peak of 64 GB/s */
		/* Calibrated, with receive and write: 0.6 us of hardware */
		.doorbell_ns = 320,
		.fetch_ns = 240, /* reported: 0.91 us direct, 1.15 us from memory */
		.read_ns = 200, /* calibrated: control messages, 1.8 us */
		.send_ns = 30, /* calibrated, as on fugaku */
		.receive_ns = 30, /* calibrated, as on fugaku */
		.write_ns = 110,
		.inject_ns = 110, /* K injects nothing */
		.reply_ns = 15, /* calibrated, as on fugaku */
		.atomic_ns = 50, /* as on fugaku, for a K with atomics */
		.gate_ns = 50, /* assumed: as an atomic */
		.command_ns = 280, /* calibrated, as on fugaku */
		.tni_mbs = 4750, /* published: one way, from 1 MB */
		.tni_both_mbs = 7700, /* published: 3.7-4.0 GB/s both ways */
		.host_mbs = 15000, /* published */
		.host_header = 16, /* calibrated: both ways busy, 13.2 GB/s */
	},
	{
		/* The same controller as K's, without figures of its own. */
		.name = "fx10",
		.tnis = 4,
		.link_mbs = 5000,
		.mtu = 2008,
		.overhead = 40,
		.control = 64,
		.credits = 4,
		.buffers = 4,
		.hop_ns = 100,
		.work_percent = 108, /* 1.848 GHz */
		.store_ns = 800,
		.memory_mbs = 61000, /* assumed: K's share of a peak of 85 GB/s */
		.doorbell_ns = 320,
		.fetch_ns = 240,
		.read_ns = 200,
		.send_ns = 30,
		.receive_ns = 30,
		.write_ns = 110,
		.inject_ns = 110,
		.reply_ns = 15,
		.atomic_ns = 50,
		.gate_ns = 50, /* assumed: as an atomic */
		.command_ns = 280,
		.tni_mbs = 4750,
		.tni_both_mbs = 7700,
		.host_mbs = 15000,
		.host_header = 16,
	},
	{
		.name = "fx100",
		.tnis = 4, /* published */
		.link_mbs = 12500, /* published */
		.mtu = 2008, /* as K */
		.overhead = 40, /* as K */
		.control = 64, /* as K */
		.credits = 4, /* as K */
		.buffers = 4, /* as K: a round trip takes 345 ns, a packet 165 */
		.armw = true, /* published; K and FX10 have none */
		.hop_ns = 90, /* between K's and fugaku's */
		.work_percent = 91, /* 2.2 GHz */
		.store_ns = 40, /* as fugaku: the controller is on the chip */
		.memory_mbs = 345000, /* assumed: K's share of 480 GB/s */
		/* Calibrated, with receive and write: a put of 8 B, 0.71 us,
		 * itself a derived figure
		 */
		.doorbell_ns = 270,
		.fetch_ns = 200, /* as fugaku */
		.read_ns = 200, /* as K */
		.send_ns = 30, /* as K */
		.receive_ns = 30, /* as K */
		.write_ns = 264,
		.inject_ns = 104, /* derived: 0.16 us less */
		.reply_ns = 15, /* as fugaku */
		.atomic_ns = 50, /* as fugaku */
		.gate_ns = 50, /* assumed: as an atomic */
		.command_ns = 280, /* as fugaku */
		.tni_mbs = 11460, /* reported: a large put */
		.tni_both_mbs = 22920, /* no figure: both ways at full speed */
		.host_mbs = 45800, /* reported: all engines */
		.host_header = 16, /* as K */
	},
	{
		.name = "fugaku",
		.tnis = 6, /* published */
		.link_mbs = 6800, /* published */
		.mtu = 1920, /* published */
		.overhead = 128, /* packets of 2048 bytes; 6.37 of 6.8 GB/s */
		.control = 0, /* no figure: a link gives 6.36 GB/s */
		.credits = 4, /* as K */
		.buffers = 4, /* as K: a round trip takes 460 ns, a packet 301 */
		.armw = true, /* published */
		.hop_ns = 78, /* calibrated: latencies by hops */
		.work_percent = 100, /* 2.0 GHz: as K */
		.store_ns = 40, /* calibrated: 1 KiB puts, 3.49 GB/s; 0.3 us each */
		.memory_mbs = 830000, /* published: STREAM, of a peak of 1,024 GB/s */
		/* Calibrated, with inject: the best put of 8 B, 0.49 us */
		.doorbell_ns = 100,
		.fetch_ns = 240, /* as K */
		/* Calibrated: 16 B from memory, put 0.97-0.99 us, get 1.48-1.51 */
		.read_ns = 130,
		.send_ns = 25, /* calibrated: get without put, 0.51 us */
		.receive_ns = 25, /* calibrated: get without put, 0.51 us */
		.write_ns = 220, /* derived: 0.16 us more than injected */
		.inject_ns = 60,
		.reply_ns = 140, /* calibrated, with the others: gets and ARMW */
		.atomic_ns = 50, /* calibrated: get without ARMW, 0.16 us */
		.gate_ns = 50, /* assumed: as an atomic */
		.command_ns = 285, /* calibrated: 1 KiB puts, 3.49 GB/s */
		.tni_mbs = 6350, /* reported, and measured: 6.30-6.36 GB/s */
		.tni_both_mbs = 12700, /* published: 6.1 GB/s each way, in a ring */
		.host_mbs = 38100, /* published: all engines */
		.host_header = 16, /* as K */
	},
};

const struct tofu_preset *tofu_preset_at(size_t index)
{
	if (index >= sizeof(machines) / sizeof(machines[0]))
		return NULL;
	return &machines[index];
}

const struct tofu_preset *tofu_preset_find(const char *name)
{
	const struct tofu_preset *m;

	for (size_t i = 0; (m = tofu_preset_at(i)); i++) {
		if (!strcmp(m->name, name))
			return m;
	}
	return NULL;
}

// SPDX-License-Identifier: MIT
/*
 * The presets. Every number says where it is from, or to what it was
 * calibrated; Documentation/timing.rst shows model against figure.
 */
#include <string.h>

#include "icc/machine.h"

static const struct icc_machine machines[] = {
	{
		.name = "k",
		.tnis = 4,
		.link_mbs = 5000,
		.mtu = 2008,
		.overhead = 40,
		.credits = 16,
		.hop_ns = 100,
		.doorbell_ns = 100,
		.fetch_ns = 240,
		.read_ns = 240,
		.send_ns = 150,
		.receive_ns = 150,
		.write_ns = 100,
		.reply_ns = 100,
		.atomic_ns = 75,
		.command_ns = 300,
		.tni_mbs = 4750,
		.tni_both_mbs = 7800,
		.host_mbs = 15000,
	},
	{
		.name = "fx10",
		.tnis = 4,
		.link_mbs = 5000,
		.mtu = 2008,
		.overhead = 40,
		.credits = 16,
		.hop_ns = 100,
		.doorbell_ns = 100,
		.fetch_ns = 240,
		.read_ns = 240,
		.send_ns = 150,
		.receive_ns = 150,
		.write_ns = 100,
		.reply_ns = 100,
		.atomic_ns = 75,
		.command_ns = 300,
		.tni_mbs = 4750,
		.tni_both_mbs = 7800,
		.host_mbs = 15000,
	},
	{
		.name = "fx100",
		.tnis = 4,
		.link_mbs = 12500,
		.mtu = 2008,
		.overhead = 40,
		.credits = 16,
		.hop_ns = 90,
		.doorbell_ns = 80,
		.fetch_ns = 200,
		.read_ns = 200,
		.send_ns = 120,
		.receive_ns = 120,
		.write_ns = 60,
		.reply_ns = 100,
		.atomic_ns = 60,
		.command_ns = 250,
		.tni_mbs = 11460,
		.tni_both_mbs = 22920,
		.host_mbs = 45800,
	},
	{
		.name = "fugaku",
		.tnis = 6,
		.link_mbs = 6800,
		.mtu = 1920,
		.overhead = 128,
		.credits = 16,
		.hop_ns = 78,
		.doorbell_ns = 60,
		.fetch_ns = 200,
		.read_ns = 200,
		.send_ns = 145,
		.receive_ns = 145,
		.write_ns = 100,
		.reply_ns = 100,
		.atomic_ns = 50,
		.command_ns = 280,
		.tni_mbs = 6350,
		.tni_both_mbs = 12700,
		.host_mbs = 38100,
	},
};

const struct icc_machine *icc_machine_at(size_t index)
{
	if (index >= sizeof(machines) / sizeof(machines[0]))
		return NULL;
	return &machines[index];
}

const struct icc_machine *icc_machine_find(const char *name)
{
	const struct icc_machine *m;

	for (size_t i = 0; (m = icc_machine_at(i)); i++) {
		if (!strcmp(m->name, name))
			return m;
	}
	return NULL;
}

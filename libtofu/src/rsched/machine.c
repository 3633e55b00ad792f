// SPDX-License-Identifier: MIT
/* What puts cost on the machines of virtual time. */
#include <tofu/rsched.h>
#include <utofu.h>

#include "net/machine.h"

/*
 * The processor's time for what an exchange does, where an instruction takes a
 * nanosecond: sums of the costs that scripts/tofu-costs has measured.
 */
enum {
	START_NS = 189, /* posting to an engine, without the store */
	POST_NS = 104, /* more, for each put */
	POLL_NS = 215, /* until an engine has neither report nor notice */
	NOTICE_NS = 162, /* more, for each notice */
};

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t work_ns(const struct tofu_preset *m, uint32_t ns)
{
	return (ns * m->work_percent + 50) / 100;
}

/*
 * A put from memory to memory of the next node, as in the controller's model.
 * The engine gets to know of it when the store that starts it begins.
 */
static uint32_t latency(const struct tofu_preset *m)
{
	const uint32_t ns = m->doorbell_ns + m->fetch_ns + m->read_ns +
			    m->send_ns + m->hop_ns + m->receive_ns +
			    m->write_ns;

	return ns - least(ns, m->store_ns);
}

int tofu_rsched_machine(const char *machine, struct tofu_rsched_model *model)
{
	const struct tofu_preset *m;

	if (!machine || !model)
		return UTOFU_ERR_INVALID_POINTER;
	m = tofu_preset_find(machine);
	if (!m)
		return UTOFU_ERR_NOT_FOUND;
	*model = (struct tofu_rsched_model){
		.engines = m->tnis,
		.link_mbs = tofu_preset_link_payload(m),
		.engine_mbs = least(m->tni_mbs, m->tni_both_mbs / 2),
		.host_mbs = tofu_preset_host_both(m),
		.start_ns = work_ns(m, START_NS) + m->store_ns,
		.post_ns = work_ns(m, POST_NS),
		.command_ns = m->command_ns,
		.latency_ns = latency(m),
		.poll_ns = work_ns(m, POLL_NS),
		.notice_ns = work_ns(m, NOTICE_NS),
	};
	return UTOFU_SUCCESS;
}

// SPDX-License-Identifier: MIT
#include "model/internal.h"
#include "net/machine.h"

static bool positive(double value)
{
	/* Neither NaN nor infinite, without a function of libm */
	return value > 0 && value <= 1e300;
}

static bool machine_ok(const struct tofu_model_machine *m)
{
	return positive(m->link_mbs) && positive(m->node_mbs) &&
	       positive(m->memory_mbs) && positive(m->software_us) &&
	       positive(m->forward_us) &&
	       positive(m->hardware_us) && positive(m->hop_us) &&
	       positive(m->gate_us) && positive(m->start_us) &&
	       positive(m->control_us) && m->segment && m->engines &&
	       m->memory_mbs > 2 * m->node_mbs;
}

bool model_group_of(const struct tofu_model_machine *machine,
		    const uint32_t size[], size_t segment, unsigned int engines,
		    struct model_group *group)
{
	if (!machine || !size || !machine_ok(machine))
		return false;
	*group = (struct model_group){
		.machine = machine,
		.members = 1,
		.engines = engines && engines < machine->engines ?
				   engines : machine->engines,
		.segment = (double)(segment ? segment : machine->segment),
		.latency_us = machine->software_us + machine->hardware_us,
	};
	for (unsigned int i = 0; i < TOFU_COLL_AXES; i++) {
		group->size[i] = size[i];
		group->members *= size[i];
		group->axes += size[i] > 1;
	}
	return group->members >= 1 && group->members <= UINT32_MAX;
}

unsigned int model_routes(const struct model_group *group, unsigned int routes)
{
	const unsigned int most = group->axes ? 2 * group->axes : 1;

	if (routes)
		return routes < most ? routes : most;
	return group->engines >= most ? most : (most + 1) / 2;
}

double model_mbs(const struct model_group *group, unsigned int engines)
{
	if (engines > group->engines)
		engines = group->engines;
	return model_min(engines * group->machine->link_mbs,
			 group->machine->node_mbs);
}

/* Loads and stores, beside what is sent and received */
double model_combine_mbs(const struct model_group *group, double mbs)
{
	return (group->machine->memory_mbs - 2 * mbs) / TOFU_MEMORY_REDUCE;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: whose access it is
 */
#ifndef HW_TOFU_TOFU_ACCESS_H
#define HW_TOFU_TOFU_ACCESS_H

#include "exec/memattrs.h"
#include "hw/core/cpu.h"
#include "compat.h"

/*
 * tofu_access_by_cpu: whether a processor makes the access, so that its thread
 * may release the BQL
 *
 * A guest can tell any device to write here, and send its interrupt messages
 * here; that device's model relies on the BQL, also where a processor's thread
 * runs it. A message names its sender.
 */
static inline bool tofu_access_by_cpu(MemTxAttrs attrs)
{
    return current_cpu && bql_locked() && !attrs.unspecified &&
           !attrs.requester_id;
}

#endif /* HW_TOFU_TOFU_ACCESS_H */

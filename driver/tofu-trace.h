/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tofu

#if !defined(TOFU_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TOFU_TRACE_H

#include <linux/tracepoint.h>

#include "tofu.h"

DECLARE_EVENT_CLASS(tofu_cq,
	TP_PROTO(const struct tofu_cq *cq),
	TP_ARGS(cq),
	TP_STRUCT__entry(
		__field(int, device)
		__field(unsigned int, tni)
		__field(unsigned int, nr)
	),
	TP_fast_assign(
		__entry->device = cq->handle.tdev->dev.id;
		__entry->tni = cq->tni;
		__entry->nr = cq->nr;
	),
	TP_printk("tofu%d tni=%u cq=%u", __entry->device, __entry->tni,
		  __entry->nr)
);

DEFINE_EVENT(tofu_cq, tofu_cq_create,
	TP_PROTO(const struct tofu_cq *cq), TP_ARGS(cq));
DEFINE_EVENT(tofu_cq, tofu_cq_destroy,
	TP_PROTO(const struct tofu_cq *cq), TP_ARGS(cq));

DECLARE_EVENT_CLASS(tofu_gates,
	TP_PROTO(const struct tofu_gates *gates),
	TP_ARGS(gates),
	TP_STRUCT__entry(
		__field(int, device)
		__field(unsigned int, tni)
		__field(unsigned int, nr)
		__field(unsigned int, count)
	),
	TP_fast_assign(
		__entry->device = gates->handle.tdev->dev.id;
		__entry->tni = gates->tni;
		__entry->nr = gates->nr[0];
		__entry->count = gates->count;
	),
	TP_printk("tofu%d tni=%u channel=%u gates=%u", __entry->device,
		  __entry->tni, __entry->nr, __entry->count)
);

DEFINE_EVENT(tofu_gates, tofu_gates_create,
	TP_PROTO(const struct tofu_gates *gates), TP_ARGS(gates));
DEFINE_EVENT(tofu_gates, tofu_gates_destroy,
	TP_PROTO(const struct tofu_gates *gates), TP_ARGS(gates));

DECLARE_EVENT_CLASS(tofu_mem,
	TP_PROTO(const struct tofu_cq *cq, u32 stag, u64 addr, u64 length),
	TP_ARGS(cq, stag, addr, length),
	TP_STRUCT__entry(
		__field(int, device)
		__field(unsigned int, tni)
		__field(unsigned int, nr)
		__field(u32, stag)
		__field(u64, addr)
		__field(u64, length)
	),
	TP_fast_assign(
		__entry->device = cq->handle.tdev->dev.id;
		__entry->tni = cq->tni;
		__entry->nr = cq->nr;
		__entry->stag = stag;
		__entry->addr = addr;
		__entry->length = length;
	),
	TP_printk("tofu%d tni=%u cq=%u stag=%u addr=0x%llx length=%llu",
		  __entry->device, __entry->tni, __entry->nr, __entry->stag,
		  __entry->addr, __entry->length)
);

DEFINE_EVENT(tofu_mem, tofu_mem_reg,
	TP_PROTO(const struct tofu_cq *cq, u32 stag, u64 addr, u64 length),
	TP_ARGS(cq, stag, addr, length));
DEFINE_EVENT(tofu_mem, tofu_mem_dereg,
	TP_PROTO(const struct tofu_cq *cq, u32 stag, u64 addr, u64 length),
	TP_ARGS(cq, stag, addr, length));

DECLARE_EVENT_CLASS(tofu_cq_word,
	TP_PROTO(const struct tofu_cq *cq, u64 word),
	TP_ARGS(cq, word),
	TP_STRUCT__entry(
		__field(int, device)
		__field(unsigned int, tni)
		__field(unsigned int, nr)
		__field(u64, word)
	),
	TP_fast_assign(
		__entry->device = cq->handle.tdev->dev.id;
		__entry->tni = cq->tni;
		__entry->nr = cq->nr;
		__entry->word = word;
	),
	TP_printk("tofu%d tni=%u cq=%u %llu", __entry->device, __entry->tni,
		  __entry->nr, __entry->word)
);

/* The word is the newest ticket that the flush serves. */
DEFINE_EVENT(tofu_cq_word, tofu_flush_start,
	TP_PROTO(const struct tofu_cq *cq, u64 word), TP_ARGS(cq, word));
DEFINE_EVENT(tofu_cq_word, tofu_flush_end,
	TP_PROTO(const struct tofu_cq *cq, u64 word), TP_ARGS(cq, word));
/* The word is the interrupt causes, TOFU_CQ_IRQ_*. */
DEFINE_EVENT(tofu_cq_word, tofu_irq,
	TP_PROTO(const struct tofu_cq *cq, u64 word), TP_ARGS(cq, word));

#endif /* TOFU_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE tofu-trace
#include <trace/define_trace.h>

/* SPDX-License-Identifier: MIT */
/*
 * call.h - exported driver functions, which report their entry and exit to the tool
 *
 * DRIVER_API(cuFoo, (int a, int b), (a, b), symbol, expression) defines cuFoo. It has the
 * parameters of NVIDIA's cuFoo_params, the callback ID CUPTI_DRIVER_TRACE_CBID_cuFoo, and the
 * result of the expression. Parameters whose order or types differ from NVIDIA's headers do not
 * compile.
 */
#ifndef TEST_SIM_CALL_H
#define TEST_SIM_CALL_H

#include <cupti.h>

#include "core.h"

#define SIM_UNPACK(...)	__VA_ARGS__

#define DRIVER_CALL(fn, params_ptr, kernel_symbol, check, expression)		\
	CUresult result = (check);						\
	struct sim_call call = {						\
		.domain = CUPTI_CB_DOMAIN_DRIVER_API,				\
		.cbid = CUPTI_DRIVER_TRACE_CBID_##fn,				\
		.name = #fn,							\
		.params = (params_ptr),						\
		.symbol = (kernel_symbol),					\
		.result = &result,						\
	};									\
										\
	call__enter(&call);							\
	if (!result)								\
		result = (expression);						\
	call__exit(&call);							\
	return result

#define DRIVER_API_AS(fn, pt, proto, args, symbol, expression)			\
	SIM_EXPORT CUresult CUDAAPI fn proto;					\
	SIM_EXPORT CUresult CUDAAPI fn proto					\
	{									\
		const bool per_thread __attribute__((unused)) = pt;		\
		fn##_params params = { SIM_UNPACK args };			\
										\
		DRIVER_CALL(fn, &params, symbol, core__check(), expression);	\
	}

#define DRIVER_API(fn, proto, args, symbol, expression)				\
	DRIVER_API_AS(fn, false, proto, args, symbol, expression)

/*
 * Defines a driver call and its _ptsz or _ptds form, in which a NULL stream is the thread's default
 * stream.
 */
#define DRIVER_API_PTSZ(fn, proto, args, symbol, expression)			\
	DRIVER_API_AS(fn, false, proto, args, symbol, expression)		\
	DRIVER_API_AS(fn##_ptsz, true, proto, args, symbol, expression)

#define DRIVER_API_PTDS(fn, proto, args, symbol, expression)			\
	DRIVER_API_AS(fn, false, proto, args, symbol, expression)		\
	DRIVER_API_AS(fn##_ptds, true, proto, args, symbol, expression)

#define DRIVER_API_VOID(fn, expression)						\
	SIM_EXPORT CUresult CUDAAPI fn(void);					\
	SIM_EXPORT CUresult CUDAAPI fn(void)					\
	{									\
		DRIVER_CALL(fn, NULL, NULL, core__check(), expression);		\
	}

#endif /* TEST_SIM_CALL_H */

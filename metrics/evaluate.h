/* SPDX-License-Identifier: MIT */
/*
 * evaluate.h - metrics of counters, by NVIDIA's own library, without looking up each name each time
 *
 * cuptiProfilerHostEvaluateToGpuValues() looks up the names for each sample, which takes most of its
 * time. The library below it takes them once.
 */
#ifndef METRICS_EVALUATE_H
#define METRICS_EVALUATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evaluator;

/*
 * @cupti_function: one of CUPTI's, beside which the library is, as CUPTI takes it; @chip, @available: the
 * GPU's name and image of available counters; @image: of counters, with a sample. All must outlive it.
 * Return: NULL if it cannot be done so.
 */
struct evaluator *evaluator__new(const void *cupti_function, const char *chip, const uint8_t *available,
				 const char *const *names, size_t nr, const uint8_t *image,
				 size_t image_bytes);
void evaluator__free(struct evaluator *e);

/* Sets values[0..nr) to the metrics of a sample in the image. Return: whether it could. */
bool evaluator__values(struct evaluator *e, size_t sample, double *values);

#endif /* METRICS_EVALUATE_H */

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * student_t.h - Student's t distribution
 *
 * The distribution describes the difference between the mean of a few values and the true mean,
 * divided by the error that is estimated from the spread of these values. The number of degrees of
 * freedom need not be whole. With INFINITY, Student's t distribution is the normal distribution.
 */
#ifndef MERGE_STUDENT_T_H
#define MERGE_STUDENT_T_H

/* Return: the probability that |t| is larger than @t, with @df degrees of freedom. */
double student_t__probability(double t, double df);

/* Return: the value that |t| exceeds with probability @p. */
double student_t__exceeded(double p, double df);

#endif /* MERGE_STUDENT_T_H */

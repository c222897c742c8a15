/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * student_t.h - Student's t distribution: how far the mean of a few values is from the truth,
 * divided by the error that is estimated from the spread of these values
 *
 * The degrees of freedom need not be whole. With INFINITY, the distribution is the normal one.
 */
#ifndef MERGE_STUDENT_T_H
#define MERGE_STUDENT_T_H

/* Return: the probability that |t| is larger than @t, with @df degrees of freedom. */
double student_t__probability(double t, double df);

/* Return: the value that |t| exceeds with probability @p. */
double student_t__exceeded(double p, double df);

#endif /* MERGE_STUDENT_T_H */

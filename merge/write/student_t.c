// SPDX-License-Identifier: GPL-3.0-or-later
#include "write/student_t.h"

#include <math.h>

/*
 * Return: the continued fraction of the incomplete beta function, by Lentz's method.
 * Source: Numerical Recipes in C, 6.4
 */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h, term;
	int m;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (m = 1; m < 300; m++) {
		term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		d = 1 + term * d;
		c = 1 + term / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 + term * d;
		c = 1 + term / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		h *= d * c;
		if (fabs(d * c - 1) < 1e-12)
			break;
	}
	return h;
}

double student_t__probability(double t, double df)
{
	double a = df / 2, b = 0.5, x = df / (df + t * t);
	double front;

	if (isinf(df))
		return erfc(t / sqrt(2));
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_t__exceeded(double p, double df)
{
	double low = 0, high = 1;
	int i;

	while (student_t__probability(high, df) > p && high < 1e12)
		high *= 2;
	for (i = 0; i < 100; i++) {
		double t = (low + high) / 2;

		*(student_t__probability(t, df) > p ? &low : &high) = t;
	}
	return high;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* control_option.h - --control: the FIFOs or descriptors by which xpuload gets commands */
#ifndef XPU_LOADER_CONTROL_OPTION_H
#define XPU_LOADER_CONTROL_OPTION_H

/* Descriptors for commands to xpuload and for its answers; -1: none. */
struct control {
	int fd;
	int ack_fd;
	const char *fifos;		/* "CTL[,ACK]", for control__open(); NULL: none */
};

/* Takes --control's argument, or prints what is wrong with it. Return: 0 or a negative errno. */
int control__parse(struct control *c, const char *arg);

/*
 * Opens the FIFOs, if any were given. Must be called once the invoker is known. Return: 0, or
 * -EINVAL after a message.
 */
int control__open(struct control *c);

#endif /* XPU_LOADER_CONTROL_OPTION_H */

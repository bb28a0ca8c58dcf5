/*
 * termination_message.h - write a container's termination message.
 *
 * Events and `why` show it when the log no longer exists, because a Job deletes its pod
 * after the last retry. Source: /dev/termination-log, the API's terminationMessagePath.
 */
#ifndef CMD_TERMINATION_MESSAGE_H
#define CMD_TERMINATION_MESSAGE_H

enum { TERMINATION_MESSAGE_MAX = 4096 }; /* bytes: the kubelet truncates a longer one */

/* Writes the message; ignores all failures. Does nothing outside a container. */
void termination_message(const char *text);

#endif

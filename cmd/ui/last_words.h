/*
 * last_words.h - write a container's termination message.
 *
 * Events and `why` show it when the log no longer exists, because a Job deletes its pod
 * after the last retry. Source: /dev/termination-log, the API's terminationMessagePath.
 */
#ifndef CMD_LAST_WORDS_H
#define CMD_LAST_WORDS_H

enum { LAST_WORDS_MAX = 4096 }; /* bytes; the kubelet truncates a longer message */

/* Writes the message; ignores all failures. Does nothing outside a container. */
void last_words(const char *text);

#endif

/*
 * holders.h - find the users who hold the names that reserve ports, addresses and GPUs
 * (kubelet/ports.h): any user of this machine can hold them, without running a job.
 */
#ifndef KUBELET_HOLDERS_H
#define KUBELET_HOLDERS_H

enum { HOLDERS_TEXT_SIZE = 96 };

/* The common beginning of the names, in the abstract namespace of Unix sockets. */
#define HOLDERS_PREFIX "kftrainer/"

/*
 * "; user 65534 holds 2 of them", about the other user who holds most names of this kind
 * ("gpu", "port", "address"); "": no other user does, or the kernel cannot list sockets
 * (CONFIG_UNIX_DIAG). Returns text.
 */
const char *holders_text(const char *kind, char text[HOLDERS_TEXT_SIZE]);

#endif

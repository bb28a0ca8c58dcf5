/*
 * aws_domain.h - the domain of AWS's servers, which differs between its partitions.
 */
#ifndef CLOUD_AWS_DOMAIN_H
#define CLOUD_AWS_DOMAIN_H

/* "amazonaws.com", "amazonaws.eu" of eusc-de-east-1, ... */
const char *aws_domain(const char *region);

#endif

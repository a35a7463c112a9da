/* The descriptors of everything that is served, for reflection. descriptors.c is made by tools/gen. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

struct descriptor_file {
    const char *name;          /* "trainer/v1/job.proto" */
    const unsigned char *data; /* a FileDescriptorProto */
    unsigned long size;
    const char *const *symbols; /* full names that it defines; ends with NULL */
};

extern const struct descriptor_file descriptor_files[];
extern const unsigned descriptor_file_count;

#endif

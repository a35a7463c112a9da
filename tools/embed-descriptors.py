"""A FileDescriptorSet as C: one array a file, and the symbols that each file defines. Reads the wire format itself: no library."""

import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of every field; only lengths and varints occur in descriptors, and fixed sizes are passed over."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            size = 8 if kind == 1 else 4
            value, at = data[at : at + size], at + size
        yield number, value


def name_of(data):
    return next(v for n, v in fields(data) if n == 1).decode()


def enum_symbols(data, scope):
    yield f"{scope}.{name_of(data)}"
    for n, v in fields(data):
        if n == 2:
            yield f"{scope}.{name_of(v)}"


def message_symbols(data, scope):
    name = f"{scope}.{name_of(data)}"
    yield name
    for n, v in fields(data):
        if n == 2:
            yield f"{name}.{name_of(v)}"
        elif n == 3:
            yield from message_symbols(v, name)
        elif n == 4:
            yield from enum_symbols(v, name)


def file_symbols(data):
    package = next((v.decode() for n, v in fields(data) if n == 2), "")
    for n, v in fields(data):
        if n == 4:
            yield from message_symbols(v, package)
        elif n == 5:
            yield from enum_symbols(v, package)
        elif n == 6:
            service = f"{package}.{name_of(v)}"
            yield service
            yield from (f"{service}.{name_of(m)}" for k, m in fields(v) if k == 2)


def main():
    files = [v for n, v in fields(open(sys.argv[1], "rb").read()) if n == 1]
    print("/* Made by tools/gen from proto/. Do not edit. */")
    print('#include "descriptors.h"\n')
    for i, data in enumerate(files):
        print(f"static const unsigned char file_{i}[] = {{")
        for at in range(0, len(data), 24):
            print("    " + ",".join(str(b) for b in data[at : at + 24]) + ",")
        print("};")
        print(f"static const char *const symbols_{i}[] = {{")
        for symbol in file_symbols(data):
            print(f'    "{symbol}",')
        print("    0};\n")
    print("const struct descriptor_file descriptor_files[] = {")
    for i, data in enumerate(files):
        print(f'    {{"{name_of(data)}", file_{i}, sizeof file_{i}, symbols_{i}}},')
    print("};")
    print(f"const unsigned descriptor_file_count = {len(files)};")


main()

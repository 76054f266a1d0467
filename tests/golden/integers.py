@kernel
def kernel(buffers, sizes, start, stop):
    x0 = i32_at(buffers, 0)  # x0 i32[4,5]
    x1 = i32_at(buffers, 1)  # x1 i32[4,5]
    y2 = i32_at(buffers, 2)  # %4 sub i32[4,5]
    s0 = sizes[0]
    for i in range(start, stop):
        a0 = x0[i]
        v0 = i32((a0 * i32(s0)))  # %3 mul
        a1 = x1[i]
        v1 = i32((v0 - a1))  # %4 sub
        y2[i] = v1


@kernel
def kernel(buffers, sizes, start, stop):
    x0 = i32_at(buffers, 0)  # x0 i32[4,5]
    x1 = i32_at(buffers, 1)  # x1 i32[4,5]
    y2 = i32_at(buffers, 2)  # %5 maximum i32[4,5]
    for i in range(start, stop):
        a0 = x0[i]
        a1 = x1[i]
        v0 = i32(maximum_int(a0, a1))  # %5 maximum
        y2[i] = v0


@kernel
def kernel(buffers, sizes, start, stop):
    x0 = i32_at(buffers, 0)  # x0 i32[4,5]
    y1 = i32_at(buffers, 1)  # %6 max i32[4]
    y2 = i64_at(buffers, 2)  # %13 min i64[4]
    columns = sizes[0]
    s1 = sizes[1]
    s2 = sizes[2]
    for i in range(start, stop):
        r0 = i32(s1)
        for j in range(columns):
            a0 = x0[i * columns + j]
            r0 = i32(maximum_int(r0, a0))  # %6 max
        y1[i] = r0
        r1 = i64(s2)
        for j in range(columns):
            a1 = x0[i * columns + j]
            v0 = (a1 == r0)  # %8 eq
            v1 = i64((j if v0 else i64(s2)))  # %12 where
            r1 = i64(minimum_int(r1, v1))  # %13 min
        y2[i] = r1


@kernel
def kernel(buffers, sizes, start, stop):
    x0 = i32_at(buffers, 0)  # x1 i32[4,5]
    part1 = i64_at(buffers, 1)  # per chunk: %15 sum i64[]
    y2 = i64_at(buffers, 2)  # %15 sum i64[]
    rows = sizes[0]
    chunks = sizes[1]
    for c in range(start, stop):
        t0 = i64(0)
        for i in range(rows * c // chunks, rows * (c + 1) // chunks):
            a0 = x0[i]
            v0 = i64(i64(a0))  # %14 cast
            t0 = i64(plus_int(t0, v0))  # %15 sum
        part1[c] = t0
    if chunks == 1 or start < 0:  # the last chunk is done
        w0 = part1[0]
        for c in range(1, chunks):
            w0 = i64(plus_int(w0, part1[c]))
        y2[0] = w0

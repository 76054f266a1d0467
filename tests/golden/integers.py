@kernel
def kernel(buffers, sizes, start, stop):
    x0 = i32_at(buffers, 0)  # x0 i32[4,5]
    y1 = i32_at(buffers, 1)  # %6 max i32[4]
    y2 = i64_at(buffers, 2)  # %13 min i64[4]
    rows3 = i32_at(buffers, 3)  # a block of %6 max i32[4]
    rows4 = i64_at(buffers, 4)  # a block of %13 min i64[4]
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    s3 = sizes[3]
    s4 = sizes[4]
    width = sizes[5]
    block = sizes[6]
    for c in range(start, stop):
        for b in range(rows * c // chunks, rows * (c + 1) // chunks, block):
            n = min(block, rows * (c + 1) // chunks - b)
            for l in range(n):
                rows3[c * 64 + l] = i32(s3)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    a0 = x0[i * columns + j]
                    rows3[c * 64 + l] = i32(maximum_int(rows3[c * 64 + l], a0))  # %6 max
            for l in range(n):
                i = b + l
                h0 = rows3[c * 64 + l]
                y1[i] = h0
            for l in range(n):
                rows4[c * 64 + l] = i64(s4)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    h1 = rows3[c * 64 + l]
                    a1 = x0[i * columns + j]
                    v0 = (a1 == h1)  # %8 eq
                    v1 = i64((j if v0 else i64(s4)))  # %12 where
                    rows4[c * 64 + l] = i64(minimum_int(rows4[c * 64 + l], v1))  # %13 min
            for l in range(n):
                i = b + l
                h2 = rows4[c * 64 + l]
                y2[i] = h2


@kernel
def kernel(buffers, sizes, start, stop):
    x0 = i32_at(buffers, 0)  # x0 i32[4,5]
    x1 = i32_at(buffers, 1)  # x1 i32[4,5]
    y2 = i32_at(buffers, 2)  # %4 sub i32[4,5]
    y3 = i32_at(buffers, 3)  # %5 maximum i32[4,5]
    part4 = i64_at(buffers, 4)  # per chunk: %15 sum i64[]
    y5 = i64_at(buffers, 5)  # %15 sum i64[]
    rows = sizes[0]
    chunks = sizes[1]
    s2 = sizes[2]
    for c in range(start, stop):
        t0 = i64(0)
        for i in range(rows * c // chunks, rows * (c + 1) // chunks):
            a0 = x0[i]
            v0 = i32((a0 * i32(s2)))  # %3 mul
            a1 = x1[i]
            v1 = i32((v0 - a1))  # %4 sub
            y2[i] = v1
            v2 = i32(maximum_int(a0, a1))  # %5 maximum
            y3[i] = v2
            v3 = i64(i64(a1))  # %14 cast
            t0 = i64(plus_int(t0, v3))  # %15 sum
        part4[c] = t0
    if chunks == 1 or start < 0:  # the last chunk is done
        w0 = part4[0]
        for c in range(1, chunks):
            w0 = i64(plus_int(w0, part4[c]))
        y5[0] = w0

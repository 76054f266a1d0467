@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[4,5]
    x1 = f32_at(buffers, 1)  # x1 f32[4,5]
    y2 = bool_at(buffers, 2)  # %6 logical_and bool[4,5]
    y3 = f32_at(buffers, 3)  # %9 where f32[4,5]
    y4 = bool_at(buffers, 4)  # %7 all bool[4]
    rows5 = bool_at(buffers, 5)  # a block of %7 all bool[4]
    part6 = bool_at(buffers, 6)  # per chunk: %8 any bool[]
    y7 = bool_at(buffers, 7)  # %8 any bool[]
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    width = sizes[3]
    block = sizes[4]
    for c in range(start, stop):
        t0 = False
        for b in range(rows * c // chunks, rows * (c + 1) // chunks, block):
            n = min(block, rows * (c + 1) // chunks - b)
            for l in range(n):
                rows5[c * 64 + l] = u8(1) if True else u8(0)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    a0 = x0[i * columns + j]
                    a1 = x1[i * columns + j]
                    v0 = (a0 > a1)  # %2 gt
                    v1 = (a0 == f32(0.5))  # %4 eq
                    v2 = (not v1)  # %5 logical_not
                    v3 = (v0 & v2)  # %6 logical_and
                    y2[i * columns + j] = u8(1) if v3 else u8(0)
                    v4 = (a0 if v3 else a1)  # %9 where
                    y3[i * columns + j] = v4
                    rows5[c * 64 + l] = u8(1) if minimum_bool((rows5[c * 64 + l] != 0), v3) else u8(0)  # %7 all
                    t0 = maximum_bool(t0, v3)  # %8 any
            for l in range(n):
                i = b + l
                h0 = (rows5[c * 64 + l] != 0)
                y4[i] = u8(1) if h0 else u8(0)
        part6[c] = u8(1) if t0 else u8(0)
    if chunks == 1 or start < 0:  # the last chunk is done
        w0 = (part6[0] != 0)
        for c in range(1, chunks):
            w0 = maximum_bool(w0, (part6[c] != 0))
        y7[0] = u8(1) if w0 else u8(0)

@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[4,5]
    x1 = f32_at(buffers, 1)  # x1 f32[4,5]
    y2 = bool_at(buffers, 2)  # %6 logical_and bool[4,5]
    y3 = f32_at(buffers, 3)  # %9 where f32[4,5]
    y4 = bool_at(buffers, 4)  # %7 min bool[4]
    part5 = bool_at(buffers, 5)  # per chunk: %8 max bool[]
    y6 = bool_at(buffers, 6)  # %8 max bool[]
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    for c in range(start, stop):
        t0 = False
        for i in range(rows * c // chunks, rows * (c + 1) // chunks):
            r0 = True
            r1 = False
            for j in range(columns):
                a0 = x0[i * columns + j]
                a1 = x1[i * columns + j]
                v0 = (a0 > a1)  # %2 gt
                v1 = (a0 == f32(0.5))  # %4 eq
                v2 = (not v1)  # %5 logical_not
                v3 = (v0 & v2)  # %6 logical_and
                y2[i * columns + j] = u8(1) if v3 else u8(0)
                v4 = (a0 if v3 else a1)  # %9 where
                y3[i * columns + j] = v4
                r0 = minimum_bool(r0, v3)  # %7 min
                r1 = maximum_bool(r1, v3)  # %8 max
            t0 = maximum_bool(t0, r1)
            y4[i] = u8(1) if r0 else u8(0)
        part5[c] = u8(1) if t0 else u8(0)
    if chunks == 1 or start < 0:  # the last chunk is done
        w0 = (part5[0] != 0)
        for c in range(1, chunks):
            w0 = maximum_bool(w0, (part5[c] != 0))
        y6[0] = u8(1) if w0 else u8(0)

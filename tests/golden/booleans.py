@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[4,5]
    x1 = f32_at(buffers, 1)  # x1 f32[4,5]
    y2 = bool_at(buffers, 2)  # %6 logical_and bool[4,5]
    y3 = f32_at(buffers, 3)  # %9 where f32[4,5]
    y4 = bool_at(buffers, 4)  # %7 all bool[4]
    rows5 = bool_at(buffers, 5)  # a block of %7 all bool[4]
    turned6 = f32_at(buffers, 6)  # columns of x0 f32[4,5]
    turned7 = f32_at(buffers, 7)  # columns of x1 f32[4,5]
    turned8 = f32_at(buffers, 8)  # columns of %9 where f32[4,5]
    places9 = i64_at(buffers, 9)  # where rows begin: x0 f32[4,5]
    part10 = bool_at(buffers, 10)  # per chunk: %8 any bool[]
    y11 = bool_at(buffers, 11)  # %8 any bool[]
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
                places9[c * 64 + l] = (b + l) * columns
            turn_rows_f32_8(turned6, c * columns * 64, x0, 0, places9, c * 64, n, width, 64)
            turn_rows_f32_8(turned7, c * columns * 64, x1, 0, places9, c * 64, n, width, 64)
            for l in range(n):
                rows5[c * 64 + l] = u8(1) if True else u8(0)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    a0 = turned6[(c * columns + j) * 64 + l]
                    a1 = turned7[(c * columns + j) * 64 + l]
                    v0 = (a0 > a1)  # %2 gt
                    v1 = (a0 == f32(0.5))  # %4 eq
                    v2 = (not v1)  # %5 logical_not
                    v3 = (v0 & v2)  # %6 logical_and
                    y2[i * columns + j] = u8(1) if v3 else u8(0)
                    v4 = (a0 if v3 else a1)  # %9 where
                    turned8[(c * columns + j) * 64 + l] = v4
                    rows5[c * 64 + l] = u8(1) if minimum_bool((rows5[c * 64 + l] != 0), v3) else u8(0)  # %7 all
                    t0 = maximum_bool(t0, v3)  # %8 any
            turn_back_f32_8(turned8, c * columns * 64, y3, 0, places9, c * 64, n, width, 64)
            for l in range(n):
                i = b + l
                h0 = (rows5[c * 64 + l] != 0)
                y4[i] = u8(1) if h0 else u8(0)
        part10[c] = u8(1) if t0 else u8(0)
    if chunks == 1 or start < 0:  # the last chunk is done
        w0 = (part10[0] != 0)
        for c in range(1, chunks):
            w0 = maximum_bool(w0, (part10[c] != 0))
        y11[0] = u8(1) if w0 else u8(0)

@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[4,5]
    part1 = f64_at(buffers, 1)  # per chunk: %2 sum f32[]
    part2 = f32_at(buffers, 2)  # per chunk: %4 max f32[]
    y3 = f32_at(buffers, 3)  # %4 max f32[]
    y4 = f32_at(buffers, 4)  # %3 sqrt f32[]
    rows = sizes[0]
    chunks = sizes[1]
    for c in range(start, stop):
        t1 = f32(-np.inf)
        whole0 = f64(0)
        for s in range(rows * c // chunks, rows * (c + 1) // chunks, 4096):
            e = min(s + 4096, rows * (c + 1) // chunks)
            t0 = f32(0)
            for i in range(s, e):
                a0 = x0[i]
                v0 = (a0 * a0)  # %1 square
                t0 = plus_f32(t0, v0)  # %2 sum
                t1 = maximum_f32(t1, a0)  # %4 max
            whole0 = whole0 + f64(t0)
        part1[c] = whole0
        part2[c] = t1
    if chunks == 1 or start < 0:  # the last chunk is done
        w0 = part1[0]
        for c in range(1, chunks):
            w0 = w0 + part1[c]
        v1 = f32(w0)
        w1 = part2[0]
        for c in range(1, chunks):
            w1 = maximum_f32(w1, part2[c])
        y3[0] = w1
        v2 = math.sqrt(v1)  # %3 sqrt
        y4[0] = v2

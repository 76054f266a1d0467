@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[4,32]
    acc1 = f32_at(buffers, 1)  # per chunk: %2 sum f32[32]
    acc2 = f32_at(buffers, 2)  # per chunk: %3 max f32[32]
    sums3 = f64_at(buffers, 3)  # sums per chunk: %2 sum f32[32]
    y4 = f32_at(buffers, 4)  # %2 sum f32[32]
    y5 = f32_at(buffers, 5)  # %3 max f32[32]
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    for c in range(start, stop):
        for j in range(columns):
            acc2[c * columns + j] = f32(-np.inf)
        for j in range(columns):
            sums3[c * columns + j] = f64(0)
        for s in range(rows * c // chunks, rows * (c + 1) // chunks, 128):
            e = min(s + 128, rows * (c + 1) // chunks)
            for j in range(columns):
                acc1[c * columns + j] = f32(0)
            for i in range(s, e):
                for j in range(columns):
                    a0 = x0[i * columns + j]
                    v0 = exp_f32(a0)  # %1 exp
                    acc1[c * columns + j] = plus_f32(acc1[c * columns + j], v0)  # %2 sum
                    acc2[c * columns + j] = maximum_f32(acc2[c * columns + j], v0)  # %3 max
            for j in range(columns):
                sums3[c * columns + j] = sums3[c * columns + j] + f64(acc1[c * columns + j])
    if chunks == 1 or start < 0:  # the last chunk is done
        for j in range(columns):
            t = sums3[j]
            for c in range(1, chunks):
                t = t + sums3[c * columns + j]
            y4[j] = f32(t)
        for j in range(columns):
            t = acc2[j]
            for c in range(1, chunks):
                t = maximum_f32(t, acc2[c * columns + j])
            y5[j] = t

@kernel
def kernel(buffers, sizes, start, stop):
    x0 = i64_at(buffers, 0)  # %12 bounded i64[8,1]
    x1 = f32_at(buffers, 1)  # x0 f32[8,10]
    y2 = f32_at(buffers, 2)  # %31 sub f32[8,10]
    part3 = f32_at(buffers, 3)  # per chunk: %19 sum f32[]
    y4 = f32_at(buffers, 4)  # %23 neg f32[]
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    s3 = sizes[3]
    k1 = f32(s3)  # %21 count
    k0 = (f32(-1) / k1)  # %25 div
    for c in range(start, stop):
        t0 = f32(0)
        for i in range(rows * c // chunks, rows * (c + 1) // chunks):
            a0 = x0[i]
            r0 = f32(-np.inf)
            r1 = f32(0)
            for j in range(columns):
                v0 = (j == a0)  # %14 eq
                v1 = (k0 if v0 else f32(0))  # %26 where
                a1 = x1[i * columns + j]
                r0 = maximum_f32(r0, a1)  # %2 max
                r1 = plus_f32(r1, v1)  # %28 sum
            r2 = f32(0)
            for j in range(columns):
                a2 = x1[i * columns + j]
                v2 = (a2 - r0)  # %4 sub
                v3 = exp_f32(v2)  # %5 exp
                r2 = plus_f32(r2, v3)  # %6 sum
            v4 = log_f32(r2)  # %8 log
            r3 = f32(0)
            for j in range(columns):
                v5 = (j == a0)  # %14 eq
                a3 = x1[i * columns + j]
                v6 = (a3 - r0)  # %4 sub
                v7 = (v6 - v4)  # %9 sub
                v8 = (v7 if v5 else f32(0))  # %16 where
                v9 = (k0 if v5 else f32(0))  # %26 where
                v10 = exp_f32(v7)  # %27 exp
                v11 = (v10 * r1)  # %30 mul
                v12 = (v9 - v11)  # %31 sub
                y2[i * columns + j] = v12
                r3 = plus_f32(r3, v8)  # %17 sum
            t0 = plus_f32(t0, r3)  # %19 sum
        part3[c] = t0
    if chunks == 1 or start < 0:  # the last chunk is done
        w0 = part3[0]
        for c in range(1, chunks):
            w0 = plus_f32(w0, part3[c])
        v13 = (w0 / k1)  # %22 div
        v14 = (-v13)  # %23 neg
        y4[0] = v14

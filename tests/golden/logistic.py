@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x1 f32[80]
    x1 = f32_at(buffers, 1)  # w f32[80,20]
    x2 = f32_at(buffers, 2)  # x0 f32[20]
    acc3 = f32_at(buffers, 3)  # per chunk: %24 sum f32[20]
    acc4 = f32_at(buffers, 4)  # per chunk: %29 sum f32[20]
    sums5 = f64_at(buffers, 5)  # sums per chunk: %24 sum f32[20]
    sums6 = f64_at(buffers, 6)  # sums per chunk: %29 sum f32[20]
    rows7 = f32_at(buffers, 7)  # a block of %4 sum f32[80]
    rows8 = f32_at(buffers, 8)  # a block of %21 mul f32[80]
    rows9 = f32_at(buffers, 9)  # a block of %26 mul f32[80]
    part10 = f64_at(buffers, 10)  # per chunk: %14 sum f32[]
    y11 = f32_at(buffers, 11)  # %24 sum f32[20]
    y12 = f32_at(buffers, 12)  # %29 sum f32[20]
    y13 = f32_at(buffers, 13)  # %17 div f32[]
    columns = 20
    rows = sizes[0]
    chunks = sizes[1]
    s2 = sizes[2]
    block = sizes[3]
    k2 = f32(s2)  # %16 count
    k1 = (f32(1) / k2)  # %19 div
    k0 = (-k1)  # %20 neg
    for c in range(start, stop):
        whole0 = f64(0)
        for j in range(columns):
            sums5[c * columns + j] = f64(0)
            sums6[c * columns + j] = f64(0)
        for s in range(rows * c // chunks, rows * (c + 1) // chunks, 128):
            e = min(s + 128, rows * (c + 1) // chunks)
            t0 = f32(0)
            for j in range(columns):
                acc3[c * columns + j] = f32(0)
                acc4[c * columns + j] = f32(0)
            for b in range(s, e, block):
                n = min(block, e - b)
                for l in range(n):
                    i = b + l
                    a0 = x0[i]
                    v0 = (k0 * a0)  # %21 mul
                    rows8[c * 64 + l] = v0
                dot_rows_f32(rows7, c * 64, x1, b * columns, x2, 0, n, columns, columns)  # %4 sum
                add_rows_f32(acc3, c * columns, x1, b * columns, rows8, c * 64, n, columns, columns)  # %24 sum
                for l in range(n):
                    i = b + l
                    h0 = rows7[c * 64 + l]
                    v1 = maximum_f32(h0, f32(0))  # %6 maximum
                    v2 = abs(h0)  # %7 abs
                    v3 = (-v2)  # %8 neg
                    v4 = exp_f32(v3)  # %9 exp
                    v5 = log1p_f32(v4)  # %10 log1p
                    v6 = (v1 + v5)  # %11 add
                    a1 = x0[i]
                    v7 = (a1 * h0)  # %12 mul
                    v8 = (v6 - v7)  # %13 sub
                    v9 = sigmoid_f32(h0)  # %25 sigmoid
                    v10 = (k1 * v9)  # %26 mul
                    rows9[c * 64 + l] = v10
                    t0 = plus_f32(t0, v8)  # %14 sum
                add_rows_f32(acc4, c * columns, x1, b * columns, rows9, c * 64, n, columns, columns)  # %29 sum
            whole0 = whole0 + f64(t0)
            for j in range(columns):
                sums5[c * columns + j] = sums5[c * columns + j] + f64(acc3[c * columns + j])
                sums6[c * columns + j] = sums6[c * columns + j] + f64(acc4[c * columns + j])
        part10[c] = whole0
    if chunks == 1 or start < 0:  # the last chunk is done
        for j in range(columns):
            t = sums5[j]
            for c in range(1, chunks):
                t = t + sums5[c * columns + j]
            y11[j] = f32(t)
        for j in range(columns):
            t = sums6[j]
            for c in range(1, chunks):
                t = t + sums6[c * columns + j]
            y12[j] = f32(t)
        w0 = part10[0]
        for c in range(1, chunks):
            w0 = w0 + part10[c]
        v11 = f32(w0)
        v12 = (v11 / k2)  # %17 div
        y13[0] = v12


@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # %24 sum f32[20]
    x1 = f32_at(buffers, 1)  # %29 sum f32[20]
    y2 = f32_at(buffers, 2)  # %30 add f32[20]
    for i in range(start, stop):
        a0 = x0[i]
        a1 = x1[i]
        v0 = (a0 + a1)  # %30 add
        y2[i] = v0

@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x1 f32[80]
    rows1 = f32_at(buffers, 1)  # a block of %21 mul f32[80]
    x2 = f32_at(buffers, 2)  # w f32[80,20]
    acc3 = f32_at(buffers, 3)  # per chunk: %24 sum f32[20]
    sums4 = f64_at(buffers, 4)  # sums per chunk: %24 sum f32[20]
    y5 = f32_at(buffers, 5)  # %24 sum f32[20]
    columns = 20
    rows = sizes[0]
    chunks = sizes[1]
    s2 = sizes[2]
    block = sizes[3]
    k2 = f32(s2)  # %16 count
    k1 = (f32(1) / k2)  # %19 div
    k0 = (-k1)  # %20 neg
    for c in range(start, stop):
        for j in range(columns):
            sums4[c * columns + j] = f64(0)
        for s in range(rows * c // chunks, rows * (c + 1) // chunks, 128):
            e = min(s + 128, rows * (c + 1) // chunks)
            for j in range(columns):
                acc3[c * columns + j] = f32(0)
            for b in range(s, e, block):
                n = min(block, e - b)
                for l in range(n):
                    i = b + l
                    a0 = x0[i]
                    v0 = (k0 * a0)  # %21 mul
                    rows1[c * 64 + l] = v0
                add_rows_f32(acc3, c * columns, x2, b * columns, rows1, c * 64, n, columns, columns)  # %24 sum
            for j in range(columns):
                sums4[c * columns + j] = sums4[c * columns + j] + f64(acc3[c * columns + j])
    if chunks == 1 or start < 0:  # the last chunk is done
        for j in range(columns):
            t = sums4[j]
            for c in range(1, chunks):
                t = t + sums4[c * columns + j]
            y5[j] = f32(t)


@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # w f32[80,20]
    x1 = f32_at(buffers, 1)  # x0 f32[20]
    rows2 = f32_at(buffers, 2)  # a block of %4 sum f32[80]
    x3 = f32_at(buffers, 3)  # x1 f32[80]
    rows4 = f32_at(buffers, 4)  # a block of %37 add f32[80]
    acc5 = f32_at(buffers, 5)  # per chunk: %40 sum f32[20]
    sums6 = f64_at(buffers, 6)  # sums per chunk: %40 sum f32[20]
    part7 = f64_at(buffers, 7)  # per chunk: %14 sum f32[]
    y8 = f32_at(buffers, 8)  # %40 sum f32[20]
    y9 = f32_at(buffers, 9)  # %17 div f32[]
    columns = 20
    rows = sizes[0]
    chunks = sizes[1]
    s2 = sizes[2]
    block = sizes[3]
    k1 = f32(s2)  # %16 count
    k0 = (f32(1) / k1)  # %19 div
    k2 = (k0 * f32(0.5))  # %34 mul
    for c in range(start, stop):
        whole0 = f64(0)
        for j in range(columns):
            sums6[c * columns + j] = f64(0)
        for s in range(rows * c // chunks, rows * (c + 1) // chunks, 128):
            e = min(s + 128, rows * (c + 1) // chunks)
            t0 = f32(0)
            for j in range(columns):
                acc5[c * columns + j] = f32(0)
            for b in range(s, e, block):
                n = min(block, e - b)
                dot_rows_f32(rows2, c * 64, x0, b * columns, x1, 0, n, columns, columns)  # %4 sum
                for l in range(n):
                    i = b + l
                    h0 = rows2[c * 64 + l]
                    v0 = maximum_f32(h0, f32(0))  # %6 maximum
                    v1 = abs(h0)  # %7 abs
                    v2 = (-v1)  # %8 neg
                    v3 = exp_f32(v2)  # %9 exp
                    v4 = log1p_f32(v3)  # %10 log1p
                    v5 = (v0 + v4)  # %11 add
                    a0 = x3[i]
                    v6 = (a0 * h0)  # %12 mul
                    v7 = (v5 - v6)  # %13 sub
                    v8 = (f32(1) + v3)  # %25 add
                    v9 = (k0 / v8)  # %26 div
                    v10 = (v9 * v3)  # %27 mul
                    v11 = (-v10)  # %28 neg
                    v12 = sign_f32(h0)  # %29 sign
                    v13 = (v11 * v12)  # %30 mul
                    v14 = (h0 > f32(0))  # %31 gt
                    v15 = (h0 == f32(0))  # %32 eq
                    v16 = (k2 if v15 else f32(0))  # %35 where
                    v17 = (k0 if v14 else v16)  # %36 where
                    v18 = (v13 + v17)  # %37 add
                    rows4[c * 64 + l] = v18
                    t0 = plus_f32(t0, v7)  # %14 sum
                add_rows_f32(acc5, c * columns, x0, b * columns, rows4, c * 64, n, columns, columns)  # %40 sum
            whole0 = whole0 + f64(t0)
            for j in range(columns):
                sums6[c * columns + j] = sums6[c * columns + j] + f64(acc5[c * columns + j])
        part7[c] = whole0
    if chunks == 1 or start < 0:  # the last chunk is done
        for j in range(columns):
            t = sums6[j]
            for c in range(1, chunks):
                t = t + sums6[c * columns + j]
            y8[j] = f32(t)
        w0 = part7[0]
        for c in range(1, chunks):
            w0 = w0 + part7[c]
        v19 = f32(w0)
        v20 = (v19 / k1)  # %17 div
        y9[0] = v20


@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # %24 sum f32[20]
    x1 = f32_at(buffers, 1)  # %40 sum f32[20]
    y2 = f32_at(buffers, 2)  # %41 add f32[20]
    for i in range(start, stop):
        a0 = x0[i]
        a1 = x1[i]
        v0 = (a0 + a1)  # %41 add
        y2[i] = v0

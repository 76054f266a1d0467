@kernel
def kernel(buffers, sizes, start, stop):
    kept0 = f32_at(buffers, 0)  # one row of %5 exp f32[8,10]
    x1 = i64_at(buffers, 1)  # %12 bounded i64[8,1]
    x2 = f32_at(buffers, 2)  # x0 f32[8,10]
    y3 = f32_at(buffers, 3)  # %31 sub f32[8,10]
    rows4 = f32_at(buffers, 4)  # a block of %2 max f32[8]
    rows5 = f32_at(buffers, 5)  # a block of %6 sum f32[8]
    rows6 = f32_at(buffers, 6)  # a block of %8 log f32[8,1]
    rows7 = f32_at(buffers, 7)  # a block of %28 sum f32[8]
    rows8 = f32_at(buffers, 8)  # a block of %17 sum f32[8]
    turned9 = f32_at(buffers, 9)  # columns of x0 f32[8,10]
    turned10 = f32_at(buffers, 10)  # columns of %31 sub f32[8,10]
    places11 = i64_at(buffers, 11)  # where rows begin: x0 f32[8,10]
    part12 = f64_at(buffers, 12)  # per chunk: %19 sum f32[]
    y13 = f32_at(buffers, 13)  # %23 neg f32[]
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    s3 = sizes[3]
    width = sizes[4]
    block = sizes[5]
    k1 = f32(s3)  # %21 count
    k0 = (f32(-1) / k1)  # %25 div
    for c in range(start, stop):
        whole0 = f64(0)
        for s in range(rows * c // chunks, rows * (c + 1) // chunks, 128):
            e = min(s + 128, rows * (c + 1) // chunks)
            t0 = f32(0)
            for b in range(s, e, block):
                n = min(block, e - b)
                for l in range(n):
                    places11[c * 64 + l] = (b + l) * columns
                turn_rows_f32_16(turned9, c * columns * 64, x2, 0, places11, c * 64, n, width, 64)
                for l in range(n):
                    rows4[c * 64 + l] = f32(-np.inf)
                    rows7[c * 64 + l] = f32(0)
                for j in range(width):
                    for l in range(n):
                        i = b + l
                        a0 = x1[i]
                        v0 = (j == a0)  # %14 eq
                        v1 = (k0 if v0 else f32(0))  # %26 where
                        a1 = turned9[(c * columns + j) * 64 + l]
                        rows4[c * 64 + l] = maximum_f32(rows4[c * 64 + l], a1)  # %2 max
                        rows7[c * 64 + l] = plus_f32(rows7[c * 64 + l], v1)  # %28 sum
                for l in range(n):
                    rows5[c * 64 + l] = f32(0)
                for j in range(width):
                    for l in range(n):
                        i = b + l
                        h0 = rows4[c * 64 + l]
                        a2 = turned9[(c * columns + j) * 64 + l]
                        v2 = (a2 - h0)  # %4 sub
                        v3 = exp_f32(v2)  # %5 exp
                        kept0[(c * columns + j) * 64 + l] = v3
                        rows5[c * 64 + l] = plus_f32(rows5[c * 64 + l], v3)  # %6 sum
                for l in range(n):
                    i = b + l
                    h1 = rows5[c * 64 + l]
                    v4 = log_f32(h1)  # %8 log
                    rows6[c * 64 + l] = v4
                for l in range(n):
                    rows8[c * 64 + l] = f32(0)
                for j in range(width):
                    for l in range(n):
                        i = b + l
                        h2 = rows4[c * 64 + l]
                        h3 = rows6[c * 64 + l]
                        h4 = rows5[c * 64 + l]
                        h5 = rows7[c * 64 + l]
                        a3 = x1[i]
                        v5 = (j == a3)  # %14 eq
                        a4 = turned9[(c * columns + j) * 64 + l]
                        v6 = (a4 - h2)  # %4 sub
                        v7 = (v6 - h3)  # %9 sub
                        v8 = (v7 if v5 else f32(0))  # %16 where
                        v9 = (k0 if v5 else f32(0))  # %26 where
                        v10 = kept0[(c * columns + j) * 64 + l]  # %5 exp
                        v11 = (v10 / h4)  # %27 div
                        v12 = (v11 * h5)  # %30 mul
                        v13 = (v9 - v12)  # %31 sub
                        turned10[(c * columns + j) * 64 + l] = v13
                        rows8[c * 64 + l] = plus_f32(rows8[c * 64 + l], v8)  # %17 sum
                turn_back_f32_16(turned10, c * columns * 64, y3, 0, places11, c * 64, n, width, 64)
                for l in range(n):
                    i = b + l
                    h6 = rows8[c * 64 + l]
                    t0 = plus_f32(t0, h6)  # %19 sum
            whole0 = whole0 + f64(t0)
        part12[c] = whole0
    if chunks == 1 or start < 0:  # the last chunk is done
        w0 = part12[0]
        for c in range(1, chunks):
            w0 = w0 + part12[c]
        v14 = f32(w0)
        v15 = (v14 / k1)  # %22 div
        v16 = (-v15)  # %23 neg
        y13[0] = v16

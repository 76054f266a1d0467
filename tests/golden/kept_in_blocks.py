@kernel
def kernel(buffers, sizes, start, stop):
    kept0 = f32_at(buffers, 0)  # one row of %5 exp f32[8,40]
    kept1 = f32_at(buffers, 1)  # one row of %10 mul f32[8,40]
    kept2 = f32_at(buffers, 2)  # one row of %13 sub f32[8,40]
    x3 = f32_at(buffers, 3)  # x1 f32[8,1]
    x4 = f32_at(buffers, 4)  # x0 f32[8,40]
    y5 = f32_at(buffers, 5)  # %18 sub f32[8,40]
    rows6 = f32_at(buffers, 6)  # a block of %2 max f32[8]
    rows7 = f32_at(buffers, 7)  # a block of %6 sum f32[8]
    rows8 = f32_at(buffers, 8)  # a block of %9 exp f32[8,1]
    rows9 = f32_at(buffers, 9)  # a block of %11 max f32[8]
    rows10 = f32_at(buffers, 10)  # a block of %15 sum f32[8]
    rows11 = f32_at(buffers, 11)  # a block of %17 log f32[8,1]
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    block = sizes[3]
    for c in range(start, stop):
        for b in range(rows * c // chunks, rows * (c + 1) // chunks, block):
            n = min(block, rows * (c + 1) // chunks - b)
            for l in range(n):
                i = b + l
                a0 = x3[i]
                v0 = exp_f32(a0)  # %9 exp
                rows8[c * 64 + l] = v0
            for l in range(n):
                i = b + l
                r0 = f32(-np.inf)
                for j in range(columns):
                    a1 = x4[i * columns + j]
                    r0 = maximum_f32(r0, a1)  # %2 max
                rows6[c * 64 + l] = r0
            for l in range(n):
                i = b + l
                h0 = rows6[c * 64 + l]
                r1 = f32(0)
                for j in range(columns):
                    a2 = x4[i * columns + j]
                    v1 = (a2 - h0)  # %4 sub
                    v2 = exp_f32(v1)  # %5 exp
                    kept0[(c * 64 + l) * columns + j] = v2
                    r1 = plus_f32(r1, v2)  # %6 sum
                rows7[c * 64 + l] = r1
            for l in range(n):
                i = b + l
                h1 = rows7[c * 64 + l]
                h2 = rows8[c * 64 + l]
                r2 = f32(-np.inf)
                for j in range(columns):
                    v3 = kept0[(c * 64 + l) * columns + j]  # %5 exp
                    v4 = (v3 / h1)  # %8 div
                    v5 = (v4 * h2)  # %10 mul
                    kept1[(c * 64 + l) * columns + j] = v5
                    r2 = maximum_f32(r2, v5)  # %11 max
                rows9[c * 64 + l] = r2
            for l in range(n):
                i = b + l
                h3 = rows9[c * 64 + l]
                r3 = f32(0)
                for j in range(columns):
                    v6 = kept1[(c * 64 + l) * columns + j]  # %10 mul
                    v7 = (v6 - h3)  # %13 sub
                    kept2[(c * 64 + l) * columns + j] = v7
                    v8 = exp_f32(v7)  # %14 exp
                    r3 = plus_f32(r3, v8)  # %15 sum
                rows10[c * 64 + l] = r3
            for l in range(n):
                i = b + l
                h4 = rows10[c * 64 + l]
                v9 = log_f32(h4)  # %17 log
                rows11[c * 64 + l] = v9
            for l in range(n):
                i = b + l
                h5 = rows11[c * 64 + l]
                for j in range(columns):
                    v10 = kept2[(c * 64 + l) * columns + j]  # %13 sub
                    v11 = (v10 - h5)  # %18 sub
                    y5[i * columns + j] = v11

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
    turned12 = f32_at(buffers, 12)  # columns of x0 f32[8,40]
    turned13 = f32_at(buffers, 13)  # columns of %18 sub f32[8,40]
    places14 = i64_at(buffers, 14)  # where rows begin: x0 f32[8,40]
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    width = sizes[3]
    block = sizes[4]
    for c in range(start, stop):
        for b in range(rows * c // chunks, rows * (c + 1) // chunks, block):
            n = min(block, rows * (c + 1) // chunks - b)
            for l in range(n):
                places14[c * 64 + l] = (b + l) * columns
            turn_rows_f32_16(turned12, c * columns * 64, x4, 0, places14, c * 64, n, width, 64)
            for l in range(n):
                i = b + l
                a0 = x3[i]
                v0 = exp_f32(a0)  # %9 exp
                rows8[c * 64 + l] = v0
            for l in range(n):
                rows6[c * 64 + l] = f32(-np.inf)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    a1 = turned12[(c * columns + j) * 64 + l]
                    rows6[c * 64 + l] = maximum_f32(rows6[c * 64 + l], a1)  # %2 max
            for l in range(n):
                rows7[c * 64 + l] = f32(0)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    h0 = rows6[c * 64 + l]
                    a2 = turned12[(c * columns + j) * 64 + l]
                    v1 = (a2 - h0)  # %4 sub
                    v2 = exp_f32(v1)  # %5 exp
                    kept0[(c * columns + j) * 64 + l] = v2
                    rows7[c * 64 + l] = plus_f32(rows7[c * 64 + l], v2)  # %6 sum
            for l in range(n):
                rows9[c * 64 + l] = f32(-np.inf)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    h1 = rows7[c * 64 + l]
                    h2 = rows8[c * 64 + l]
                    v3 = kept0[(c * columns + j) * 64 + l]  # %5 exp
                    v4 = (v3 / h1)  # %8 div
                    v5 = (v4 * h2)  # %10 mul
                    kept1[(c * columns + j) * 64 + l] = v5
                    rows9[c * 64 + l] = maximum_f32(rows9[c * 64 + l], v5)  # %11 max
            for l in range(n):
                rows10[c * 64 + l] = f32(0)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    h3 = rows9[c * 64 + l]
                    v6 = kept1[(c * columns + j) * 64 + l]  # %10 mul
                    v7 = (v6 - h3)  # %13 sub
                    kept2[(c * columns + j) * 64 + l] = v7
                    v8 = exp_f32(v7)  # %14 exp
                    rows10[c * 64 + l] = plus_f32(rows10[c * 64 + l], v8)  # %15 sum
            for l in range(n):
                i = b + l
                h4 = rows10[c * 64 + l]
                v9 = log_f32(h4)  # %17 log
                rows11[c * 64 + l] = v9
            for j in range(width):
                for l in range(n):
                    i = b + l
                    h5 = rows11[c * 64 + l]
                    v10 = kept2[(c * columns + j) * 64 + l]  # %13 sub
                    v11 = (v10 - h5)  # %18 sub
                    turned13[(c * columns + j) * 64 + l] = v11
            turn_back_f32_16(turned13, c * columns * 64, y5, 0, places14, c * 64, n, width, 64)

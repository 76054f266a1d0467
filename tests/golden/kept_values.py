@kernel
def kernel(buffers, sizes, start, stop):
    kept0 = f32_at(buffers, 0)  # one row of %4 exp f32[4,5]
    kept1 = f32_at(buffers, 1)  # one row of %9 mul f32[4,5]
    kept2 = f32_at(buffers, 2)  # one row of %13 exp f32[4,5]
    x3 = f32_at(buffers, 3)  # x0 f32[4,5]
    y4 = f32_at(buffers, 4)  # %16 div f32[4,5]
    numbers5 = f64_at(buffers, 5)  # 3
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    numbers = numbers5
    n0_f32 = f32(numbers[0])
    for c in range(start, stop):
        for i in range(rows * c // chunks, rows * (c + 1) // chunks):
            r0 = f32(-np.inf)
            for j in range(columns):
                a0 = x3[i * columns + j]
                r0 = maximum_f32(r0, a0)  # %1 max
            r1 = f32(0)
            for j in range(columns):
                a1 = x3[i * columns + j]
                v0 = (a1 - r0)  # %3 sub
                v1 = exp_f32(v0)  # %4 exp
                kept0[c * columns + j] = v1
                r1 = plus_f32(r1, v1)  # %5 sum
            r2 = f32(-np.inf)
            for j in range(columns):
                v2 = kept0[c * columns + j]  # %4 exp
                v3 = (v2 / r1)  # %7 div
                v4 = (v3 * n0_f32)  # %9 mul
                kept1[c * columns + j] = v4
                r2 = maximum_f32(r2, v4)  # %10 max
            r3 = f32(0)
            for j in range(columns):
                v5 = kept1[c * columns + j]  # %9 mul
                v6 = (v5 - r2)  # %12 sub
                v7 = exp_f32(v6)  # %13 exp
                kept2[c * columns + j] = v7
                r3 = plus_f32(r3, v7)  # %14 sum
            for j in range(columns):
                v8 = kept2[c * columns + j]  # %13 exp
                v9 = (v8 / r3)  # %16 div
                y4[i * columns + j] = v9

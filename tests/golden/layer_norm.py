@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[4,5]
    x1 = f32_at(buffers, 1)  # x1 f32[5]
    x2 = f32_at(buffers, 2)  # x2 f32[5]
    y3 = f32_at(buffers, 3)  # %20 add f32[4,5]
    numbers4 = f64_at(buffers, 4)  # 1e-05
    columns = sizes[0]
    s1 = sizes[1]
    numbers = numbers4
    k0 = f32(s1)  # %6 count
    n0_f32 = f32(numbers[0])
    for i in range(start, stop):
        r0 = f32(0)
        for j in range(columns):
            a0 = x0[i * columns + j]
            r0 = plus_f32(r0, a0)  # %3 sum
        v0 = (r0 / k0)  # %7 div
        r1 = f32(0)
        for j in range(columns):
            a1 = x0[i * columns + j]
            v1 = (a1 - v0)  # %8 sub
            v2 = (v1 * v1)  # %9 square
            r1 = plus_f32(r1, v2)  # %10 sum
        v3 = (r1 / k0)  # %12 div
        v4 = (v3 + n0_f32)  # %14 add
        v5 = math.sqrt(v4)  # %15 sqrt
        v6 = (f32(1) / v5)  # %17 div
        for j in range(columns):
            a2 = x0[i * columns + j]
            v7 = (a2 - v0)  # %8 sub
            v8 = (v7 * v6)  # %18 mul
            a3 = x1[j]
            v9 = (v8 * a3)  # %19 mul
            a4 = x2[j]
            v10 = (v9 + a4)  # %20 add
            y3[i * columns + j] = v10

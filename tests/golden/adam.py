@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f64_at(buffers, 0)  # %4 argument f64[]
    y1 = f32_at(buffers, 1)  # %5 cast f32[]
    x2 = f64_at(buffers, 2)  # %6 argument f64[]
    y3 = f32_at(buffers, 3)  # %7 cast f32[]
    x4 = f64_at(buffers, 4)  # %8 argument f64[]
    y5 = f32_at(buffers, 5)  # %9 cast f32[]
    y6 = f32_at(buffers, 6)  # %12 sub f32[]
    y7 = f32_at(buffers, 7)  # %16 sub f32[]
    x0_0 = x0[0]
    x2_0 = x2[0]
    x4_0 = x4[0]
    v0 = f32(x0_0)  # %5 cast
    y1[0] = v0
    v1 = f32(x2_0)  # %7 cast
    y3[0] = v1
    v2 = f32(x4_0)  # %9 cast
    y5[0] = v2
    v3 = (f32(1) - v1)  # %12 sub
    y6[0] = v3
    v4 = (f32(1) - v2)  # %16 sub
    y7[0] = v4


@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # %7 cast f32[]
    x1 = f32_at(buffers, 1)  # m f32[4,5]
    x2 = f32_at(buffers, 2)  # %12 sub f32[]
    x3 = f32_at(buffers, 3)  # x0 f32[4,5]
    x4 = f32_at(buffers, 4)  # %9 cast f32[]
    x5 = f32_at(buffers, 5)  # v f32[4,5]
    x6 = f32_at(buffers, 6)  # %16 sub f32[]
    x7 = f32_at(buffers, 7)  # %5 cast f32[]
    x8 = f32_at(buffers, 8)  # w f32[4,5]
    numbers9 = f64_at(buffers, 9)  # 1e-08
    numbers = numbers9
    x0_0 = x0[0]
    x2_0 = x2[0]
    x4_0 = x4[0]
    x6_0 = x6[0]
    x7_0 = x7[0]
    n0_f32 = f32(numbers[0])
    for i in range(start, stop):
        a0 = x1[i]
        v0 = (x0_0 * a0)  # %10 mul
        a1 = x3[i]
        v1 = (x2_0 * a1)  # %13 mul
        v2 = (v0 + v1)  # %14 add
        a2 = x5[i]
        v3 = (x4_0 * a2)  # %15 mul
        v4 = (a1 * a1)  # %17 square
        v5 = (x6_0 * v4)  # %18 mul
        v6 = (v3 + v5)  # %19 add
        v7 = (x7_0 * v2)  # %20 mul
        v8 = math.sqrt(v6)  # %21 sqrt
        v9 = (v8 + n0_f32)  # %23 add
        v10 = (v7 / v9)  # %24 div
        a3 = x8[i]
        v11 = (a3 - v10)  # %25 sub
        x1[i] = v2
        x5[i] = v6
        x8[i] = v11

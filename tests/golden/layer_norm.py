@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[4,5]
    x1 = f32_at(buffers, 1)  # x1 f32[5]
    x2 = f32_at(buffers, 2)  # x2 f32[5]
    y3 = f32_at(buffers, 3)  # %20 add f32[4,5]
    rows4 = f32_at(buffers, 4)  # a block of %3 sum f32[4]
    rows5 = f32_at(buffers, 5)  # a block of %7 div f32[4,1]
    rows6 = f32_at(buffers, 6)  # a block of %10 sum f32[4]
    rows7 = f32_at(buffers, 7)  # a block of %17 div f32[4,1]
    turned8 = f32_at(buffers, 8)  # columns of x0 f32[4,5]
    turned9 = f32_at(buffers, 9)  # columns of %20 add f32[4,5]
    places10 = i64_at(buffers, 10)  # where rows begin: x0 f32[4,5]
    numbers11 = f64_at(buffers, 11)  # 1e-05
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    s3 = sizes[3]
    width = sizes[4]
    block = sizes[5]
    numbers = numbers11
    k0 = f32(s3)  # %6 count
    n0_f32 = f32(numbers[0])
    for c in range(start, stop):
        for b in range(rows * c // chunks, rows * (c + 1) // chunks, block):
            n = min(block, rows * (c + 1) // chunks - b)
            for l in range(n):
                places10[c * 64 + l] = (b + l) * columns
            turn_rows_f32_8(turned8, c * columns * 64, x0, 0, places10, c * 64, n, width, 64)
            for l in range(n):
                rows4[c * 64 + l] = f32(0)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    a0 = turned8[(c * columns + j) * 64 + l]
                    rows4[c * 64 + l] = plus_f32(rows4[c * 64 + l], a0)  # %3 sum
            for l in range(n):
                i = b + l
                h0 = rows4[c * 64 + l]
                v0 = (h0 / k0)  # %7 div
                rows5[c * 64 + l] = v0
            for l in range(n):
                rows6[c * 64 + l] = f32(0)
            for j in range(width):
                for l in range(n):
                    i = b + l
                    h1 = rows5[c * 64 + l]
                    a1 = turned8[(c * columns + j) * 64 + l]
                    v1 = (a1 - h1)  # %8 sub
                    v2 = (v1 * v1)  # %9 square
                    rows6[c * 64 + l] = plus_f32(rows6[c * 64 + l], v2)  # %10 sum
            for l in range(n):
                i = b + l
                h2 = rows6[c * 64 + l]
                v3 = (h2 / k0)  # %12 div
                v4 = (v3 + n0_f32)  # %14 add
                v5 = math.sqrt(v4)  # %15 sqrt
                v6 = (f32(1) / v5)  # %17 div
                rows7[c * 64 + l] = v6
            for j in range(width):
                for l in range(n):
                    i = b + l
                    h3 = rows5[c * 64 + l]
                    h4 = rows7[c * 64 + l]
                    a2 = turned8[(c * columns + j) * 64 + l]
                    v7 = (a2 - h3)  # %8 sub
                    v8 = (v7 * h4)  # %18 mul
                    a3 = x1[j]
                    v9 = (v8 * a3)  # %19 mul
                    a4 = x2[j]
                    v10 = (v9 + a4)  # %20 add
                    turned9[(c * columns + j) * 64 + l] = v10
            turn_back_f32_8(turned9, c * columns * 64, y3, 0, places10, c * 64, n, width, 64)

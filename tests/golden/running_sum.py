@kernel
def kernel(buffers, sizes, start, stop):
    kept0 = f32_at(buffers, 0)  # one row of %2 cumsum f32[4,20]
    x1 = f32_at(buffers, 1)  # x0 f32[4,20]
    x2 = f32_at(buffers, 2)  # x1 f32[20]
    y3 = f32_at(buffers, 3)  # %5 add f32[4,20]
    numbers4 = f64_at(buffers, 4)  # -0
    columns = sizes[0]
    rows = sizes[1]
    chunks = sizes[2]
    numbers = numbers4
    n0_f64 = f64(numbers[0])
    for c in range(start, stop):
        for i in range(rows * c // chunks, rows * (c + 1) // chunks):
            r0 = n0_f64
            for j in range(columns):
                a0 = x1[i * columns + j]
                r0 = (r0 + f64(a0))  # %2 cumsum
                kept0[c * columns + j] = f32(r0)
            for j in range(columns):
                v0 = kept0[c * columns + j]  # %2 cumsum
                a1 = x2[j]
                v1 = (v0 * a1)  # %3 mul
                v2 = (v1 + f32(1))  # %5 add
                y3[i * columns + j] = v2

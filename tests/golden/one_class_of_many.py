@kernel
def kernel(buffers, sizes, start, stop):
    x0 = i64_at(buffers, 0)  # x1 i64[8]
    x1 = f32_at(buffers, 1)  # x0 f32[8,100]
    y2 = f32_at(buffers, 2)  # %7 where f32[8,100]
    columns = sizes[0]
    for i in range(start, stop):
        a0 = x0[i]
        for j in range(columns):
            v0 = (i32(min(max(a0, -1), 2147483647)) == i32(j))  # %5 eq
            a1 = x1[i * columns + j]
            v1 = (a1 if v0 else f32(0))  # %7 where
            y2[i * columns + j] = v1

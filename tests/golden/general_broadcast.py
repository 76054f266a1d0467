@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[2,3,4,5]
    x1 = f32_at(buffers, 1)  # x1 f32[3,1,5]
    x2 = f32_at(buffers, 2)  # %5 reshape f32[2,3,4,1]
    y3 = f32_at(buffers, 3)  # %6 add f32[2,3,4,5]
    columns = sizes[0]
    s1 = sizes[1]
    s2 = sizes[2]
    s3 = sizes[3]
    for i in range(start, stop):
        o0 = (i // s1 % s2) * s3
        a2 = x2[i]
        for j in range(columns):
            a0 = x0[i * columns + j]
            a1 = x1[o0 + j]
            v0 = (a0 * a1)  # %3 mul
            v1 = (v0 + a2)  # %6 add
            y3[i * columns + j] = v1

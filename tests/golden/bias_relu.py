@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[4,5]
    x1 = f32_at(buffers, 1)  # x1 f32[5]
    y2 = f32_at(buffers, 2)  # %3 relu f32[4,5]
    columns = sizes[0]
    for i in range(start, stop):
        for j in range(columns):
            a0 = x0[i * columns + j]
            a1 = x1[j]
            v0 = (a0 + a1)  # %2 add
            v1 = relu_f32(v0)  # %3 relu
            y2[i * columns + j] = v1

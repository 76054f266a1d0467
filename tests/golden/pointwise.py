@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[4,5]
    x1 = f32_at(buffers, 1)  # x1 f32[4,5]
    y2 = f32_at(buffers, 2)  # %8 mul f32[4,5]
    numbers3 = f64_at(buffers, 3)  # 0.7
    numbers = numbers3
    n0_f32 = f32(numbers[0])
    for i in range(start, stop):
        a0 = x0[i]
        v0 = (a0 * n0_f32)  # %3 mul
        v1 = (v0 + f32(1))  # %5 add
        v2 = tanh_f32(v1)  # %6 tanh
        a1 = x1[i]
        v3 = sigmoid_f32(a1)  # %7 sigmoid
        v4 = (v2 * v3)  # %8 mul
        y2[i] = v4

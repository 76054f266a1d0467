@kernel
def kernel(buffers, sizes, start, stop):
    rng0 = i64_at(buffers, 0)  # %1 generator i64[2]
    x1 = f32_at(buffers, 1)  # x0 f32[4,5]
    y2 = f32_at(buffers, 2)  # %9 add f32[4,5]
    s0 = sizes[0]
    s1 = sizes[1]
    for i in range(start, stop):
        v0 = uniform_f32(rng0[0], rng0[1] + s0, i)  # %3 random_uniform
        v1 = (v0 >= f32(0.5))  # %5 ge
        a0 = x1[i]
        v2 = (a0 if v1 else f32(0))  # %7 where
        v3 = normal_f32(rng0[0], rng0[1] + s1, i)  # %8 random_normal
        v4 = (v2 + v3)  # %9 add
        y2[i] = v4

@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f64_at(buffers, 0)  # x0 f64[]
    y1 = f64_at(buffers, 1)  # %4 sqrt f64[]
    y2 = f64_at(buffers, 2)  # %5 div f64[]
    x0_0 = x0[0]
    v0 = exp_f64(x0_0)  # %1 exp
    v1 = (v0 + f64(1))  # %3 add
    v2 = math.sqrt(v1)  # %4 sqrt
    y1[0] = v2
    v3 = (f64(1) / x0_0)  # %5 div
    y2[0] = v3

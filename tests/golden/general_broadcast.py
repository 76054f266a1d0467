@kernel
def kernel(buffers, sizes, start, stop):
    x0 = f32_at(buffers, 0)  # x0 f32[2,3,4,5]
    x1 = f32_at(buffers, 1)  # x1 f32[3,1,5]
    x2 = f32_at(buffers, 2)  # x2 f32[4,3,2]
    y3 = f32_at(buffers, 3)  # %6 add f32[2,3,4,5]
    columns = sizes[0]
    s1 = sizes[1]
    s2 = sizes[2]
    s3 = sizes[3]
    s4 = sizes[4]
    s5 = sizes[5]
    s6 = sizes[6]
    s7 = sizes[7]
    s8 = sizes[8]
    s9 = sizes[9]
    s10 = sizes[10]
    segment = sizes[11]
    for g in range((start // segment) * segment, stop, segment):
        first, last = max(start, g), min(stop, g + segment)
        p0 = (first // s1 % s2) * s3
        p1 = (first % s4) * s5 + (first // s6 % s7) * s8 + (first // s9) * s10 - first * s5
        for i in range(first, last):
            o0 = p0
            a2 = x2[p1 + i * s5]
            for j in range(columns):
                a0 = x0[i * columns + j]
                a1 = x1[o0 + j]
                v0 = (a0 * a1)  # %3 mul
                v1 = (v0 + a2)  # %6 add
                y3[i * columns + j] = v1

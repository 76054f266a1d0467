"""Hashes of texts with TensorFlow's bits, so that buckets are those of its programs."""

from __future__ import annotations

WORD = (1 << 64) - 1
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
SEED, MIX = 0xDECAFCAFFE, 0xC6A4A7935BD1E995


def _word(s: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(s[at : at + size], "little")


def _turned(x: int, bits: int) -> int:
    """Rotated to the right."""
    x &= WORD
    return (x >> bits) | (x << (64 - bits) & WORD)


def _mixed(x: int) -> int:
    x &= WORD
    return x ^ x >> 47


def _pair(u: int, v: int, mul: int) -> int:
    a = _mixed(((u ^ v) & WORD) * mul)
    return _mixed(((v ^ a) & WORD) * mul) * mul & WORD


def _up_to_16(s: bytes) -> int:
    n = len(s)
    if n >= 8:
        mul, a, b = K2 + 2 * n, _word(s, 0) + K2 & WORD, _word(s, n - 8)
        return _pair(_turned(b, 37) * mul + a & WORD, (_turned(a, 25) + b) * mul & WORD, mul)
    if n >= 4:
        return _pair(n + (_word(s, 0, 4) << 3), _word(s, n - 4, 4), K2 + 2 * n)
    if n > 0:
        y, z = s[0] + (s[n >> 1] << 8), n + (s[n - 1] << 2)
        return _mixed(y * K2 ^ z * K0) * K2 & WORD
    return K2


def _up_to_32(s: bytes) -> int:
    n = len(s)
    mul = K2 + 2 * n
    a, b, c, d = _word(s, 0) * K1, _word(s, 8), _word(s, n - 8) * mul, _word(s, n - 16) * K2
    return _pair(_turned(a + b, 43) + _turned(c, 30) + d & WORD, a + _turned(b + K2, 18) + c & WORD, mul)


def _up_to_64(s: bytes) -> int:
    n = len(s)
    mul = K2 + 2 * n
    a, b, c, d = _word(s, 0) * K2, _word(s, 8), _word(s, n - 8) * mul, _word(s, n - 16) * K2
    y = _turned(a + b, 43) + _turned(c, 30) + d & WORD
    z = _pair(y, a + _turned(b + K2, 18) + c & WORD, mul)
    e, f, g, h = _word(s, 16) * mul, _word(s, 24), (y + _word(s, n - 32)) * mul, (z + _word(s, n - 24)) * mul
    return _pair(_turned(e + f, 43) + _turned(g, 30) + h & WORD, e + _turned(f + a, 18) + g & WORD, mul)


def _weak(s: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(s, at + 8 * i) for i in range(4))
    a = a + w & WORD
    b = _turned(b + a + z, 21)
    c, a = a, a + x + y & WORD
    return a + z & WORD, b + _turned(a, 44) + c & WORD


def fingerprint(s: bytes) -> int:
    """FarmHash's Fingerprint64. Source: https://github.com/google/farmhash, `farmhashna::Hash64`."""
    n = len(s)
    if n <= 64:
        return _up_to_16(s) if n <= 16 else _up_to_32(s) if n <= 32 else _up_to_64(s)
    y = (81 * K1 + 113) & WORD
    z = _mixed(y * K2 + 113) * K2 & WORD
    v, w, x = (0, 0), (0, 0), 81 * K2 + _word(s, 0) & WORD
    end = (n - 1) // 64 * 64
    for at in [*range(0, end, 64), end + (n - 1 & 63) - 63]:
        last = at % 64 or at == end
        mul = K1 + ((z & 0xFF) << 1) if last else K1
        if last:
            first = w[0] + (n - 1 & 63) & WORD
            v = (v[0] + first & WORD, v[1])
            w = (first + v[0] & WORD, w[1])
        x = _turned(x + y + v[0] + _word(s, at + 8), 37) * mul & WORD
        y = _turned(y + v[1] + _word(s, at + 48), 42) * mul & WORD
        x ^= w[1] * 9 & WORD if last else w[1]
        y = y + (v[0] * 9 if last else v[0]) + _word(s, at + 40) & WORD
        z = _turned(z + w[0], 33) * mul & WORD
        v = _weak(s, at, v[1] * mul, x + w[0])
        w = _weak(s, at + 32, z + w[1], y + _word(s, at + 16))
        z, x = x, z
        if last:
            return _pair(_pair(v[0], w[0], mul) + _mixed(y) * K0 + z & WORD, _pair(v[1], w[1], mul) + x & WORD, mul)
    raise AssertionError("the last block returns")


def murmur(s: bytes) -> int:
    """MurmurHash64A with TensorFlow's seed: `tf.string_to_hash_bucket`. Source: A. Appleby, MurmurHash2."""
    whole = len(s) // 8 * 8
    h = SEED ^ len(s) * MIX & WORD
    for at in range(0, whole, 8):
        k = _mixed(_word(s, at) * MIX) * MIX & WORD
        h = (h ^ k) * MIX & WORD
    if whole < len(s):
        h = (h ^ _word(s, whole)) * MIX & WORD
    return _mixed(_mixed(h) * MIX)


def keyed(key: tuple[int, int], s: bytes) -> int:
    """SipHash-2-4. Source: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", 2012."""
    k0, k1 = (k & WORD for k in key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(count: int) -> None:
        a, b, c, d = v
        for _ in range(count):
            a, c = a + b & WORD, c + d & WORD
            b, d = _turned(b, 51) ^ a, _turned(d, 48) ^ c
            a = _turned(a, 32)
            c, a = c + b & WORD, a + d & WORD
            b, d = _turned(b, 47) ^ c, _turned(d, 43) ^ a
            c = _turned(c, 32)
        v[:] = a, b, c, d

    whole = len(s) // 8 * 8
    for m in [*(_word(s, at) for at in range(0, whole, 8)), _word(s, whole) | (len(s) & 0xFF) << 56]:
        v[3] ^= m
        rounds(2)
        v[0] ^= m
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
